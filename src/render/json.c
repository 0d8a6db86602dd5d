// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <jansson.h>

#include "render/json_parts.h"
#include "render/json_traffic.h"
#include "render/json_values.h"
#include "util/cleanup.h"

/*
 * Objects are made by jansson and written at once, so that a report of 100,000 stacks
 * takes no more memory than its frames: an object that holds a long list is written
 * without its closing brace (JSON_EMBED leaves both away), then the list behind it.
 */
struct frame_text {
	char *text; /* NULL: not made yet */
	size_t len;
};

struct json_builder {
	const struct report *report;
	FILE *out;
	struct frame_text *frames; /* made once for each frame */
	bool failed;
};

static void set(struct json_builder *b, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		b->failed = true;
}

static void set_integer(struct json_builder *b, json_t *object, const char *key,
			uint64_t n)
{
	set(b, object, key, json_unsigned(n));
}

static void set_text(struct json_builder *b, json_t *object, const char *key,
		     const char *text)
{
	set(b, object, key, json_text(text));
}

static void set_address(struct json_builder *b, json_t *object, const char *key,
			uint64_t address)
{
	char text[32];

	snprintf(text, sizeof(text), "0x%" PRIx64, address);
	set(b, object, key, json_string(text));
}

/* Rounded; what is not a number or does not fit is bounded. */
static void set_rate(struct json_builder *b, json_t *object, const char *key, double rate)
{
	if (!(rate > 0))
		rate = 0;
	set_integer(b, object, key, rate < 9e18 ? (uint64_t)(rate + 0.5) : INT64_MAX);
}

static json_t *process_object(struct json_builder *b,
			      const struct snapshot_process *process)
{
	json_t *object = json_object();

	set(b, object, "pid", json_integer(process->pid));
	set(b, object, "namespace_pid", json_integer(process->namespace_pid));
	set_text(b, object, "command", process->command ? process->command : "");
	set_text(b, object, "executable", process->executable);
	set(b, object, "exited", json_boolean(process->exited));
	set_integer(b, object, "vm_size_bytes", process->memory.vm_size_bytes);
	set_integer(b, object, "vm_rss_bytes", process->memory.vm_rss_bytes);
	set_integer(b, object, "vm_data_bytes", process->memory.vm_data_bytes);
	set_integer(b, object, "vm_hwm_bytes", process->memory.vm_hwm_bytes);
	return object;
}

/* The one process that is traced; null when there may be several. */
static json_t *target_object(struct json_builder *b)
{
	const struct snapshot *snap = b->report->snapshot;

	if (snap->processes.len != 1 || snap->library)
		return json_null();
	return process_object(b, snap->processes.data);
}

static void append(struct json_builder *b, json_t *array, json_t *value)
{
	if (json_array_append_new(array, value))
		b->failed = true;
}

static json_t *targets_array(struct json_builder *b)
{
	json_t *array = json_array();

	vec_foreach (process, &b->report->snapshot->processes)
		append(b, array, process_object(b, process));
	return array;
}

static json_t *allocators_array(struct json_builder *b)
{
	json_t *array = json_array();

	vec_foreach (allocator, &b->report->snapshot->allocators) {
		json_t *object = json_object();

		set_text(b, object, "name", allocator->label);
		set_text(b, object, "module", allocator->module);
		append(b, array, object);
	}
	return array;
}

/* What each process holds of a section. */
static json_t *processes_array(struct json_builder *b,
			       const struct report_section *section)
{
	json_t *array = json_array();

	for (size_t i = 0; i < section->process_count; i++) {
		const struct report_process *p = &section->processes[i];
		json_t *object = json_object();

		set(b, object, "pid", json_integer(p->process->pid));
		set_integer(b, object, "live_bytes", p->live.size_bytes);
		set_integer(b, object, "live_blocks", p->live.count);
		set(b, object, "growth_bytes", json_integer(p->growth_bytes));
		append(b, array, object);
	}
	return array;
}

static json_t *filter_object(struct json_builder *b)
{
	const struct report_options *options = &b->report->options;
	const struct snapshot *snap = b->report->snapshot;
	json_t *filter = json_object();

	set_integer(b, filter, "older_ns",
		    options->combined_only ? 0 : options->older_ns);
	set_integer(b, filter, "min_size_bytes", snap->min_size_bytes);
	set(b, filter, "max_size_bytes",
	    snap->max_size_bytes == UINT64_MAX ? json_null()
					       : json_unsigned(snap->max_size_bytes));
	return filter;
}

static json_t *losses_object(struct json_builder *b)
{
	json_t *losses = json_object();

	for (size_t i = 0; i < LOSS_COUNT; i++)
		set_integer(b, losses, loss_name(i), b->report->snapshot->losses[i]);
	return losses;
}

static json_t *totals_object(struct json_builder *b, const struct snapshot_totals *totals)
{
	json_t *object = json_object();

	set_integer(b, object, "allocations", totals->allocations);
	set_integer(b, object, "allocated_bytes", totals->allocated_bytes);
	set_integer(b, object, "frees", totals->frees);
	set_integer(b, object, "freed_bytes", totals->freed_bytes);
	set_integer(b, object, "frees_unknown", totals->frees_unknown);
	set_integer(b, object, "failures", totals->failures);
	set_integer(b, object, "gone", totals->gone);
	set_integer(b, object, "gone_bytes", totals->gone_bytes);
	return object;
}

/* As traced, where that is sampled. */
static json_t *kernel_classes_array(struct json_builder *b)
{
	json_t *array = json_array();

	vec_foreach (kind, &b->report->snapshot->kernel_classes) {
		const struct snapshot_totals *t = &kind->totals;
		json_t *object = json_object();

		set_text(b, object, "name", kind->name);
		set_integer(b, object, "live_bytes",
			    report_subtract(t->allocated_bytes, t->freed_bytes));
		set_integer(b, object, "live_blocks",
			    report_subtract(t->allocations, t->frees));
		set(b, object, "totals", totals_object(b, t));
		append(b, array, object);
	}
	return array;
}

/* Of sampled blocks. */
static json_t *estimated_totals_object(struct json_builder *b,
				       const struct snapshot_totals *totals)
{
	json_t *object = json_object();

	set_integer(b, object, "allocations", totals->allocations);
	set_integer(b, object, "allocated_bytes", totals->allocated_bytes);
	set_integer(b, object, "frees", totals->frees);
	set_integer(b, object, "freed_bytes", totals->freed_bytes);
	return object;
}

/* Write `object` and release it; with `embed` without its braces. */
static void write_object(struct json_builder *b, json_t *object, size_t embed)
{
	if (!json_write_object(object, embed, b->out))
		b->failed = true;
}

static json_t *rates_object(struct json_builder *b, const struct report_section *section)
{
	json_t *rates = json_object();

	set_rate(b, rates, "allocations_per_s", section->rates.allocations);
	set_rate(b, rates, "allocated_bytes_per_s", section->rates.allocated_bytes);
	set_rate(b, rates, "frees_per_s", section->rates.frees);
	set_rate(b, rates, "freed_bytes_per_s", section->rates.freed_bytes);
	return rates;
}

static void write_frame(struct json_builder *b, const struct report_frame *frame)
{
	struct frame_text *made = &b->frames[frame->index];

	if (!made->text) {
		json_t *object = json_object();

		set_address(b, object, "address", frame->address);
		set_text(b, object, "symbol", frame->symbol);
		set(b, object, "offset",
		    frame->inlined ? json_null() : json_unsigned(frame->offset));
		set_text(b, object, "module", frame->module);
		set_text(b, object, "build_id", frame->build_id);
		set_text(b, object, "file", frame->file);
		set(b, object, "line",
		    frame->line ? json_unsigned(frame->line) : json_null());
		set(b, object, "column",
		    frame->column ? json_unsigned(frame->column) : json_null());
		set(b, object, "inlined", json_boolean(frame->inlined));
		made->text = object ? json_dumps(object, JSON_COMPACT) : NULL;
		made->len = made->text ? strlen(made->text) : 0;
		json_decref(object);
	}
	if (made->text)
		fwrite(made->text, 1, made->len, b->out);
	else
		b->failed = true;
}

static void write_block(struct json_builder *b, const struct snapshot_block *block)
{
	uint64_t age_ns = report_subtract(b->report->snapshot->time_ns, block->time_ns);

	/* There may be a million: too many for an object each. */
	fprintf(b->out,
		"{\"address\":\"0x%" PRIx64 "\",\"size_bytes\":%" JSON_INTEGER_FORMAT
		",\"age_ns\":%" JSON_INTEGER_FORMAT ",\"tid\":%" PRIu32 "}",
		block->address, json_clamp(block->size_bytes), json_clamp(age_ns),
		block->tid);
}

static bool has_traffic(const struct json_builder *b,
			const struct report_section *section)
{
	return section->class == BLOCK_HEAP && b->report->snapshot->has_traffic;
}

/* What stands before the lists of a row, and what stands behind them. */
static json_t *row_head(struct json_builder *b, const struct report_section *section,
			const struct report_row *row)
{
	json_t *object = json_object();

	set(b, object, "stack",
	    row->stack == SNAPSHOT_NO_STACK ? json_null() : json_unsigned(row->stack));
	set(b, object, "pid",
	    row->process ? json_integer(row->process->pid) : json_null());
	set_text(b, object, "allocator", row->allocator ? row->allocator->label : NULL);
	set_integer(b, object, "size_bytes", row->sum.size_bytes);
	set_integer(b, object, "blocks", row->sum.count);
	set(b, object, "growth_bytes", json_integer(row->growth_bytes));
	set(b, object, "growth_blocks", json_integer(row->growth_count));
	set_integer(b, object, "oldest_age_ns", row->oldest_age_ns);
	set_integer(b, object, "newest_age_ns", row->newest_age_ns);
	set_integer(b, object, "median_age_ns", row->median_age_ns);
	if (section->is_estimate) {
		set_integer(b, object, "estimated_size_bytes", row->sum.estimated_bytes);
		set_integer(b, object, "estimated_blocks", row->sum.estimated_count);
		set(b, object, "estimated_growth_bytes",
		    json_integer(row->estimated_growth_bytes));
		set(b, object, "estimated_growth_blocks",
		    json_integer(row->estimated_growth_count));
	}
	return object;
}

static json_t *row_rest(struct json_builder *b, const struct report_section *section,
			const struct report_row *row)
{
	json_t *object = json_object();

	if (row->traffic)
		set(b, object, "since_previous", json_flow(&row->since_traced));
	set_text(b, object, "end", stack_end_name(row->end));
	if (b->report->snapshot->has_trends)
		set(b, object, "trend",
		    json_trend(b->report->snapshot, section->class, row));
	if (has_traffic(b, section))
		set(b, object, "traffic", json_traffic(b->report->snapshot, row));
	return object;
}

static void write_frames(struct json_builder *b, const struct report_row *row)
{
	fputs(",\"frames\":[", b->out);
	for (size_t i = 0; i < row->depth; i++) {
		if (i)
			fputc(',', b->out);
		write_frame(b, row->frames[i]);
	}
	fputc(']', b->out);
}

static void write_suspects(struct json_builder *b, const struct report_section *section)
{
	fputs(",\"suspects\":[", b->out);
	for (size_t i = 0; i < section->suspect_count && !b->failed; i++) {
		fputs(i ? ",{" : "{", b->out);
		write_object(b, json_suspect(b->report, section, &section->suspects[i]),
			     JSON_EMBED);
		write_frames(b, section->suspects[i].row);
		fputc('}', b->out);
	}
	fputc(']', b->out);
}

static void write_row(struct json_builder *b, const struct report_section *section,
		      const struct report_row *row)
{
	fputc('{', b->out);
	write_object(b, row_head(b, section, row), JSON_EMBED);
	fputs(",\"sizes\":", b->out);
	json_write_row_sizes(row, b->out);
	fputs(",\"threads\":", b->out);
	json_write_shares(row, b->out);
	fputc(',', b->out);
	write_object(b, row_rest(b, section, row), JSON_EMBED);
	write_frames(b, row);
	if (b->report->options.show_blocks) {
		fputs(",\"allocations\":[", b->out);
		for (size_t i = 0; i < row->block_count; i++) {
			if (i)
				fputc(',', b->out);
			write_block(b, row->blocks[i]);
		}
		fputc(']', b->out);
	}
	fputc('}', b->out);
}

static json_t *event_processes_array(struct json_builder *b,
				     const struct report_section *section)
{
	uint64_t bytes = b->report->snapshot->event_bytes, bytes_each = bytes ? bytes : 1;
	json_t *array = json_array();

	for (size_t i = 0; i < section->process_count; i++) {
		const struct report_process *p = &section->processes[i];
		json_t *object = json_object();

		set(b, object, "pid", json_integer(p->process->pid));
		set_integer(b, object, "count", p->live.count);
		set(b, object, "growth",
		    json_integer(p->growth_bytes / (int64_t)bytes_each));
		append(b, array, object);
	}
	return array;
}

static void write_event_row(struct json_builder *b, const struct report_row *row)
{
	json_t *object = json_object();

	set(b, object, "stack",
	    row->stack == SNAPSHOT_NO_STACK ? json_null() : json_unsigned(row->stack));
	set(b, object, "pid",
	    row->process ? json_integer(row->process->pid) : json_null());
	set_integer(b, object, "count", row->sum.count);
	if (b->report->snapshot->event_bytes)
		set_integer(b, object, "size_bytes", row->sum.size_bytes);
	set(b, object, "growth", json_integer(row->growth_count));
	set_text(b, object, "end", stack_end_name(row->end));
	fputc('{', b->out);
	write_object(b, object, JSON_EMBED);
	write_frames(b, row);
	fputc('}', b->out);
}

static void write_events(struct json_builder *b, const struct report_section *section)
{
	const struct snapshot *snap = b->report->snapshot;
	json_t *object = json_object();

	set_text(b, object, "event", snap->event);
	set_integer(b, object, "period", snap->event_period);
	set_integer(b, object, "count", section->live.count);
	if (snap->event_bytes)
		set_integer(b, object, "size_bytes", section->live.size_bytes);
	set_integer(b, object, "gone", section->totals.gone);
	set_integer(b, object, "stack_count", section->stack_count);
	set_rate(b, object, "events_per_s", section->rates.allocations);
	set(b, object, "processes", event_processes_array(b, section));
	fputc('{', b->out);
	write_object(b, object, JSON_EMBED);
	fputs(",\"stacks\":[", b->out);
	for (size_t i = 0; i < section->row_count && !b->failed; i++) {
		if (i)
			fputc(',', b->out);
		write_event_row(b, &section->rows[i]);
	}
	fputs("]}", b->out);
}

static void write_section(struct json_builder *b, const struct report_section *section)
{
	json_t *object = json_object();

	set_integer(b, object, "live_bytes", section->live.size_bytes);
	set_integer(b, object, "live_blocks", section->live.count);
	set_integer(b, object, "listed_bytes", section->listed.size_bytes);
	set_integer(b, object, "listed_blocks", section->listed.count);
	if (section->is_estimate) {
		set_integer(b, object, "estimated_live_bytes",
			    section->live.estimated_bytes);
		set_integer(b, object, "estimated_live_blocks",
			    section->live.estimated_count);
		set(b, object, "estimated_totals",
		    estimated_totals_object(b, &section->estimated_totals));
	}
	set_integer(b, object, "stack_count", section->stack_count);
	set(b, object, "totals", totals_object(b, &section->totals));
	if (section->class == BLOCK_KERNEL)
		set(b, object, "classes", kernel_classes_array(b));
	set(b, object, "rates", rates_object(b, section));
	set(b, object, "processes", processes_array(b, section));
	set(b, object, "filtered", json_left_out(&section->filtered));
	set(b, object, "suppressed", json_left_out(&section->suppressed));
	set(b, object, "skipped", json_left_out(&section->skipped));
	set(b, object, "live_sizes", json_live_sizes(section));
	set(b, object, "largest", json_singles(b->report, section));
	if (has_traffic(b, section)) {
		set(b, object, "traffic", json_traffic_sum(b->report->snapshot));
		set(b, object, "peak", json_peak(b->report->snapshot));
		set(b, object, "sizes", json_sizes(b->report->snapshot));
		set(b, object, "threads", json_threads(b->report->snapshot));
	}
	fputc('{', b->out);
	write_object(b, object, JSON_EMBED);
	write_suspects(b, section);
	fputs(",\"stacks\":[", b->out);
	for (size_t i = 0; i < section->row_count && !b->failed; i++) {
		if (i)
			fputc(',', b->out);
		write_row(b, section, &section->rows[i]);
	}
	fputs("]}", b->out);
}

/* `,"key":` with the section of the class, or null when there is none. */
static void write_class(struct json_builder *b, enum block_class class, const char *key,
			void (*write)(struct json_builder *b,
				      const struct report_section *section))
{
	fprintf(b->out, ",\"%s\":", key);
	for (size_t i = 0; i < b->report->section_count; i++) {
		if (b->report->sections[i].class == class) {
			write(b, &b->report->sections[i]);
			return;
		}
	}
	fputs("null", b->out);
}

static void write_report(struct json_builder *b)
{
	const struct report *report = b->report;
	const struct snapshot *snap = report->snapshot;
	json_t *object = json_object();

	set(b, object, "schema", json_string("memtrace-report"));
	set(b, object, "version", json_integer(1));
	set_integer(b, object, "sequence", report->sequence);
	set(b, object, "cause", json_string(report_cause_name(report->cause)));
	set(b, object, "final", json_boolean(report_cause_is_final(report->cause)));
	set_integer(b, object, "time_unix_ns", snap->wall_ns);
	set_integer(b, object, "elapsed_ns", report->elapsed_ns);
	set_integer(b, object, "since_previous_ns", report->since_ns);
	set(b, object, "target", target_object(b));
	set(b, object, "targets", targets_array(b));
	set_text(b, object, "library", snap->library);
	set(b, object, "allocators", allocators_array(b));
	set_integer(b, object, "sample_every", snap->sample_every);
	set(b, object, "sample_bytes",
	    snap->sample_bytes ? json_unsigned(snap->sample_bytes) : json_null());
	set(b, object, "filter", filter_object(b));
	set(b, object, "complete", json_boolean(!snapshot_has_losses(snap)));
	set(b, object, "losses", losses_object(b));
	set(b, object, "sort", json_string(report_sort_name(report->sort)));
	set(b, object, "moments", json_moments(report));
	fputc('{', b->out);
	write_object(b, object, JSON_EMBED);
	write_class(b, BLOCK_HEAP, "heap", write_section);
	write_class(b, BLOCK_MAPPING, "mappings", write_section);
	if (snap->event)
		write_class(b, BLOCK_EVENT, "events", write_events);
	if (snap->kernel_traced)
		write_class(b, BLOCK_KERNEL, "kernel", write_section);
	fputs("}\n", b->out);
}

static struct error *render_json(const struct report *report, FILE *out)
{
	struct json_builder b = {.report = report, .out = out};

	/* One more, as calloc(0) may give NULL. */
	b.frames = calloc(report->frame_count + 1, sizeof(*b.frames));
	if (!b.frames)
		return error_no_memory();
	write_report(&b);
	for (size_t i = 0; i < report->frame_count; i++)
		free(b.frames[i].text);
	free(b.frames);
	/* A failed stream is for the caller to see. */
	return b.failed && !ferror(out) ? error_no_memory() : NULL;
}

const struct renderer json_renderer = {.name = "json", .render = render_json};
