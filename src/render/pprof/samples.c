// SPDX-License-Identifier: Apache-2.0
/* Writes the samples of a profile. */
#include <inttypes.h>

#include "render/pprof/parts.h"

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

static bool push_place(struct pprof_builder *b, size_t place)
{
	return vec_push(&b->stack, b->locations[place]);
}

/* Pack the location ids of `stack`, which samples begin with. */
static void pack_stack(struct pprof_builder *b)
{
	Pprof__Sample sample = PPROF__SAMPLE__INIT;

	sample.n_location_id = b->stack.len;
	sample.location_id = b->stack.data;
	b->sample.len = 0;
	pack_sample(b, &sample);
	b->stack_bytes = b->sample.len;
}

/* Pack the location ids that all samples of a row in one process begin with. */
static void set_stack(struct pprof_builder *b, const struct report_row *row, size_t place)
{
	const struct snapshot *snap = b->report->snapshot;
	enum name_note note;
	bool pushed = true;

	b->stack.len = 0;
	for (size_t i = 0; i < row->depth; i++) {
		if (pprof_is_location(b, row->frames[i]->index))
			pushed = pushed && push_place(b, row->frames[i]->index);
	}
	if (names_end(row, &note))
		pushed = pushed && push_place(b, b->names.frame_count + note);
	if (snap->processes.len > 1)
		pushed = pushed && push_place(b, b->names.frame_count + place);
	if (!pushed)
		b->failed = true;
	pack_stack(b);
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
static void write_sample(struct pprof_builder *b, const int64_t values[PPROF_VALUES],
			 const struct pprof_unit *unit)
{
	Pprof__PackedSamples part = PPROF__PACKED_SAMPLES__INIT;
	Pprof__Sample sample = PPROF__SAMPLE__INIT;
	Pprof__Label thread = PPROF__LABEL__INIT, bytes = PPROF__LABEL__INIT;
	Pprof__Label *labels[] = {&thread, &bytes};
	int64_t written[PPROF_VALUES];
	uint8_t *to;

	for (int i = 0; i < PPROF_VALUES; i++) {
		if (pprof_has_value(b, (enum pprof_value)i))
			written[sample.n_value++] = values[i];
	}
	sample.value = written;
	if (unit) {
		thread.key = b->thread;
		thread.str = thread_string(b, unit->tid);
		bytes.key = bytes.num_unit = b->bytes;
		bytes.num = pprof_clamp(unit->size_bytes);
		sample.n_label = 2;
		sample.label = labels;
	}
	b->sample.len = b->stack_bytes;
	pack_sample(b, &sample);
	if (b->failed)
		return;
	part.n_sample = 1;
	part.sample = &(ProtobufCBinaryData){b->sample.len, b->sample.data};
	to = pprof_extend(b, pprof__packed_samples__get_packed_size(&part));
	if (to)
		pprof__packed_samples__pack(&part, to);
}

static void set_held(int64_t values[PPROF_VALUES], const struct report_section *section,
		     int64_t count, int64_t bytes)
{
	values[pprof_weight(section->class)] = bytes;
	values[pprof_objects(section->class)] = count;
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
		int64_t values[PPROF_VALUES] = {0};

		if (i < b->units.len && !compare_units(unit, &b->units.data[i]))
			continue;

		double count = report_weight(b->report, section, unit->size_bytes) *
			       (double)(i - from);

		if (unit->place != is_set)
			set_stack(b, row, unit->place);
		is_set = unit->place;
		set_held(values, section, pprof_clamp(report_round(count)),
			 pprof_clamp(report_round(count * (double)unit->size_bytes)));
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
		int64_t values[PPROF_VALUES] = {0};

		set_stack(b, row, process_place(b, part->process));
		set_held(values, section, pprof_clamp(part->count),
			 pprof_clamp(part->size_bytes));
		write_sample(b, values, NULL);
	}
}

/* The changes of a row since the previous report. */
static void set_changes(const struct report_section *section,
			const struct report_row *row, int64_t values[PPROF_VALUES])
{
	values[ALLOC_OBJECTS] = pprof_clamp(row->since.allocations);
	values[ALLOC_SPACE] = pprof_clamp(row->since.allocated_bytes);
	set_held(values, section, row->estimated_growth_count,
		 row->estimated_growth_bytes);
}

/* The values of a row; what it holds only if `holds`. */
static void set_values(const struct pprof_builder *b,
		       const struct report_section *section, const struct report_row *row,
		       bool holds, int64_t values[PPROF_VALUES])
{
	if (b->options->changes) {
		set_changes(section, row, values);
		return;
	}
	values[PEAK_OBJECTS] = pprof_clamp(row->at_peak_count);
	values[PEAK_SPACE] = pprof_clamp(row->at_peak_bytes);
	values[LOST_OBJECTS] = pprof_clamp(report_row_lost(row).count);
	values[LOST_SPACE] = pprof_clamp(report_row_lost(row).bytes);
	values[ALLOC_OBJECTS] = pprof_clamp(row->flow.allocations);
	values[ALLOC_SPACE] = pprof_clamp(row->flow.allocated_bytes);
	if (holds)
		set_held(values, section, pprof_clamp(row->sum.estimated_count),
			 pprof_clamp(row->sum.estimated_bytes));
}

static bool is_any(const int64_t values[PPROF_VALUES])
{
	for (int i = 0; i < PPROF_VALUES; i++)
		if (values[i])
			return true;
	return false;
}

/* Write the samples of a row. What a call path has allocated, or held at the peak, cannot
 * be assigned to threads and sizes, so it has a sample of its own if the blocks are
 * written separately. */
void pprof_write_row(struct pprof_builder *b, const struct report_section *section,
		     const struct report_row *row)
{
	int64_t values[PPROF_VALUES] = {0};
	struct error *err = names_split(&b->names, row, &b->parts);
	size_t place = row_place(b, row);

	if (err) {
		error_destroy(err);
		b->failed = true;
		return;
	}
	set_stack(b, row, place);
	set_values(b, section, row, !row->block_count && b->parts.len < 2, values);
	/* A call path that holds nothing is written only if it has traffic. */
	if (is_any(values))
		write_sample(b, values, NULL);
	if (b->options->changes)
		return;
	if (!row->block_count && b->parts.len > 1)
		write_parts(b, section, row);
	write_blocks(b, section, row, place);
}

void pprof_write_other(struct pprof_builder *b, const struct report *whole)
{
	int64_t sums[PPROF_VALUES] = {0};

	for (size_t s = 0; s < whole->section_count; s++) {
		const struct report_section *section = &whole->sections[s];

		for (size_t r = b->report->sections[s].row_count; r < section->row_count;
		     r++) {
			int64_t values[PPROF_VALUES] = {0};

			set_values(b, section, &section->rows[r], true, values);
			for (int i = 0; i < PPROF_VALUES; i++)
				if (__builtin_add_overflow(sums[i], values[i], &sums[i]))
					sums[i] = INT64_MAX;
		}
	}
	b->stack.len = 0;
	if (!push_place(b, b->names.frame_count + NOTE_OTHER))
		b->failed = true;
	pack_stack(b);
	write_sample(b, sums, NULL);
}
