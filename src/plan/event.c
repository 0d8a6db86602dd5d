// SPDX-License-Identifier: Apache-2.0
#include "plan/event.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "code/decode.h"
#include "plan/site_text.h"
#include "code/start.h"
#include "plan/usdt_site.h"
#include "process/debug_file.h"
#include "elf/elf.h"
#include "process/target_elf.h"
#include "process/file_names.h"
#include "elf/usdt.h"
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

/* No function with a USDT probe or a probe inside is longer. */
#define CODE_MAX (1u << 20)

/* Where the places of one event are looked for. */
struct search {
	const struct event_spec *spec;
	const struct event_options *options;
	struct target_file *from;
	struct elf_file *file;
	struct site_target target;
	struct file_names names; /* of `from` */
	struct text_file text;
	struct text_budget budget;
};

static struct error *no_such_function(const struct search *s)
{
	_cleanup_(strbuf_deinit) struct strbuf near = {0};
	struct nearest nearest = {.wanted = s->spec->name};
	struct error *err = elf_file_offer_functions(s->file, &nearest);

	if (err)
		return err;
	nearest_append(&nearest, &near);
	if (near.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND, "%s has no function %s%s",
			    target_file_name(s->from), s->spec->name, strbuf_text(&near));
}

/* The place is not probed, because ... */
static struct error *refuse(const struct search *s, enum error_code code, const char *why)
{
	char offset[24] = "";

	if (s->spec->offset)
		snprintf(offset, sizeof(offset), "+%" PRIu64, s->spec->offset);
	return error_create(code, "%s%s of %s is not probed: %s", s->spec->name, offset,
			    target_file_name(s->from), why);
}

/*
 * site_text_doubt() for the place of a probe at this offset of the file. If the probe is
 * for all processes, and not there yet, the code must be the same in all of them.
 */
static const char *doubt(const struct search *s, uint64_t place, uint64_t offset,
			 const uint8_t *code, size_t size)
{
	const struct event_options *o = s->options;
	struct site_others others = {.code = o->others};
	struct site_target target = s->target;
	struct error *err;

	if (!o->others ||
	    (o->is_probed &&
	     o->is_probed(o->probed_arg, target_file_link(s->from), 0, place)))
		return site_text_doubt(&target, &s->text, offset, code, size);
	err = other_code_find(o->others, &s->names, target_file_link(s->from),
			      &others.runs);
	if (err) {
		error_destroy(err);
		return "the other processes that map the file cannot be found";
	}
	target.others = &others;
	return site_text_doubt(&target, &s->text, offset, code, size);
}

/* Check the instructions of the function that lead to the place, and the one there. */
static struct error *check_code(const struct search *s, const struct elf_symbol *symbol)
{
	size_t at = (size_t)s->spec->offset, size = at + INSN_LENGTH_MAX;
	_cleanup_(freep) uint8_t *code = NULL;
	struct error *err;
	bool reaches;
	const char *why;
	struct insn insn;

	if (s->spec->offset > CODE_MAX)
		return refuse(s, ERROR_UNSUPPORTED, "too much code is before it");
	code = malloc(size);
	if (!code)
		return error_no_memory();
	err = start_reaches(s->from, symbol->address, symbol->address + at, &reaches);
	if (err)
		return err;
	size = elf_file_read(s->file, symbol->file_offset, code, size);
	if (size <= at || insn_decode_to(code, size, at) != at || !reaches)
		return refuse(s, ERROR_UNSUPPORTED,
			      "it is not known to be the beginning of an instruction of "
			      "the function, and a probe elsewhere would destroy the "
			      "code");
	insn_decode(code + at, size - at, &insn);
	if (insn.no_probe)
		return refuse(s, ERROR_UNSUPPORTED,
			      "the kernel takes no probe on the instruction there");
	if (insn.length)
		size = at + insn.length;
	why = doubt(s, symbol->file_offset + at, symbol->file_offset, code, size);
	return why ? refuse(s, ERROR_UNSAFE, why) : NULL;
}

static struct error *find_function(const struct search *s, struct event_site *ret)
{
	const char *const names[] = {s->spec->name};
	struct elf_symbol symbol = {0};
	struct error *err = elf_file_find_functions(s->file, names, 1, &symbol);
	const char *why;

	if (err)
		return err;
	if (!symbol.name)
		return no_such_function(s);
	if (symbol.type == STT_GNU_IFUNC)
		return error_create(ERROR_UNSUPPORTED,
				    "%s of %s is an indirect function: its symbol is the "
				    "code that chooses one; name the chosen one instead",
				    s->spec->name, target_file_name(s->from));
	err = start_doubt_in(s->from, &symbol, &why);
	if (err)
		return err;
	if (why)
		return refuse(s, ERROR_UNSUPPORTED, why);
	if (symbol.size_bytes && s->spec->offset >= symbol.size_bytes)
		return error_create(ERROR_NOT_FOUND,
				    "%s of %s has %" PRIu64 " bytes: +%" PRIu64
				    " is behind its end",
				    s->spec->name, target_file_name(s->from),
				    symbol.size_bytes, s->spec->offset);
	ret->offset = symbol.file_offset + s->spec->offset;
	ret->before = (uint32_t)s->spec->offset;
	return check_code(s, &symbol);
}

/* Add a place. A place that is there already is not added again: a linker that folds
 * functions leaves the notes of each, and each hit counts once. */
static bool push(struct event_sites *sites, const struct event_site *site,
		 struct target_file *file)
{
	struct event_site copy = *site;

	vec_foreach (other, &sites->list) {
		if (other->file != file || other->offset != site->offset)
			continue;
		if (!other->ref_ctr)
			other->ref_ctr = site->ref_ctr;
		return true;
	}
	copy.file = target_file_share(file);
	if (vec_push(&sites->list, copy))
		return true;
	target_file_release(copy.file);
	return false;
}

static struct error *add_function(struct search *s, const struct proc *proc,
				  struct event_sites *ret)
{
	const struct proc *owner = s->options->is_shared ? NULL : proc;
	struct debug_file debug = {0};
	struct event_site site = {0};
	struct error *err;

	if (!debug_file_is_needless(s->file))
		error_destroy(debug_file_find(s->file, owner, target_file_name(s->from),
					      &debug));
	site.is_private = debug.is_targets;
	free(debug.path);
	err = find_function(s, &site);
	return err || push(ret, &site, s->from) ? err : error_no_memory();
}

/* --- USDT probes -------------------------------------------------------------------- */

static struct error *no_such_probe(const struct search *s, const struct nearest *nearest)
{
	_cleanup_(strbuf_deinit) struct strbuf near = {0};

	nearest_append(nearest, &near);
	if (near.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND, "%s has no USDT probe %s:%s%s",
			    target_file_name(s->from), s->spec->group, s->spec->name,
			    strbuf_text(&near));
}

/* A place without a probe would make the number of events wrong. */
static struct error *too_many_places(const struct search *s,
				     const struct usdt_places *places)
{
	return error_create(ERROR_UNSUPPORTED,
			    "the USDT probe %s:%s of %s is not set: it has %zu place%s "
			    "more than the %u that memtrace can probe",
			    s->spec->group, s->spec->name, target_file_name(s->from),
			    places->left_out, places->left_out == 1 ? "" : "s",
			    USDT_PLACES_MAX);
}

static struct error *add_usdt(const struct search *s, struct usdt_file *usdt,
			      const struct usdt_place *place, struct event_sites *ret)
{
	_cleanup_(usdt_code_deinit) struct usdt_code code = {0};
	bool is_alone = !s->options->is_shared && !s->options->has_others;
	const char *why = usdt_file_check(usdt, place, is_alone, &code);
	struct event_site site = {
		.offset = place->file_offset,
		.ref_ctr = place->semaphore,
		.is_private = !code.is_proven,
	};
	enum error_code kind = ERROR_UNSUPPORTED;

	if (!why) {
		site.before = (uint32_t)(site.offset - code.file_offset);
		kind = ERROR_UNSAFE;
		why = doubt(s, site.offset, code.file_offset, code.bytes, code.size);
	}
	if (why)
		return error_create(
			kind, "the USDT probe %s:%s at %#" PRIx64 " of %s is not set: %s",
			s->spec->group, s->spec->name, place->address,
			target_file_name(s->from), why);
	return push(ret, &site, s->from) ? NULL : error_no_memory();
}

static struct error *find_usdt(const struct search *s, struct event_sites *ret)
{
	_cleanup_(freep) char *both = NULL;
	_cleanup_(usdt_file_close) struct usdt_file usdt = {.image = {.fd = -1}};
	struct usdt_places places = {0};
	struct nearest nearest = {0};
	struct error *err;

	if (asprintf(&both, "%s:%s", s->spec->group, s->spec->name) < 0) {
		both = NULL;
		return error_no_memory();
	}
	nearest.wanted = both;
	err = usdt_find(s->file, s->spec->group, s->spec->name, &nearest, &places);
	if (!err && !places.list.len)
		err = no_such_probe(s, &nearest);
	if (!err && places.left_out)
		err = too_many_places(s, &places);
	if (!err)
		err = usdt_file_open(s->from, &usdt);
	usdt.budget = s->target.budget;
	for (size_t i = 0; i < places.list.len && !err; i++)
		err = add_usdt(s, &usdt, &places.list.data[i], ret);
	vec_deinit(&places.list);
	return err;
}

/* --- an event ----------------------------------------------------------------------- */

struct error *event_sites_find(const struct event_spec *spec, const struct proc *proc,
			       const struct proc_maps *maps,
			       const struct event_options *options,
			       struct event_sites *ret)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(target_file_releasep) struct target_file *from = NULL;
	struct error *err = find_file(spec, proc, maps, &from);

	if (!err && !proc)
		target_file_set_reader(from, options->elf_reader);
	if (!err)
		err = target_elf_open(from, &file);
	if (err)
		return err;

	struct search search = {
		.spec = spec,
		.options = options,
		.from = from,
		.file = file,
		.target = {.proc = proc, .maps = maps},
	};

	search.text.names = &search.names;
	search.target.budget = &search.budget;
	if (!target_file_names(from, &search.names) && (proc || options->others))
		return error_create(ERROR_UNSUPPORTED,
				    "%s: the kernel does not say which mappings are of "
				    "this file",
				    target_file_name(from));
	return spec->kind == EVENT_USDT ? find_usdt(&search, ret)
					: add_function(&search, proc, ret);
}

void event_sites_deinit(struct event_sites *sites)
{
	vec_foreach (site, &sites->list)
		target_file_release(site->file);
	vec_deinit(&sites->list);
}
