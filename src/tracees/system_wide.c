// SPDX-License-Identifier: Apache-2.0
#include "tracees/system_wide.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tracees/tracees_private.h"
#include "allocator/allocator_otel.h"
#include "code/other_code.h"
#include "process/target_file.h"
#include "util/cleanup.h"
#include "util/path.h"

DEFINE_CLEANUP(struct target_file *, target_file_release);
DEFINE_CLEANUP(struct plan *, plan_destroy);

static bool is_known(const struct tracees *ts)
{
	return ts->library.listed.inode;
}

bool system_wide_uses(const struct tracees *ts, const struct watch_event *event)
{
	const struct file_name name = {event->inode, event->dev_major, event->dev_minor};

	return ts->scope == SCOPE_ALL && is_known(ts) &&
	       file_names_have(&ts->library, &name);
}

/* --- processes that run now ------------------------------------------------------- */

/* The first mapping of the library. Matches the file, or the base name while the file is
 * not known yet. NULL: the process has not mapped it. */
static const struct proc_mapping *find_mapping(const struct tracees *ts,
					       const struct tracee *t)
{
	const char *name = ts->plan_options.library;

	vec_foreach (m, &t->modules.maps.mappings) {
		if (is_known(ts) ? system_wide_maps(ts, m)
				 : m->executable && m->inode &&
					   !strcmp(path_base_name(m->path), name))
			return m;
	}
	return NULL;
}

/* Open the process if it maps the library. *ret is NULL if it does not, or if it cannot
 * be opened: a kernel thread, a 32-bit program, or a process that has just exited.
 * memtrace's own children, which read files, are left out too. */
static struct error *look_at(struct tracees *ts, int pid, struct tracee **ret)
{
	struct error *err = tracee_create(pid, ts->elf_reader, ts->opened, ret);

	if (err) {
		*ret = NULL;
		err = tracees_pass_over(ts, err);
	}
	ts->unread_maps += *ret && (*ret)->maps_failed;
	/* Spare the search of all processes a second look at the mappings. */
	if (*ret && !(*ret)->maps_failed)
		err = other_code_add(ts->others, pid, &(*ret)->modules.maps);
	if (*ret && (err || !find_mapping(ts, *ret) || proc_is_our_child(pid))) {
		tracee_destroy(*ret);
		*ret = NULL;
	}
	return err;
}

/* Record the file that this process has mapped as the library. */
static void know_library(struct tracees *ts, const struct tracee *t)
{
	const struct proc_mapping *m = find_mapping(ts, t);
	const struct file_name name = file_name_of(m);
	_cleanup_(target_file_releasep) struct target_file *file = NULL;
	_cleanup_(error_destroyp) struct error *err =
		target_file_of_mapping(t->proc, m, &file);

	if (err || !target_file_names(file, &ts->library) ||
	    !file_names_have(&ts->library, &name))
		ts->library = (struct file_names){name, name};
}

/* Add each process that maps the library to the list. */
static struct error *find_users(struct tracees *ts)
{
	_cleanup_(closedirp) DIR *dir = opendir("/proc");
	struct error *err = NULL;

	if (!dir)
		return error_errno(ERROR_IO, errno, "cannot list /proc");
	for (int pid; !err && (pid = proc_next(dir));) {
		struct tracee *t = NULL;

		if (pid == getpid())
			continue;
		err = look_at(ts, pid, &t);
		if (err || !t)
			continue;
		if (!is_known(ts))
			know_library(ts, t);
		err = system_wide_ranges(ts, t);
		if (err)
			tracee_destroy(t);
		else
			err = tracees_add(ts, t);
	}
	return err;
}

/* --- the plan --------------------------------------------------------------------- */

/* Plan from the file alone, because no process maps it yet. */
static struct error *plan_file(struct tracees *ts, struct plan **ret)
{
	const char *library = ts->plan_options.library;
	_cleanup_(target_file_releasep) struct target_file *opened = NULL;
	const struct allocator_options how = {
		.library = library,
		.symbols_prefix = ts->plan_options.symbols_prefix,
		.mappings = ts->plan_options.mappings,
		.otel = ts->plan_options.otel,
		.is_shared = true,
	};
	struct allocator_file file = {
		.module_path = library,
		.is_named = true,
		.last_resort = true,
	};
	struct plan_options options = ts->plan_options;
	_cleanup_(allocators_deinit) struct allocators allocators = {0};
	_cleanup_(freep) char *why_none = NULL;
	struct error *err = target_file_named(NULL, library, &opened);

	file.file = opened;
	if (!err)
		err = allocators_scan(&file, &how, &allocators, &why_none);
	if (err)
		return err;
	if (!allocators.list.len && how.otel)
		return error_create(ERROR_NOT_FOUND, "%s has no " OTEL_PROBES, library);
	if (!allocators.list.len)
		return error_create(ERROR_NOT_FOUND,
				    "%s does not define malloc and free, nor such a pair "
				    "of another known allocator%s%s",
				    library, why_none ? ": " : "",
				    why_none ? why_none : "");
	options.unmapped = true;
	return plan_build_for(&allocators, &options, ret);
}

/* Plan from the mappings of one process on the list. Processes that exit meanwhile are
 * skipped; *ret stays NULL if all have exited. */
static struct error *plan_users(const struct tracees *ts, struct plan **ret)
{
	vec_foreach (each, &ts->list) {
		struct tracee *t = *each;
		struct plan_options options = ts->plan_options;
		struct error *err;

		/* The path of the library in this process. */
		options.library = find_mapping(ts, t)->path;
		err = plan_build(t->proc, &t->modules.maps, &options, ret);
		if (err && err->code != ERROR_GONE)
			return err;
		if (!err)
			break;
		error_destroy(err);
	}
	return NULL;
}

struct error *tracees_open_all(struct tracees *ts, struct plan **ret)
{
	const struct event_options event_options = {.is_shared = true,
						    .elf_reader = ts->elf_reader,
						    .others = ts->plan_options.others};
	const char *library = ts->plan_options.library;
	_cleanup_(plan_destroyp) struct plan *plan = NULL;
	struct error *err;

	if (ts->plan_options.event)
		return plan_build_event(ts->plan_options.event, NULL, NULL,
					&event_options, ret);
	if (strchr(library, '/') && !file_names_of_path(library, &ts->library))
		return error_errno(errno == ENOENT ? ERROR_NOT_FOUND : ERROR_IO, errno,
				   "cannot look at %s", library);
	err = find_users(ts);
	if (!err)
		err = plan_users(ts, &plan);
	if (err)
		return err;
	if (plan) {
		*ret = take(plan);
		return NULL;
	}
	if (!strchr(library, '/'))
		return error_create(
			ERROR_NOT_FOUND,
			"no process has mapped a file %s: name it by its path", library);
	return plan_file(ts, ret);
}
