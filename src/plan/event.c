// SPDX-License-Identifier: Apache-2.0
#include "plan/event.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/decode.h"
#include "plan/start.h"
#include "target/debug_file.h"
#include "target/elf.h"
#include "target/usdt.h"
#include "util/cleanup.h"
#include "util/nearest.h"
#include "util/path.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct target_file *, target_file_release);

/* --- the file --------------------------------------------------------------------- */

/* Is it the mapping of the wanted file? A wanted path must be equal. A wanted name
 * matches the base name or, unless `exactly`, its part before a dot: "libc" matches
 * "libc.so.6", and "libz.so.1" matches "libz.so.1.2.13". */
static bool is_named(const struct proc_mapping *m, const char *wanted, bool exactly)
{
	const char *name = strchr(wanted, '/') ? m->path : path_base_name(m->path);
	size_t len = strlen(wanted);

	if (!m->executable || !m->inode)
		return false;
	return !strcmp(name, wanted) || (!exactly && !strchr(wanted, '/') &&
					 !strncmp(name, wanted, len) && name[len] == '.');
}

static const struct proc_mapping *find_mapping(const struct proc_maps *maps,
					       const char *wanted)
{
	vec_foreach (m, &maps->mappings)
		if (is_named(m, wanted, true))
			return m;
	vec_foreach (m, &maps->mappings)
		if (is_named(m, wanted, false))
			return m;
	return NULL;
}

/* The error if the file is not mapped; suggests similar names that are. */
static struct error *not_mapped(const struct event_spec *spec, const struct proc *proc,
				const struct proc_maps *maps)
{
	_cleanup_(strbuf_deinit) struct strbuf near = {0};
	struct nearest nearest = {.wanted = spec->path};

	vec_foreach (m, &maps->mappings) {
		const char *name = path_base_name(m->path);

		if (m->executable && m->inode)
			nearest_offer(&nearest, name, strlen(name));
	}
	nearest_append(&nearest, &near);
	if (near.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND,
			    "process %d (%s) has not mapped a file %s: name it by its "
			    "path%s",
			    proc->pid, proc->command, spec->path, strbuf_text(&near));
}

static struct error *find_file(const struct event_spec *spec, const struct proc *proc,
			       const struct proc_maps *maps, struct target_file **ret)
{
	const struct proc_mapping *m = proc ? find_mapping(maps, spec->path) : NULL;

	if (m)
		return target_file_of_mapping(proc, m, ret);
	if (!strchr(spec->path, '/'))
		return proc ? not_mapped(spec, proc, maps)
			    : error_create(ERROR_USAGE,
					   "--event: %s has to be a path where no "
					   "process is named",
					   spec->path);
	/* The process may map it later. */
	return target_file_named(spec->path[0] == '/' ? proc : NULL, spec->path, ret);
}

/* --- the place in it -------------------------------------------------------------- */

static struct error *no_such_function(const struct event_spec *spec,
				      struct elf_file *file, const char *module_path)
{
	_cleanup_(strbuf_deinit) struct strbuf near = {0};
	struct nearest nearest = {.wanted = spec->name};
	struct error *err = elf_file_offer_functions(file, &nearest);

	if (err)
		return err;
	nearest_append(&nearest, &near);
	if (near.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND, "%s has no function %s%s", module_path,
			    spec->name, strbuf_text(&near));
}

/* Is `offset` where an instruction of the function begins? */
static bool is_boundary(struct elf_file *file, const struct elf_symbol *symbol,
			uint64_t offset)
{
	uint64_t at = 0;

	while (at < offset) {
		unsigned char code[INSN_LENGTH_MAX];
		size_t size =
			elf_file_read(file, symbol->file_offset + at, code, sizeof(code));
		struct insn insn;

		insn_decode(code, size, &insn);
		if (!insn.length)
			return false;
		at += insn.length;
	}
	return at == offset;
}

static bool is_probed(struct elf_file *file, uint64_t offset)
{
	unsigned char code[INSN_LENGTH_MAX];
	size_t size = elf_file_read(file, offset, code, sizeof(code));
	struct insn insn;

	insn_decode(code, size, &insn);
	return size && !insn.no_probe;
}

static struct error *find_function(const struct event_spec *spec, struct elf_file *file,
				   const struct target_file *from, struct event_site *ret)
{
	const char *module_path = target_file_name(from), *why;
	const char *const names[] = {spec->name};
	struct elf_symbol symbol = {0};
	struct error *err = elf_file_find_functions(file, names, 1, &symbol);

	if (err)
		return err;
	if (!symbol.name)
		return no_such_function(spec, file, module_path);
	if (symbol.type == STT_GNU_IFUNC)
		return error_create(ERROR_UNSUPPORTED,
				    "%s of %s is an indirect function: its symbol is the "
				    "code that chooses one",
				    spec->name, module_path);
	why = start_doubt_in(from, &symbol);
	if (why)
		return error_create(ERROR_UNSUPPORTED, "%s of %s is not probed: %s",
				    spec->name, module_path, why);
	if (symbol.size_bytes && spec->offset >= symbol.size_bytes)
		return error_create(
			ERROR_NOT_FOUND, "%s of %s has %lu bytes: +%lu is behind its end",
			spec->name, module_path, (unsigned long)symbol.size_bytes,
			(unsigned long)spec->offset);
	if (!is_boundary(file, &symbol, spec->offset))
		return error_create(ERROR_UNSUPPORTED,
				    "%s+%lu of %s is not known to be the beginning of an "
				    "instruction: a probe there would destroy the code",
				    spec->name, (unsigned long)spec->offset, module_path);
	if (!is_probed(file, symbol.file_offset + spec->offset))
		return error_create(ERROR_UNSUPPORTED,
				    "the kernel takes no probe on the instruction at "
				    "%s+%lu of %s",
				    spec->name, (unsigned long)spec->offset, module_path);
	ret->offset = symbol.file_offset + spec->offset;
	return NULL;
}

static struct error *no_such_probe(const struct event_spec *spec,
				   const struct nearest *nearest, const char *module_path)
{
	_cleanup_(strbuf_deinit) struct strbuf near = {0};

	nearest_append(nearest, &near);
	if (near.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND, "%s has no USDT probe %s:%s%s", module_path,
			    spec->group, spec->name, strbuf_text(&near));
}

static bool push(struct event_sites *sites, const struct event_site *site,
		 struct target_file *file)
{
	struct event_site copy = *site;

	copy.file = target_file_share(file);
	if (vec_push(&sites->list, copy))
		return true;
	target_file_release(copy.file);
	return false;
}

static struct error *find_usdt(const struct event_spec *spec, struct elf_file *file,
			       struct target_file *from, struct event_sites *ret)
{
	_cleanup_(freep) char *both = NULL;
	struct usdt_places places = {0};
	struct nearest nearest = {0};
	struct error *err;

	if (asprintf(&both, "%s:%s", spec->group, spec->name) < 0) {
		both = NULL;
		return error_no_memory();
	}
	nearest.wanted = both;
	err = usdt_find(file, spec->group, spec->name, &nearest, &places);
	if (!err && !places.list.len)
		err = no_such_probe(spec, &nearest, target_file_name(from));
	vec_foreach (place, &places.list) {
		const struct event_site site = {.offset = place->file_offset,
						.ref_ctr = place->semaphore};

		if (!err && !push(ret, &site, from))
			err = error_no_memory();
	}
	vec_deinit(&places.list);
	return err;
}

struct error *event_sites_find(const struct event_spec *spec, const struct proc *proc,
			       const struct proc_maps *maps,
			       const struct event_options *options,
			       struct event_sites *ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(target_file_releasep) struct target_file *from = NULL;
	struct debug_file debug = {0};
	struct event_site site = {0};
	struct error *err = find_file(spec, proc, maps, &from);

	if (!err && !proc)
		target_file_set_reader(from, options->elf_reader);
	if (!err)
		err = elf_file_open_target(from, &file);
	if (err)
		return err;
	if (spec->kind == EVENT_USDT)
		return find_usdt(spec, file, from, ret);
	if (!debug_file_is_needless(file))
		error_destroy(debug_file_find(
			file, proc && !options->is_shared ? proc_root_fd(proc) : -1,
			target_file_name(from), &debug));
	site.is_private = debug.is_targets;
	free(debug.path);
	err = find_function(spec, file, from, &site);
	if (!err && !push(ret, &site, from))
		err = error_no_memory();
	return err;
}

void event_sites_deinit(struct event_sites *sites)
{
	vec_foreach (site, &sites->list)
		target_file_release(site->file);
	vec_deinit(&sites->list);
}
