// SPDX-License-Identifier: Apache-2.0
/* Writes the code of a profile: mappings, functions and locations. */
#include <stdlib.h>
#include <string.h>

#include "render/pprof/parts.h"
#include "util/cleanup.h"

/* The number of a mapping, counted across all processes, from 1. */
static uint64_t mapping_number(const struct snapshot *snap,
			       const struct snapshot_process *process,
			       const struct snapshot_module *module)
{
	uint64_t before = 0;

	for (const struct snapshot_process *p = snap->processes.data; p < process; p++)
		before += p->modules.len;
	return before + (uint64_t)(module - process->modules.data) + 1;
}

/* The number of the mapping that contains the frame with this index; 0: none. */
static uint64_t frame_mapping(const struct pprof_builder *b, size_t index)
{
	const struct snapshot_process *process = b->names.owners[index];
	const struct snapshot_module *module =
		process ? snapshot_find_module(process, b->names.frames[index]->address)
			: NULL;

	return module ? mapping_number(b->report->snapshot, process, module) : 0;
}

/* What is known about the frames of a mapping. */
struct known {
	bool named, unnamed; /* some frames have a symbol; some have none */
	bool lined;          /* some frames have a source line */
};

/* pprof looks up the names of a mapping's frames itself unless one of the has_ flags is
 * set. So set none if any frame lacks a name. */
static void write_mapping(struct pprof_builder *b, uint64_t id,
			  const struct snapshot_module *module, const struct known *known)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;

	mapping.id = id;
	mapping.memory_start = module->start;
	mapping.memory_limit = module->end;
	mapping.file_offset = module->file_offset;
	mapping.filename = pprof_write_text(b, module->path);
	mapping.build_id = pprof_write_text(b, module->build_id);
	mapping.has_functions = known->named && !known->unnamed;
	mapping.has_filenames = mapping.has_functions && known->lined;
	mapping.has_line_numbers = mapping.has_inline_frames = mapping.has_filenames;
	part.n_mapping = 1;
	part.mapping = (Pprof__Mapping *[]){&mapping};
	pprof_write_part(b, &part);
}

/* Write the mappings of the first process's executable (`main_program`), or all
 * others. *id is the last id. */
static void write_mappings_of(struct pprof_builder *b, bool main_program,
			      const struct known *known, uint64_t *id)
{
	const struct snapshot *snap = b->report->snapshot;
	uint64_t number = 0;

	vec_foreach (process, &snap->processes) {
		vec_foreach (module, &process->modules) {
			bool is_main = process == snap->processes.data &&
				       process->executable &&
				       !strcmp(module->path, process->executable);

			number++;
			if (is_main != main_program)
				continue;
			b->mappings[number] = ++*id;
			write_mapping(b, *id, module, &known[number]);
		}
	}
}

/* Readers take the first mapping for the main program, so write that first. */
static void write_mappings(struct pprof_builder *b)
{
	const struct names *names = &b->names;
	size_t count = 1;
	uint64_t id = 0;

	vec_foreach (process, &b->report->snapshot->processes)
		count += process->modules.len;

	_cleanup_(freep) struct known *known = calloc(count, sizeof(*known));

	b->mappings = calloc(count, sizeof(*b->mappings));
	if (!known || !b->mappings) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < names->frame_count; i++) {
		if (!names->frames[i])
			continue;

		struct known *of = &known[frame_mapping(b, i)];

		if (names->list.data[names->ids[i]].is_symbol)
			of->named = true;
		else
			of->unnamed = true;
		of->lined |= names->frames[i]->line > 0;
	}
	write_mappings_of(b, true, known, &id);
	write_mappings_of(b, false, known, &id);
}

/*
 * If both names of a function are equal, pprof removes all in brackets, so that names of
 * C++ are short (demangleSingleFunction() of
 * github.com/google/pprof/internal/symbolizer). That would leave "::fmt" of Rust's
 * "<Order as Display>::fmt", "visit::" of "visit::<u8>", and "::visit" of "(anonymous
 * namespace)::visit". Without a system name pprof keeps the name whole.
 */
static int64_t system_name_of(const char *name, int64_t index)
{
	return *name == '<' || strstr(name, "::<") ||
			       strstr(name, "(anonymous namespace)")
		       ? 0
		       : index;
}

static void write_function(struct pprof_builder *b, uint64_t id, uint32_t name,
			   int64_t file)
{
	const char *text = b->names.list.data[name].text;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Function function = PPROF__FUNCTION__INIT;

	function.id = id;
	function.name = pprof_write_string(b, text);
	function.system_name = system_name_of(text, function.name);
	function.filename = file;
	part.n_function = 1;
	part.function = (Pprof__Function *[]){&function};
	pprof_write_part(b, &part);
}

/* A frame with a known source file. */
struct sourced {
	const char *file;
	uint32_t name;
	size_t index;
};

static int compare_sourced(const void *pa, const void *pb)
{
	const struct sourced *a = pa, *b = pb;
	int order = strcmp(a->file, b->file);

	return order ? order : a->name < b->name ? -1 : a->name > b->name;
}

/* Write a function for each pair of name and file. */
static void write_sourced(struct pprof_builder *b, const struct sourced *list,
			  size_t count)
{
	uint64_t id = b->names.list.len;
	int64_t file = 0;

	for (size_t i = 0; i < count; i++) {
		if (!i || strcmp(list[i - 1].file, list[i].file))
			file = pprof_write_text(b, list[i].file);
		if (!i || compare_sourced(&list[i - 1], &list[i]))
			write_function(b, ++id, list[i].name, file);
		b->functions[list[i].index] = id;
	}
}

/* Write the functions. The id of a function without a file is the index of its name plus
 * 1. Functions with a file follow. */
static void write_functions(struct pprof_builder *b)
{
	const struct names *names = &b->names;
	VEC(struct sourced) list = {0};

	b->functions = calloc(names->frame_count + 1, sizeof(*b->functions));
	if (!b->functions)
		b->failed = true;
	for (size_t i = 0; i < names->list.len; i++)
		write_function(b, i + 1, (uint32_t)i, 0);
	for (size_t i = 0; i < names->frame_count && !b->failed; i++) {
		const struct report_frame *frame = names->frames[i];

		if (frame && frame->file && *frame->file &&
		    !vec_push(&list, (struct sourced){frame->file, names->ids[i], i}))
			b->failed = true;
	}
	if (list.len && !b->failed) {
		qsort(list.data, list.len, sizeof(*list.data), compare_sourced);
		write_sourced(b, list.data, list.len);
	}
	vec_deinit(&list);
}

bool pprof_is_location(const struct pprof_builder *b, size_t index)
{
	const struct names *names = &b->names;
	const struct report_frame *frame = names->frames[index], *next;

	if (!frame || !frame->inlined || index + 1 >= names->frame_count)
		return frame != NULL;
	next = names->frames[index + 1];
	return !next || next->address != frame->address ||
	       names->owners[index] != names->owners[index + 1];
}

/* The lines of a location, in the order of their frames. */
typedef VEC(Pprof__Line) lines;

static bool push_line(const struct pprof_builder *b, size_t index, lines *ret)
{
	const struct report_frame *frame = b->names.frames[index];
	Pprof__Line line = PPROF__LINE__INIT;

	line.function_id = b->functions[index] ? b->functions[index]
					       : (uint64_t)b->names.ids[index] + 1;
	line.line = frame->line;
	line.column = frame->column;
	return vec_push(ret, line);
}

static void write_location(struct pprof_builder *b, Pprof__Location *location,
			   lines *list)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	VEC(Pprof__Line *) pointers = {0};

	vec_foreach (line, list) {
		if (!vec_push(&pointers, line))
			b->failed = true;
	}
	location->n_line = pointers.len;
	location->line = pointers.data;
	part.n_location = 1;
	part.location = (Pprof__Location *[]){location};
	pprof_write_part(b, &part);
	vec_deinit(&pointers);
}

/* Write the location of the frame at `index` and of the frames inlined into it, which
 * precede it. */
static void write_frame(struct pprof_builder *b, size_t index)
{
	Pprof__Location location = PPROF__LOCATION__INIT;
	lines list = {0};
	size_t first = index;

	location.id = b->locations[index];
	location.address = b->names.frames[index]->address;
	location.mapping_id = b->mappings[frame_mapping(b, index)];
	while (first && b->names.frames[first - 1] && !pprof_is_location(b, first - 1))
		first--;
	/* Without a line, pprof shows the mapping or the address. The placeholder for
	 * missing frames has neither, so it gets a line. */
	if (first < index || b->names.frames[index]->is_gap ||
	    b->names.list.data[b->names.ids[index]].is_symbol) {
		for (size_t i = first; i <= index; i++)
			b->failed |= !push_line(b, i, &list);
	}
	write_location(b, &location, &list);
	vec_deinit(&list);
}

/*
 * Write the location of a name that is not a frame, the `place`-th of these. Its address
 * is one that no code has, and different for each: Alloy takes samples for the same if
 * their addresses are (grafana/alloy, internal/component/pyroscope/scrape/internal/
 * fastdelta/hasher.go).
 */
static void write_name(struct pprof_builder *b, uint64_t id, uint32_t name, size_t place)
{
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Line line = PPROF__LINE__INIT;
	lines list = {.data = &line, .len = 1};

	location.id = id;
	location.address = place + 1;
	line.function_id = (uint64_t)name + 1;
	write_location(b, &location, &list);
}

static void write_locations(struct pprof_builder *b)
{
	const struct names *names = &b->names;
	uint64_t id = 0, *next;
	size_t place = 0;

	b->locations = calloc(names->frame_count + NOTE_COUNT +
				      b->report->snapshot->processes.len,
			      sizeof(*b->locations));
	if (!b->locations) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < names->frame_count; i++) {
		if (!pprof_is_location(b, i))
			continue;
		b->locations[i] = ++id;
		write_frame(b, i);
	}
	next = b->locations + names->frame_count;
	for (size_t i = 0; i < NOTE_COUNT; i++) {
		*next++ = ++id;
		write_name(b, id, names_note(names, (enum name_note)i), place++);
	}
	vec_foreach (process, &b->report->snapshot->processes) {
		*next++ = ++id;
		write_name(b, id, names_process(names, process), place++);
	}
}

void pprof_write_code(struct pprof_builder *b)
{
	write_mappings(b);
	if (!b->failed)
		write_functions(b);
	if (!b->failed)
		write_locations(b);
}
