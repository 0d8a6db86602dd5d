// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>
#include <string.h>

#include "profile.pb-c.h"
#include "render/gzip.h"
#include "render/names.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/hashmap.h"

/*
 * Messages that are written one behind the other are one message, whose lists are the
 * lists of all of them (protobuf, "Encoding", last one wins). So the profile is written
 * in parts, each a Profile with one entry of a list, and never lies in memory whole.
 */
struct builder {
	const struct report *report;
	struct names names;
	struct gzip gzip;
	VEC(uint8_t) packed;    /* the part that is being written */
	VEC(uint64_t) stack;    /* location ids of the sample */
	VEC(struct unit) units; /* blocks of one row */
	struct hashmap threads; /* tid: index of its string */
	int64_t strings;        /* how many were written */
	int64_t bytes, thread;  /* strings of labels */
	bool failed;            /* memory is out */
};

/* What makes a sample of its own. */
struct unit {
	uint64_t size_bytes;
	uint32_t tid;
};

/* Value types, in the order of the values of a sample. The last is the default. */
enum value {
	MAPPED_OBJECTS, /* only when mappings are traced */
	MAPPED_SPACE,
	INUSE_OBJECTS,
	INUSE_SPACE,
	EVENTS, /* instead of those two, with an event */
	VALUE_COUNT,
};

static int64_t clamp(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static void write_part(struct builder *b, const Pprof__Profile *part)
{
	size_t size = pprof__profile__get_packed_size(part);

	if (!vec_reserve(&b->packed, size)) {
		b->failed = true;
		return;
	}
	pprof__profile__pack(part, b->packed.data);
	gzip_write(&b->gzip, b->packed.data, size);
}

static int64_t write_string(struct builder *b, const char *text)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *list[] = {(char *)text};

	part.n_string_table = 1;
	part.string_table = list;
	write_part(b, &part);
	return b->strings++;
}

/* Text of the target's choosing. NULL is the empty string. */
static int64_t write_text(struct builder *b, const char *text)
{
	_cleanup_(freep) char *escaped = text ? escape_dup(text) : NULL;

	if (text && !escaped)
		b->failed = true;
	return escaped && *escaped ? write_string(b, escaped) : 0;
}

/* --- head --------------------------------------------------------------------------- */

/* Those that the samples have; how many. */
static size_t list_values(const struct report *report, enum value ret[VALUE_COUNT])
{
	size_t count = 0;

	if (report->section_count > 1) {
		ret[count++] = MAPPED_OBJECTS;
		ret[count++] = MAPPED_SPACE;
	}
	if (report->snapshot->event) {
		ret[count++] = EVENTS;
	} else {
		ret[count++] = INUSE_OBJECTS;
		ret[count++] = INUSE_SPACE;
	}
	return count;
}

static void write_value_types(struct builder *b, Pprof__Profile *part)
{
	static const char *const types[VALUE_COUNT] = {
		[MAPPED_OBJECTS] = "mapped_objects",
		[MAPPED_SPACE] = "mapped_space",
		[INUSE_OBJECTS] = "inuse_objects",
		[INUSE_SPACE] = "inuse_space",
		[EVENTS] = "events",
	};
	Pprof__ValueType values[VALUE_COUNT], period = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *list[VALUE_COUNT];
	int64_t count = write_string(b, "count");
	enum value which[VALUE_COUNT];
	size_t value_count = list_values(b->report, which);
	bool is_event = b->report->snapshot->event;

	b->bytes = write_string(b, "bytes");
	for (size_t v = 0; v < value_count; v++) {
		enum value i = which[v];

		pprof__value_type__init(&values[i]);
		values[i].type = write_string(b, types[i]);
		values[i].unit = i == MAPPED_OBJECTS || i == INUSE_OBJECTS || i == EVENTS
					 ? count
					 : b->bytes;
		list[part->n_sample_type++] = &values[i];
	}
	part->sample_type = list;
	part->default_sample_type = values[which[value_count - 1]].type;
	period.type = is_event ? values[EVENTS].type : write_string(b, "space");
	period.unit = is_event ? count : b->bytes;
	part->period_type = &period;
	/* Numbers are scaled already, so that each byte stands for itself. */
	part->period = 1;
	write_part(b, part);
}

static int64_t write_comment(struct builder *b)
{
	const struct snapshot *snap = b->report->snapshot;
	const struct snapshot_process *first = snapshot_process(snap, 0);
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_append(&text, "memtrace " MEMTRACE_VERSION ", ");
	if (snap->processes.len == 1) {
		strbuf_appendf(&text, "process %d (", first->pid);
		escape_text(&text, first->command ? first->command : "unknown");
		strbuf_append_char(&text, ')');
	} else {
		strbuf_appendf(&text, "%zu processes", snap->processes.len);
	}
	if (snap->event) {
		strbuf_append(&text, "; ");
		escape_text(&text, snap->event);
	}
	if (snap->sample_every > 1)
		strbuf_appendf(&text,
			       "; heap numbers are estimates from one allocation in "
			       "%" PRIu64,
			       snap->sample_every);
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		if (snap->losses[i])
			strbuf_appendf(&text, "; incomplete: %s %" PRIu64,
				       loss_name((enum loss)i), snap->losses[i]);
	}
	if (text.failed)
		b->failed = true;
	return write_string(b, strbuf_text(&text));
}

static void write_head(struct builder *b)
{
	const struct report *report = b->report;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t comment;

	write_string(b, "");
	b->thread = write_string(b, "thread");
	comment = write_comment(b);
	part.n_comment = 1;
	part.comment = &comment;
	part.time_nanos = clamp(report->snapshot->wall_ns);
	part.duration_nanos = clamp(report->elapsed_ns);
	write_value_types(b, &part);
}

/* --- code --------------------------------------------------------------------------- */

/* Mappings are numbered from 1 on through all processes. */
static uint64_t mapping_id(const struct snapshot *snap,
			   const struct snapshot_process *process,
			   const struct snapshot_module *module)
{
	uint64_t before = 0;

	for (const struct snapshot_process *p = snap->processes.data; p < process; p++)
		before += p->modules.len;
	return before + (uint64_t)(module - process->modules.data) + 1;
}

/* Of the mapping that the frame with this index lies in; 0 is none. */
static uint64_t frame_mapping_id(const struct builder *b, size_t index)
{
	const struct snapshot_process *process = b->names.owners[index];
	const struct snapshot_module *module =
		process ? snapshot_find_module(process, b->names.frames[index]->address)
			: NULL;

	return module ? mapping_id(b->report->snapshot, process, module) : 0;
}

static void write_mapping(struct builder *b, uint64_t id,
			  const struct snapshot_module *module, bool has_functions)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Mapping mapping = PPROF__MAPPING__INIT;

	mapping.id = id;
	mapping.memory_start = module->start;
	mapping.memory_limit = module->end;
	mapping.file_offset = module->file_offset;
	mapping.filename = write_text(b, module->path);
	mapping.build_id = write_text(b, module->build_id);
	mapping.has_functions = has_functions;
	part.n_mapping = 1;
	part.mapping = (Pprof__Mapping *[]){&mapping};
	write_part(b, &part);
}

/* Those of the first process's program (`main_program`), or all others. */
static void write_mappings_of(struct builder *b, bool main_program, const bool *named,
			      const bool *unnamed)
{
	const struct snapshot *snap = b->report->snapshot;
	uint64_t id = 0;

	vec_foreach (process, &snap->processes) {
		vec_foreach (module, &process->modules) {
			bool is_main = process == snap->processes.data &&
				       process->executable &&
				       !strcmp(module->path, process->executable);

			id++;
			if (is_main == main_program)
				write_mapping(b, id, module, named[id] && !unnamed[id]);
		}
	}
}

/* Readers take the first for the main program. has_functions is said of mappings whose
 * frames all have a name; pprof looks for the names of others itself. */
static void write_mappings(struct builder *b)
{
	const struct names *names = &b->names;
	size_t count = 1;

	vec_foreach (process, &b->report->snapshot->processes)
		count += process->modules.len;

	_cleanup_(freep) bool *named = calloc(count, sizeof(*named));
	_cleanup_(freep) bool *unnamed = calloc(count, sizeof(*unnamed));

	if (!named || !unnamed) {
		b->failed = true;
		return;
	}
	for (size_t i = 0; i < names->frame_count; i++) {
		if (names->frames[i])
			(names->list.data[names->ids[i]].is_symbol
				 ? named
				 : unnamed)[frame_mapping_id(b, i)] = true;
	}
	write_mappings_of(b, true, named, unnamed);
	write_mappings_of(b, false, named, unnamed);
}

/* The id of a function is that of its name and 1. */
static void write_functions(struct builder *b)
{
	for (size_t i = 0; i < b->names.list.len; i++) {
		Pprof__Profile part = PPROF__PROFILE__INIT;
		Pprof__Function function = PPROF__FUNCTION__INIT;

		function.id = i + 1;
		function.name = write_string(b, b->names.list.data[i].text);
		function.system_name = function.name;
		part.n_function = 1;
		part.function = (Pprof__Function *[]){&function};
		write_part(b, &part);
	}
}

static void write_location(struct builder *b, uint64_t id, uint32_t name,
			   const struct report_frame *frame)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Location location = PPROF__LOCATION__INIT;
	Pprof__Line line = PPROF__LINE__INIT;
	Pprof__Line *lines[] = {&line};

	location.id = id;
	if (frame) {
		location.address = frame->address;
		location.mapping_id = frame_mapping_id(b, frame->index);
	}
	line.function_id = (uint64_t)name + 1;
	/* Where there is no symbol pprof shows the mapping or the address. */
	if (!frame || b->names.list.data[name].is_symbol) {
		location.n_line = 1;
		location.line = lines;
	}
	part.n_location = 1;
	part.location = (Pprof__Location *[]){&location};
	write_part(b, &part);
}

/* The id of a location is the index of its frame and 1; behind these are the notes and
 * then the processes. */
static void write_locations(struct builder *b)
{
	const struct names *names = &b->names;

	for (size_t i = 0; i < names->frame_count; i++) {
		if (names->frames[i])
			write_location(b, i + 1, names->ids[i], names->frames[i]);
	}
	for (size_t i = 0; i < NOTE_COUNT; i++)
		write_location(b, names->frame_count + 1 + i,
			       names_note(names, (enum name_note)i), NULL);
	for (size_t i = 0; i < b->report->snapshot->processes.len; i++)
		write_location(
			b, names->frame_count + 1 + NOTE_COUNT + i,
			names_process(names, &b->report->snapshot->processes.data[i]),
			NULL);
}

/* --- samples ------------------------------------------------------------------------ */

static void set_stack(struct builder *b, const struct report_row *row)
{
	const struct snapshot *snap = b->report->snapshot;
	enum name_note note;
	bool pushed = true;

	b->stack.len = 0;
	for (size_t i = 0; i < row->depth; i++)
		pushed = pushed && vec_push(&b->stack, row->frames[i]->index + 1);
	if (names_end(row, &note))
		pushed = pushed && vec_push(&b->stack, b->names.frame_count + 1 + note);
	if (snap->processes.len > 1) {
		size_t process = row->process
					 ? NOTE_COUNT + (size_t)(row->process -
								 snap->processes.data)
					 : NOTE_NO_PROCESS;

		pushed =
			pushed && vec_push(&b->stack, b->names.frame_count + 1 + process);
	}
	if (!pushed)
		b->failed = true;
}

/* The string of a thread's number. */
static int64_t thread_string(struct builder *b, uint32_t tid)
{
	uint64_t index;
	char text[16];

	if (hashmap_get(&b->threads, tid, &index))
		return (int64_t)index;
	snprintf(text, sizeof(text), "%" PRIu32, tid);
	index = (uint64_t)write_string(b, text);
	if (!hashmap_put(&b->threads, tid, index))
		b->failed = true;
	return (int64_t)index;
}

/* A sample of the stack that is set; `unit` (NULL: none) makes its labels. */
static void write_sample(struct builder *b, const struct report_section *section,
			 const struct report_sum *sum, const struct unit *unit)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	Pprof__Label thread = PPROF__LABEL__INIT, bytes = PPROF__LABEL__INIT;
	Pprof__Label *labels[] = {&thread, &bytes};
	int64_t values[VALUE_COUNT + 1] = {0}; /* and one that nobody reads */
	static const struct {
		enum value count, size;
	} of_class[BLOCK_CLASS_COUNT] = {
		[BLOCK_HEAP] = {INUSE_OBJECTS, INUSE_SPACE},
		[BLOCK_MAPPING] = {MAPPED_OBJECTS, MAPPED_SPACE},
		[BLOCK_EVENT] = {EVENTS, VALUE_COUNT},
	};
	enum value which[VALUE_COUNT];
	size_t value_count = list_values(b->report, which);
	int64_t list[VALUE_COUNT];

	values[of_class[section->class].count] = clamp(sum->estimated_count);
	values[of_class[section->class].size] = clamp(sum->estimated_bytes);
	for (size_t i = 0; i < value_count; i++)
		list[i] = values[which[i]];
	sample.n_value = value_count;
	sample.value = list;
	sample.n_location_id = b->stack.len;
	sample.location_id = b->stack.data;
	if (unit) {
		thread.key = b->thread;
		thread.str = thread_string(b, unit->tid);
		bytes.key = bytes.num_unit = b->bytes;
		bytes.num = clamp(unit->size_bytes);
		sample.n_label = 2;
		sample.label = labels;
	}
	part.n_sample = 1;
	part.sample = (Pprof__Sample *[]){&sample};
	write_part(b, &part);
}

static int compare_units(const void *pa, const void *pb)
{
	const struct unit *a = pa, *b = pb;

	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

static void write_row(struct builder *b, const struct report_section *section,
		      const struct report_row *row)
{
	set_stack(b, row);
	if (!row->block_count) {
		write_sample(b, section, &row->sum, NULL);
		return;
	}
	b->units.len = 0;
	for (size_t i = 0; i < row->block_count; i++) {
		if (!vec_push(&b->units,
			      (struct unit){.size_bytes = row->blocks[i]->size_bytes,
					    .tid = row->blocks[i]->tid})) {
			b->failed = true;
			return;
		}
	}
	qsort(b->units.data, b->units.len, sizeof(*b->units.data), compare_units);

	size_t from = 0;

	for (size_t i = 1; i <= b->units.len; i++) {
		const struct unit *unit = &b->units.data[from];

		if (i < b->units.len && !compare_units(unit, &b->units.data[i]))
			continue;

		double count = report_weight(b->report, section, unit->size_bytes) *
			       (double)(i - from);
		const struct report_sum sum = {
			.estimated_bytes = report_round(count * (double)unit->size_bytes),
			.estimated_count = report_round(count),
		};

		write_sample(b, section, &sum, unit);
		from = i;
	}
}

static void write_profile(struct builder *b)
{
	const struct report *report = b->report;

	write_head(b);
	write_mappings(b);
	write_functions(b);
	write_locations(b);
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count && !b->failed; r++)
			write_row(b, section, &section->rows[r]);
	}
	gzip_finish(&b->gzip);
}

static struct error *render_pprof(const struct report *report, FILE *out)
{
	struct builder b = {.report = report};
	struct error *err = names_init(&b.names, report);

	/* Thread ids are the kernel's choice: nobody can make them collide. */
	hashmap_init(&b.threads, 0);
	if (!err)
		err = gzip_init(&b.gzip, out);
	if (!err) {
		write_profile(&b);
		gzip_deinit(&b.gzip);
		if (b.failed)
			err = error_no_memory();
	}
	hashmap_deinit(&b.threads);
	names_deinit(&b.names);
	vec_deinit(&b.packed);
	vec_deinit(&b.stack);
	vec_deinit(&b.units);
	return err;
}

const struct renderer pprof_renderer = {.name = "pprof", .render = render_pprof};
