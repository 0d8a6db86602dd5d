// SPDX-License-Identifier: Apache-2.0
/* Watches for changes of a process's code, by probes of the functions that make them. */
#include "trace/tracer_state.h"
#include "code/after_syscall.h"
#include "plan/site_text.h"
#include "code/start.h"
#include "process/linker.h"
#include "process/proc.h"
#include "process/target_file.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct target_file *, target_file_release);

/* The C library's function that can move mapped code. */
#define MOVES "mremap"

/* The process to search for the functions. */
struct mapped {
	const struct proc *proc;
	struct proc_maps maps;
	struct auxv auxv;
};

static struct error *mapped_init(struct mapped *mapped, const struct proc *proc)
{
	*mapped = (struct mapped){.proc = proc};
	auxv_read(proc->pid, &mapped->auxv);
	/* The mappings of the plan may be old: since then the programs were compiled and
	 * verified, and the process may have loaded its libraries. */
	return proc_read_maps(proc, &mapped->maps);
}

static const struct proc_mapping *find_linker(const struct mapped *mapped)
{
	vec_foreach (m, &mapped->maps.mappings)
		if (mapped->auxv.linker_base && m->start == mapped->auxv.linker_base &&
		    m->inode)
			return m;
	return NULL;
}

static bool is_watched(const struct probed_files *watched,
		       const struct attached_site *site)
{
	vec_foreach (s, &watched->list)
		if (s->pid == site->pid && s->file == site->file)
			return true;
	return false;
}

/* Set the offsets of probes in the file. Offset 0: the function does not exist, or the
 * process has changed it in its memory. */
typedef struct error *locate_fn(struct tracer *t, const struct mapped *mapped,
				const struct proc_mapping *m,
				const struct target_file *file,
				struct attach_probe probes[]);

/* Does the process have these bytes of the file in its memory? Do all processes, if the
 * probes are for all? */
static bool has_text(struct tracer *t, const struct mapped *mapped,
		     const struct proc_mapping *m, const struct target_file *file,
		     uint64_t offset, const uint8_t code[], size_t size)
{
	const struct allocator library = {.module_path = m->path, .text_end = UINT64_MAX};
	struct site_others others;
	struct site_target target = {
		.proc = mapped->proc,
		.maps = &mapped->maps,
		.breakpoints = tracer_breakpoints(t, target_file_link(file))};

	if (t->setup.others && t->run.scope != SCOPE_PROCESSES) {
		_cleanup_(error_destroyp) struct error *err =
			site_others_find(t->setup.others, file, &others);

		if (err)
			return false;
		target.others = &others;
	}
	return !site_text_check(&target, &library, offset, code, size);
}

static struct error *locate_notice(struct tracer *t, const struct mapped *mapped,
				   const struct proc_mapping *m,
				   const struct target_file *file,
				   struct attach_probe probes[])
{
	struct start_function function;
	struct error *err = start_find_function(file, LINKER_NOTICE, &function);

	if (!err && function.offset &&
	    has_text(t, mapped, m, file, function.offset, function.code, function.size))
		probes[0].offset = function.offset;
	return err;
}

/* First the probe at the end of a call, then the one at its beginning. */
static struct error *locate_moves(struct tracer *t, const struct mapped *mapped,
				  const struct proc_mapping *m,
				  const struct target_file *file,
				  struct attach_probe probes[])
{
	struct syscall_function function;
	struct error *err = syscall_function_find(file, MOVES, &function);

	if (err || !function.offset ||
	    !has_text(t, mapped, m, file, function.offset, function.code, function.size))
		return err;
	probes[0].offset = function.offset + function.after;
	probes[0].before = (uint32_t)function.after;
	probes[1].offset = function.offset;
	return NULL;
}

/* Attach these probes to their function in the file of a mapping, if their programs are
 * loaded, the function exists, and it does not have them yet. */
static struct error *watch(struct tracer *t, const struct mapped *mapped,
			   const struct proc_mapping *m, locate_fn *locate,
			   struct attach_probe probes[], size_t count,
			   struct probed_files *watched)
{
	struct attached_site site = {
		.pid = t->run.scope == SCOPE_PROCESSES ? mapped->proc->pid : 0};
	_cleanup_(target_file_releasep) struct target_file *file = NULL;
	struct error *err = NULL;

	for (size_t i = 0; i < count; i++)
		if (probes[i].program < 0)
			return NULL;
	if (m)
		err = target_file_of_mapping(mapped->proc, m, &file);
	if (!err && file)
		err = file_numbers_get(&t->files, target_file_link(file), &site.file);
	if (err || !site.file || is_watched(watched, &site))
		return err;
	err = locate(t, mapped, m, file, probes);
	for (size_t i = 0; i < count; i++) {
		probes[i].path = target_file_link(file);
		probes[i].module = target_file_name(file);
	}
	if (!err && probes[0].offset)
		err = tracer_attach_probes(t, site.pid, probes, count);
	if (!err && !vec_push(&watched->list, site))
		err = error_no_memory();
	return err;
}

void tracer_watch_code(struct tracer *t, const struct proc *proc)
{
	struct mapped mapped;
	struct attach_probe notice = {.function = LINKER_NOTICE};
	/* In this order: if the beginning of a call is seen, its end is seen, too. */
	struct attach_probe moves[] = {{.function = MOVES}, {.function = MOVES}};
	struct error *err;

	tracer_load_code_programs(t);
	notice.program = t->programs[PROGRAM_CODE_CHANGE];
	moves[0].program = t->programs[PROGRAM_MOVED];
	moves[1].program = t->programs[PROGRAM_MOVE];
	err = mapped_init(&mapped, proc);
	if (!err) {
		error_destroy(watch(t, &mapped, find_linker(&mapped), locate_notice,
				    &notice, 1, &t->linkers));
		error_destroy(watch(t, &mapped,
				    linker_find_libc(&mapped.maps, &mapped.auxv),
				    locate_moves, moves, 2, &t->libcs));
	}
	error_destroy(err);
	proc_maps_deinit(&mapped.maps);
}

static void remove_sites_of(struct probed_files *watched, int pid)
{
	size_t kept = 0;

	vec_foreach (site, &watched->list)
		if (site->pid != pid)
			watched->list.data[kept++] = *site;
	watched->list.len = kept;
}

void tracer_unwatch_code(struct tracer *t, int pid)
{
	remove_sites_of(&t->linkers, pid);
	remove_sites_of(&t->libcs, pid);
}
