// SPDX-License-Identifier: Apache-2.0
#include "render/formats.h"

#include "render/class_words.h"
#include "render/columns.h"
#include "render/json/fields.h"
#include "render/json/groups.h"
#include "render/json/parts.h"
#include "render/json/rows.h"
#include "render/json/traffic.h"
#include "render/json/unreachable.h"
#include "render/json/values.h"
#include "util/saturate.h"

/*
 * Values that occur a few times are created with jansson. Values that may occur 100,000
 * times are written directly, so that a report needs no more memory than its frames.
 */

/* Set a rounded rate. NaN and negative numbers become 0, large ones INT64_MAX. */
static void set_rate(struct json_fields *f, const char *key, double rate)
{
	if (!(rate > 0))
		rate = 0;
	fields_unsigned(f, key, rate < 9e18 ? (uint64_t)(rate + 0.5) : INT64_MAX);
}

static json_t *process_object(const struct snapshot_process *process)
{
	struct json_fields f = fields_begin();

	fields_set(&f, "pid", json_integer(process->pid));
	fields_set(&f, "namespace_pid", json_integer(process->namespace_pid));
	fields_text(&f, "command", process->command ? process->command : "");
	fields_text(&f, "executable", process->executable);
	fields_set(&f, "exited", json_boolean(process->exited));
	fields_unsigned(&f, "vm_size_bytes", process->memory.vm_size_bytes);
	fields_unsigned(&f, "vm_rss_bytes", process->memory.vm_rss_bytes);
	fields_unsigned(&f, "vm_data_bytes", process->memory.vm_data_bytes);
	fields_unsigned(&f, "vm_hwm_bytes", process->memory.vm_hwm_bytes);
	return fields_end(&f);
}

/* The only traced process; null if there may be several. */
static json_t *target_object(const struct snapshot *snap)
{
	if (snap->processes.len != 1 || snap->library)
		return json_null();
	return process_object(snap->processes.data);
}

static json_t *targets_array(const struct snapshot *snap)
{
	json_t *array = json_array();

	vec_foreach (process, &snap->processes)
		array = array_append(array, process_object(process));
	return array;
}

static json_t *allocators_array(const struct snapshot *snap)
{
	json_t *array = json_array();

	vec_foreach (allocator, &snap->allocators) {
		struct json_fields f = fields_begin();

		fields_text(&f, "name", allocator->label);
		fields_text(&f, "module", allocator->module);
		array = array_append(array, fields_end(&f));
	}
	return array;
}

/* What each process holds of a section. */
static json_t *processes_array(const struct report_section *section)
{
	json_t *array = json_array();

	for (size_t i = 0; i < section->process_count; i++) {
		const struct report_process *p = &section->processes[i];
		struct json_fields f = fields_begin();

		fields_set(&f, "pid", json_integer(p->process->pid));
		fields_unsigned(&f, "live_bytes", p->live.size_bytes);
		fields_unsigned(&f, "live_blocks", p->live.count);
		fields_set(&f, "growth_bytes", json_integer(p->growth_bytes));
		array = array_append(array, fields_end(&f));
	}
	return array;
}

static json_t *filter_object(const struct report *report)
{
	const struct report_options *options = &report->options;
	const struct snapshot *snap = report->snapshot;
	struct json_fields f = fields_begin();

	fields_unsigned(&f, "older_ns", options->combined_only ? 0 : options->older_ns);
	fields_unsigned(&f, "min_size_bytes", snap->min_size_bytes);
	fields_set(&f, "max_size_bytes",
		   snap->max_size_bytes == UINT64_MAX
			   ? json_null()
			   : json_unsigned(snap->max_size_bytes));
	return fields_end(&f);
}

static json_t *losses_object(const struct snapshot *snap)
{
	struct json_fields f = fields_begin();

	for (size_t i = 0; i < LOSS_COUNT; i++)
		fields_unsigned(&f, loss_name(i), snap->losses[i]);
	return fields_end(&f);
}

#define SET_TOTAL(name) fields_unsigned(&f, #name, totals->name);

static json_t *totals_object(const struct snapshot_totals *totals)
{
	struct json_fields f = fields_begin();

	FLOW_COLUMNS(SET_TOTAL);
	fields_unsigned(&f, "frees_unknown", totals->frees_unknown);
	fields_unsigned(&f, "failures", totals->failures);
	fields_unsigned(&f, "gone", totals->gone);
	fields_unsigned(&f, "gone_bytes", totals->gone_bytes);
	return fields_end(&f);
}

/* As traced: not scaled if blocks were sampled. */
static json_t *kernel_classes_array(const struct snapshot *snap)
{
	json_t *array = json_array();

	vec_foreach (kind, &snap->kernel_classes) {
		const struct snapshot_totals *t = &kind->totals;
		struct json_fields f = fields_begin();

		fields_text(&f, "name", kind->name);
		fields_unsigned(&f, "live_bytes",
				saturate_subtract(t->allocated_bytes, t->freed_bytes));
		fields_unsigned(&f, "live_blocks",
				saturate_subtract(t->allocations, t->frees));
		fields_set(&f, "totals", totals_object(t));
		array = array_append(array, fields_end(&f));
	}
	return array;
}

static json_t *in_flight_object(const struct report_section *section)
{
	struct json_fields f;

	if (!section->has_in_flight)
		return json_null();
	f = fields_begin();
	fields_set(&f, "bytes", json_integer(section->in_flight_bytes));
	fields_set(&f, "blocks", json_integer(section->in_flight_count));
	return fields_end(&f);
}

/* Totals that are scaled for sampled blocks. */
static json_t *estimated_totals_object(const struct snapshot_totals *totals)
{
	struct json_fields f = fields_begin();

	FLOW_COLUMNS(SET_TOTAL);
	return fields_end(&f);
}

#define SET_RATE(name) set_rate(&f, #name "_per_s", section->rates.name);

static json_t *rates_object(const struct report_section *section)
{
	struct json_fields f = fields_begin();

	FLOW_COLUMNS(SET_RATE);
	return fields_end(&f);
}

static json_t *event_processes_array(const struct report_section *section)
{
	json_t *array = json_array();

	for (size_t i = 0; i < section->process_count; i++) {
		const struct report_process *p = &section->processes[i];
		struct json_fields f = fields_begin();

		fields_set(&f, "pid", json_integer(p->process->pid));
		fields_unsigned(&f, "count", p->live.count);
		fields_set(&f, "growth", json_integer(p->growth_count));
		array = array_append(array, fields_end(&f));
	}
	return array;
}

static json_t *events_left_out(const struct report_left_out *left_out)
{
	struct json_fields f = fields_begin();

	fields_unsigned(&f, "count", left_out->sum.count);
	fields_unsigned(&f, "stacks", left_out->stack_count);
	return fields_end(&f);
}

static void write_events(struct json_page *page, const struct report_section *section)
{
	const struct snapshot *snap = page->report->snapshot;
	struct json_fields f = fields_begin();

	fields_text(&f, "event", snap->event);
	fields_unsigned(&f, "period", snap->event_period);
	fields_unsigned(&f, "count", section->live.count);
	if (snap->event_bytes)
		fields_unsigned(&f, "size_bytes", section->live.size_bytes);
	fields_unsigned(&f, "gone", section->totals.gone);
	fields_unsigned(&f, "stack_count", section->stack_count);
	set_rate(&f, "events_per_s", section->rates.allocations);
	fields_set(&f, "processes", event_processes_array(section));
	fields_set(&f, "filtered", events_left_out(&section->filtered));
	fields_set(&f, "suppressed", events_left_out(&section->suppressed));
	fields_set(&f, "skipped", events_left_out(&section->skipped));
	json_stream_members(&page->stream, fields_end(&f));
	json_write_event_rows(page, section);
}

static json_t *section_object(const struct snapshot *snap,
			      const struct report_section *section)
{
	struct json_fields f = fields_begin();

	fields_unsigned(&f, "live_bytes", section->live.size_bytes);
	fields_unsigned(&f, "live_blocks", section->live.count);
	fields_unsigned(&f, "listed_bytes", section->listed.size_bytes);
	fields_unsigned(&f, "listed_blocks", section->listed.count);
	if (section->is_estimate) {
		fields_unsigned(&f, "estimated_live_bytes",
				section->live.estimated_bytes);
		fields_unsigned(&f, "estimated_live_blocks",
				section->live.estimated_count);
		fields_set(&f, "estimated_totals",
			   estimated_totals_object(&section->estimated_totals));
	}
	fields_unsigned(&f, "stack_count", section->stack_count);
	fields_set(&f, "totals", totals_object(&section->totals));
	if (section->class == BLOCK_HEAP)
		fields_set(&f, "in_flight", in_flight_object(section));
	if (section->class == BLOCK_KERNEL)
		fields_set(&f, "classes", kernel_classes_array(snap));
	fields_set(&f, "rates", rates_object(section));
	fields_set(&f, "processes", processes_array(section));
	fields_set(&f, "filtered", json_left_out(&section->filtered));
	fields_set(&f, "suppressed", json_left_out(&section->suppressed));
	fields_set(&f, "skipped", json_left_out(&section->skipped));
	return fields_end(&f);
}

static void write_section(struct json_page *page, const struct report_section *section)
{
	json_stream_members(&page->stream,
			    section_object(page->report->snapshot, section));
	json_write_live_sizes(page, section);
	json_write_singles(page, section);
	if (report_section_has(page->report, section, REPORT_DATA_TRAFFIC))
		json_write_heap_traffic(&page->stream, page->report->snapshot);
	if (report_class_data(section->class) & REPORT_DATA_UNREACHABLE)
		json_write_search(&page->stream, page->report->snapshot);
	json_write_groups(page, section);
	json_write_suspects(page, section);
	json_write_rows(page, section);
}

static void write_class(struct json_page *page, enum block_class class)
{
	const struct class_words *words = class_words(class);

	for (size_t i = 0; i < page->report->section_count; i++) {
		const struct report_section *section = &page->report->sections[i];

		if (section->class != class)
			continue;
		json_stream_open(&page->stream, words->name, '{');
		(words->is_live ? write_section : write_events)(page, section);
		json_stream_close(&page->stream, '}');
		return;
	}
	if (words->is_in_json)
		json_stream_null(&page->stream, words->name);
}

static json_t *report_object(const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	struct json_fields f = fields_begin();

	fields_set(&f, "schema", json_string("memtrace-report"));
	fields_set(&f, "version", json_integer(1));
	fields_unsigned(&f, "sequence", report->sequence);
	fields_set(&f, "cause", json_string(report_cause_name(report->cause)));
	fields_set(&f, "final", json_boolean(report_cause_is_final(report->cause)));
	fields_unsigned(&f, "time_unix_ns", snap->wall_ns);
	fields_unsigned(&f, "elapsed_ns", report->elapsed_ns);
	fields_unsigned(&f, "since_previous_ns", report->since_ns);
	fields_set(&f, "target", target_object(snap));
	fields_set(&f, "targets", targets_array(snap));
	fields_text(&f, "library", snap->library);
	fields_set(&f, "allocators", allocators_array(snap));
	fields_sampling(&f, &snap->sampling);
	fields_set(&f, "filter", filter_object(report));
	fields_set(&f, "complete", json_boolean(!snapshot_has_losses(snap)));
	fields_set(&f, "losses", losses_object(snap));
	fields_set(&f, "consistent", json_boolean(!snap->inconsistent));
	fields_set(&f, "sort", json_string(report_sort_name(report->sort)));
	fields_set(&f, "moments", json_moments(report));
	return fields_end(&f);
}

static struct error *render_json(const struct report *report, FILE *out)
{
	struct json_page page = {.report = report, .stream = json_stream_begin(out)};
	struct json_stream *s = &page.stream;

	if (!frame_texts_init(&page.frames, report->frame_count))
		return error_no_memory();
	json_stream_open(s, NULL, '{');
	json_stream_members(s, report_object(report));
	for (int i = 0; i < BLOCK_CLASS_COUNT; i++)
		write_class(&page, (enum block_class)i);
	json_stream_close(s, '}');
	frame_texts_deinit(&page.frames);
	return json_stream_end(s);
}

const struct renderer json_renderer = {.name = "json", .render = render_json};
