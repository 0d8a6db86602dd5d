// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>

#include "render/class_words.h"
#include "render/pprof/parts.h"
#include "util/cleanup.h"
#include "util/escape.h"

#define FLUSH_BYTES ((size_t)64 * 1024)

/* Value types, in the order of the values in a sample. */
enum value {
	MAPPED_OBJECTS, /* these two only if mappings are traced */
	MAPPED_SPACE,
	KERNEL_OBJECTS, /* these two only if the kernel is traced */
	KERNEL_SPACE,
	PEAK_OBJECTS, /* these two only if what was live at the peak was counted */
	PEAK_SPACE,
	ALLOC_OBJECTS, /* these two only if traffic is measured */
	ALLOC_SPACE,
	INUSE_OBJECTS,
	INUSE_SPACE,
	EVENTS, /* instead of INUSE_*, with an event */
	VALUE_COUNT,
};

static bool has_value(const struct report *report, enum value value)
{
	switch (value) {
	case MAPPED_OBJECTS:
	case MAPPED_SPACE:
		return report->snapshot->mappings_traced;
	case KERNEL_OBJECTS:
	case KERNEL_SPACE:
		return report->snapshot->kernel_traced;
	case PEAK_OBJECTS:
	case PEAK_SPACE:
		return report->data & REPORT_DATA_AT_PEAK;
	case ALLOC_OBJECTS:
	case ALLOC_SPACE:
		return report->data & REPORT_DATA_TRAFFIC;
	case INUSE_OBJECTS:
	case INUSE_SPACE:
		return !report->snapshot->event && !report->snapshot->heap_untraced;
	case EVENTS:
		return report->snapshot->event;
	default:
		return true;
	}
}

static int64_t clamp(uint64_t n)
{
	return n > INT64_MAX ? INT64_MAX : (int64_t)n;
}

static void flush(struct pprof_builder *b)
{
	gzip_write(&b->gzip, b->packed.data, b->packed.len);
	b->packed.len = 0;
}

/* Append `size` bytes to the packed data and return them; NULL if out of memory. */
static uint8_t *extend(struct pprof_builder *b, size_t size)
{
	if (b->packed.len >= FLUSH_BYTES)
		flush(b);
	if (!vec_reserve(&b->packed, b->packed.len + size)) {
		b->failed = true;
		return NULL;
	}
	b->packed.len += size;
	return b->packed.data + b->packed.len - size;
}

void pprof_write_part(struct pprof_builder *b, const Pprof__Profile *part)
{
	uint8_t *to = extend(b, pprof__profile__get_packed_size(part));

	if (to)
		pprof__profile__pack(part, to);
}

int64_t pprof_write_string(struct pprof_builder *b, const char *text)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *list[] = {(char *)text};

	part.n_string_table = 1;
	part.string_table = list;
	pprof_write_part(b, &part);
	return b->strings++;
}

int64_t pprof_write_text(struct pprof_builder *b, const char *text)
{
	_cleanup_(freep) char *escaped = text ? escape_dup(text) : NULL;

	if (text && !escaped)
		b->failed = true;
	return escaped && *escaped ? pprof_write_string(b, escaped) : 0;
}

/* --- head --------------------------------------------------------------------------- */

static void write_value_types(struct pprof_builder *b, Pprof__Profile *part)
{
	static const char *const types[VALUE_COUNT] = {
		[MAPPED_OBJECTS] = "mapped_objects",
		[MAPPED_SPACE] = "mapped_space",
		[KERNEL_OBJECTS] = "kernel_objects",
		[KERNEL_SPACE] = "kernel_space",
		[ALLOC_OBJECTS] = "alloc_objects",
		[ALLOC_SPACE] = "alloc_space",
		[PEAK_OBJECTS] = "peak_objects",
		[PEAK_SPACE] = "peak_space",
		[INUSE_OBJECTS] = "inuse_objects",
		[INUSE_SPACE] = "inuse_space",
		[EVENTS] = "events",
	};
	Pprof__ValueType values[VALUE_COUNT], period = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *list[VALUE_COUNT];
	int64_t count = pprof_write_string(b, "count");
	bool is_event = b->report->snapshot->event;
	enum value shown = is_event                             ? EVENTS
			   : b->report->snapshot->heap_untraced ? KERNEL_SPACE
								: INUSE_SPACE;

	b->bytes = pprof_write_string(b, "bytes");
	for (int i = 0; i < VALUE_COUNT; i++) {
		if (!has_value(b->report, (enum value)i))
			continue;
		pprof__value_type__init(&values[i]);
		values[i].type = pprof_write_string(b, types[i]);
		/* Types come in pairs of count and bytes, except the last. */
		values[i].unit = i % 2 ? b->bytes : count;
		list[part->n_sample_type++] = &values[i];
	}
	part->sample_type = list;
	part->default_sample_type = values[shown].type;
	period.type = is_event ? values[EVENTS].type : pprof_write_string(b, "space");
	period.unit = is_event ? count : b->bytes;
	part->period_type = &period;
	/* Numbers are already scaled, so each byte stands for itself. */
	part->period = 1;
	pprof_write_part(b, part);
}

static int64_t write_comment(struct pprof_builder *b)
{
	const struct snapshot *snap = b->report->snapshot;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_append(&text, "memtrace " MEMTRACE_VERSION ", ");
	if (snap->processes.len == 1) {
		class_append_target(&text, snap, escape_text);
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
	if (snap->inconsistent)
		strbuf_append(&text, "; not of one moment");
	if (text.failed)
		b->failed = true;
	return pprof_write_string(b, strbuf_text(&text));
}

/*
 * Functions that allocate for others, as an expression of RE2. pprof matches it with
 * whole names without parameters, and leaves out these frames and everything they call
 * (Profile.RemoveUninteresting() of github.com/google/pprof/profile). So the caller has
 * the bytes.
 */
static const char drop_frames[] =
	"operator new(\\[\\])?|"
	"std::allocator<.*|std::allocator_traits<.*|std::__new_allocator<.*|"
	"__gnu_cxx::new_allocator<.*|std::_Vector_base<.*::_M_allocate.*|"
	"__rust_alloc.*|__rdl_alloc.*|alloc::alloc::.*|<alloc::alloc::Global.*|"
	"alloc::raw_vec::.*";

static void write_head(struct pprof_builder *b)
{
	const struct report *report = b->report;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t comment;

	pprof_write_string(b, "");
	b->thread = pprof_write_string(b, "thread");
	comment = write_comment(b);
	part.n_comment = 1;
	part.comment = &comment;
	if (!report->snapshot->event)
		part.drop_frames = pprof_write_string(b, drop_frames);
	part.time_nanos = clamp(report->snapshot->wall_ns);
	part.duration_nanos = clamp(report->elapsed_ns);
	write_value_types(b, &part);
}

/* --- samples ------------------------------------------------------------------------ */

static void pack_sample(struct pprof_builder *b, const Pprof__Sample *sample)
{
	size_t size = pprof__sample__get_packed_size(sample), len = b->sample.len;

	if (!vec_reserve(&b->sample, len + size)) {
		b->failed = true;
		return;
	}
	pprof__sample__pack(sample, b->sample.data + len);
	b->sample.len += size;
}

/* The location that stands for a process, relative to the first location that is not a
 * frame. Processes with the same name share the location of the first of them. */
static size_t process_place(const struct pprof_builder *b, uint32_t process)
{
	return process < b->report->snapshot->processes.len
		       ? NOTE_COUNT + (size_t)b->firsts[process]
		       : NOTE_NO_PROCESS;
}

/* The location for the row's process or processes, after names_split(). */
static size_t row_place(const struct pprof_builder *b, const struct report_row *row)
{
	if (row->process)
		return process_place(b, (uint32_t)(row->process -
						   b->report->snapshot->processes.data));
	if (b->parts.len > 1)
		return NOTE_PROCESSES;
	return b->parts.len ? process_place(b, b->parts.data->process) : NOTE_NO_PROCESS;
}

/* Pack the location ids that all samples of a row in one process begin with. */
static void set_stack(struct pprof_builder *b, const struct report_row *row, size_t place)
{
	const struct snapshot *snap = b->report->snapshot;
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	enum name_note note;
	bool pushed = true;

	b->stack.len = 0;
	for (size_t i = 0; i < row->depth; i++) {
		if (pprof_is_location(b, row->frames[i]->index))
			pushed = pushed && vec_push(&b->stack, row->frames[i]->index + 1);
	}
	if (names_end(row, &note))
		pushed = pushed && vec_push(&b->stack, b->names.frame_count + 1 + note);
	if (snap->processes.len > 1)
		pushed = pushed && vec_push(&b->stack, b->names.frame_count + 1 + place);
	if (!pushed)
		b->failed = true;
	sample.n_location_id = b->stack.len;
	sample.location_id = b->stack.data;
	b->sample.len = 0;
	pack_sample(b, &sample);
	b->stack_bytes = b->sample.len;
}

/* The index of the string for a tid. */
static int64_t thread_string(struct pprof_builder *b, uint32_t tid)
{
	uint64_t index;
	char text[16];

	if (hashmap_get(&b->threads, tid, &index))
		return (int64_t)index;
	snprintf(text, sizeof(text), "%" PRIu32, tid);
	index = (uint64_t)pprof_write_string(b, text);
	if (!hashmap_put(&b->threads, tid, index))
		b->failed = true;
	return (int64_t)index;
}

/* Write a sample with the current stack. `unit` provides its labels; NULL: no labels. */
static void write_sample(struct pprof_builder *b, const int64_t values[VALUE_COUNT],
			 const struct pprof_unit *unit)
{
	Pprof__PackedSamples part = PPROF__PACKED_SAMPLES__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	Pprof__Label thread = PPROF__LABEL__INIT, bytes = PPROF__LABEL__INIT;
	Pprof__Label *labels[] = {&thread, &bytes};
	int64_t written[VALUE_COUNT];
	uint8_t *to;

	for (int i = 0; i < VALUE_COUNT; i++) {
		if (has_value(b->report, (enum value)i))
			written[sample.n_value++] = values[i];
	}
	sample.value = written;
	if (unit) {
		thread.key = b->thread;
		thread.str = thread_string(b, unit->tid);
		bytes.key = bytes.num_unit = b->bytes;
		bytes.num = clamp(unit->size_bytes);
		sample.n_label = 2;
		sample.label = labels;
	}
	b->sample.len = b->stack_bytes;
	pack_sample(b, &sample);
	if (b->failed)
		return;
	part.n_sample = 1;
	part.sample = &(ProtobufCBinaryData){b->sample.len, b->sample.data};
	to = extend(b, pprof__packed_samples__get_packed_size(&part));
	if (to)
		pprof__packed_samples__pack(&part, to);
}

static void set_held(int64_t values[VALUE_COUNT], const struct report_section *section,
		     uint64_t count, uint64_t bytes)
{
	static const enum value objects[BLOCK_CLASS_COUNT] = {
		[BLOCK_HEAP] = INUSE_OBJECTS,
		[BLOCK_MAPPING] = MAPPED_OBJECTS,
		[BLOCK_KERNEL] = KERNEL_OBJECTS,
	};

	if (section->class == BLOCK_EVENT) {
		values[EVENTS] = clamp(count);
		return;
	}
	values[objects[section->class]] = clamp(count);
	values[objects[section->class] + 1] = clamp(bytes);
}

static int compare_units(const void *pa, const void *pb)
{
	const struct pprof_unit *a = pa, *b = pb;

	if (a->place != b->place)
		return a->place < b->place ? -1 : 1;
	if (a->size_bytes != b->size_bytes)
		return a->size_bytes > b->size_bytes ? -1 : 1;
	return a->tid < b->tid ? -1 : a->tid > b->tid;
}

/* Write the blocks of a row, whose current stack has the process location `place`: one
 * sample for each thread, block size and process name. */
static void write_blocks(struct pprof_builder *b, const struct report_section *section,
			 const struct report_row *row, size_t place)
{
	bool in_many = b->parts.len > 1;
	size_t from = 0, is_set = place;

	b->units.len = 0;
	for (size_t i = 0; i < row->block_count; i++) {
		if (!vec_push(
			    &b->units,
			    (struct pprof_unit){
				    .size_bytes = row->blocks[i]->size_bytes,
				    .place = in_many ? process_place(
							       b, row->blocks[i]->process)
						     : place,
				    .tid = row->blocks[i]->tid})) {
			b->failed = true;
			return;
		}
	}
	if (b->units.len)
		qsort(b->units.data, b->units.len, sizeof(*b->units.data), compare_units);
	for (size_t i = 1; i <= b->units.len; i++) {
		const struct pprof_unit *unit = &b->units.data[from];
		int64_t values[VALUE_COUNT] = {0};

		if (i < b->units.len && !compare_units(unit, &b->units.data[i]))
			continue;

		double count = report_weight(b->report, section, unit->size_bytes) *
			       (double)(i - from);

		if (unit->place != is_set)
			set_stack(b, row, unit->place);
		is_set = unit->place;
		set_held(values, section, report_round(count),
			 report_round(count * (double)unit->size_bytes));
		write_sample(b, values, unit);
		from = i;
	}
}

/* The blocks of the row are not known, so write its sums: one sample for each process
 * name. */
static void write_parts(struct pprof_builder *b, const struct report_section *section,
			const struct report_row *row)
{
	vec_foreach (part, &b->parts) {
		int64_t values[VALUE_COUNT] = {0};

		set_stack(b, row, process_place(b, part->process));
		set_held(values, section, part->count, part->size_bytes);
		write_sample(b, values, NULL);
	}
}

/* Write the samples of a row. What a call path has allocated, or held at the peak, cannot
 * be assigned to threads and sizes, so it has a sample of its own if the blocks are
 * written separately. */
static void write_row(struct pprof_builder *b, const struct report_section *section,
		      const struct report_row *row)
{
	int64_t values[VALUE_COUNT] = {0};
	struct error *err = names_split(&b->names, row, &b->parts);
	size_t place = row_place(b, row);

	if (err) {
		error_destroy(err);
		b->failed = true;
		return;
	}
	set_stack(b, row, place);
	if (section->class == BLOCK_HEAP) {
		values[PEAK_OBJECTS] = clamp(row->at_peak_count);
		values[PEAK_SPACE] = clamp(row->at_peak_bytes);
		values[ALLOC_OBJECTS] = clamp(row->flow.allocations);
		values[ALLOC_SPACE] = clamp(row->flow.allocated_bytes);
	}
	if (!row->block_count && b->parts.len < 2)
		set_held(values, section, row->sum.estimated_count,
			 row->sum.estimated_bytes);
	/* A call path that holds nothing is written only if it has traffic. */
	for (int i = 0; i < VALUE_COUNT; i++) {
		if (values[i]) {
			write_sample(b, values, NULL);
			break;
		}
	}
	if (!row->block_count && b->parts.len > 1)
		write_parts(b, section, row);
	write_blocks(b, section, row, place);
}

static void write_profile(struct pprof_builder *b)
{
	const struct report *report = b->report;

	write_head(b);
	pprof_write_code(b);
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count && !b->failed; r++)
			write_row(b, section, &section->rows[r]);
	}
	flush(b);
	gzip_finish(&b->gzip);
}

/* For each process: the first process with the same name. */
static uint32_t *find_firsts(const struct names *names)
{
	size_t count = names->snapshot->processes.len;
	uint32_t *firsts = calloc(count + 1, sizeof(*firsts));
	uint32_t *by_name = malloc((names->list.len + 1) * sizeof(*by_name));

	for (size_t i = 0; by_name && i < names->list.len; i++)
		by_name[i] = UINT32_MAX;
	for (uint32_t i = 0; by_name && firsts && i < count; i++) {
		uint32_t name = names_process(names, &names->snapshot->processes.data[i]);

		if (by_name[name] == UINT32_MAX)
			by_name[name] = i;
		firsts[i] = by_name[name];
	}
	if (!by_name) {
		free(firsts);
		firsts = NULL;
	}
	free(by_name);
	return firsts;
}

static struct error *render_pprof(const struct report *report, FILE *out)
{
	struct pprof_builder b = {.report = report};
	struct error *err = names_init(&b.names, report);

	/* Seed 0 is enough: the kernel chooses the tids, so nothing can force
	 * collisions. */
	hashmap_init(&b.threads, 0);
	if (!err && !(b.firsts = find_firsts(&b.names)))
		err = error_no_memory();
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
	vec_deinit(&b.sample);
	vec_deinit(&b.units);
	vec_deinit(&b.parts);
	free(b.firsts);
	free(b.functions);
	return err;
}

const struct renderer pprof_renderer = {.name = "pprof", .render = render_pprof};
