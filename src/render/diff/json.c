// SPDX-License-Identifier: Apache-2.0
#include "render/diff_formats.h"
#include "render/class_words.h"
#include "render/frame_texts.h"
#include "render/json/fields.h"
#include "render/json/stream.h"
#include "render/json/values.h"

struct page {
	const struct report_diff *diff;
	struct json_stream stream;
	struct frame_texts frames; /* the JSON object of each frame */
};

static json_t *targets_array(const struct snapshot *snap)
{
	json_t *array = json_array();

	vec_foreach (process, &snap->processes) {
		struct json_fields f = fields_begin();

		fields_set(&f, "pid", json_integer(process->pid));
		fields_text(&f, "command", process->command ? process->command : "");
		array = array_append(array, fields_end(&f));
	}
	return array;
}

static json_t *side_object(const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	struct json_fields f = fields_begin();

	fields_unsigned(&f, "time_unix_ns", snap->wall_ns);
	fields_unsigned(&f, "elapsed_ns", report->elapsed_ns);
	fields_sampling(&f, &snap->sampling);
	fields_set(&f, "complete", json_boolean(!snapshot_has_losses(snap)));
	fields_set(&f, "targets", targets_array(snap));
	return fields_end(&f);
}

static void make_frame(const void *arg, const struct report_frame *frame,
		       struct strbuf *text)
{
	struct json_stream made = {.text = *text};
	struct json_fields f = fields_begin();

	(void)arg;
	fields_text(&f, "symbol", frame->symbol);
	fields_text(&f, "module", frame->module);
	fields_set(&f, "offset",
		   frame->symbol ? json_null() : json_unsigned(frame->offset));
	fields_text(&f, "file", frame->file);
	fields_set(&f, "line", frame->line ? json_integer(frame->line) : json_null());
	fields_set(&f, "inlined", json_boolean(frame->inlined));
	json_stream_value(&made, NULL, fields_end(&f));
	*text = made.text;
}

/* null: the side was not searched. */
static void write_lost(struct json_stream *s, const char *key,
		       const struct report *report, uint64_t bytes)
{
	if (report_diff_knows_lost(report))
		json_stream_unsigned(s, key, bytes);
	else
		json_stream_null(s, key);
}

static void write_row(struct page *page, const struct report_diff_row *row)
{
	struct json_stream *s = &page->stream;
	bool has_stack = row->row.stack != SNAPSHOT_NO_STACK;

	json_stream_open(s, NULL, '{');
	json_stream_text(s, "command", row->command);
	json_stream_integer(s, "difference_bytes", row->bytes);
	json_stream_integer(s, "difference_blocks", row->count);
	json_stream_unsigned(s, "old_bytes", row->old_bytes);
	json_stream_unsigned(s, "old_blocks", row->old_count);
	json_stream_unsigned(s, "new_bytes", row->new_bytes);
	json_stream_unsigned(s, "new_blocks", row->new_count);
	write_lost(s, "old_lost_bytes", page->diff->old, row->old_lost_bytes);
	write_lost(s, "new_lost_bytes", page->diff->new, row->new_lost_bytes);
	json_stream_text(s, "end", has_stack ? stack_end_name(row->row.end) : NULL);
	json_stream_open(s, "frames", '[');
	for (size_t i = 0; i < row->row.depth; i++) {
		json_stream_key(s, NULL);
		frame_texts_append(&page->frames, row->row.frames[i], make_frame, NULL,
				   &s->text);
	}
	json_stream_close(s, ']');
	json_stream_close(s, '}');
	json_stream_flush_some(s);
}

static json_t *section_object(const struct report_diff_section *section)
{
	const struct report_sum *old = &section->old, *new = &section->new;
	struct json_fields f = fields_begin();

	fields_set(&f, "difference_bytes",
		   json_integer(report_difference(new->estimated_bytes,
						  old->estimated_bytes)));
	fields_set(&f, "difference_blocks",
		   json_integer(report_difference(new->estimated_count,
						  old->estimated_count)));
	fields_unsigned(&f, "old_bytes", old->estimated_bytes);
	fields_unsigned(&f, "old_blocks", old->estimated_count);
	fields_unsigned(&f, "new_bytes", new->estimated_bytes);
	fields_unsigned(&f, "new_blocks", new->estimated_count);
	fields_unsigned(&f, "changed", section->changed);
	fields_unsigned(&f, "unchanged", section->unchanged);
	fields_unsigned(&f, "skipped", section->skipped);
	return fields_end(&f);
}

static void write_section(struct page *page, const char *key,
			  const struct report_diff_section *section)
{
	struct json_stream *s = &page->stream;

	json_stream_open(s, key, '{');
	json_stream_members(s, section_object(section));
	json_stream_open(s, "stacks", '[');
	for (size_t i = 0; i < section->row_count && !s->text.failed; i++)
		write_row(page, &section->rows[i]);
	json_stream_close(s, ']');
	json_stream_close(s, '}');
}

static void write_class(struct page *page, const struct report_diff *diff,
			enum block_class class)
{
	const struct class_words *words = class_words(class);

	for (size_t i = 0; i < diff->section_count; i++) {
		if (diff->sections[i].class == class) {
			write_section(page, words->name, &diff->sections[i]);
			return;
		}
	}
	if (words->is_in_json)
		json_stream_null(&page->stream, words->name);
}

static json_t *modules_array(const struct report_diff *diff)
{
	static const char *const names[MATCH_KINDS] = {
		[MATCH_PATH] = "name",
		[MATCH_BUILD_ID] = "build_id",
		[MATCH_VERSION] = "version",
		[MATCH_FUNCTIONS] = "functions",
	};
	json_t *array = json_array();

	vec_foreach (module, &diff->modules.list) {
		struct json_fields f = fields_begin();

		fields_text(&f, "old", module->old);
		fields_text(&f, "new", module->new);
		fields_set(&f, "by", json_string(names[module->by]));
		array = array_append(array, fields_end(&f));
	}
	return array;
}

static json_t *diff_object(const struct report_diff *diff)
{
	struct json_fields f = fields_begin();

	fields_set(&f, "schema", json_string("memtrace-diff"));
	fields_set(&f, "version", json_integer(1));
	fields_unsigned(&f, "older_ns", diff->options.older_ns);
	fields_set(&f, "old", side_object(diff->old));
	fields_set(&f, "new", side_object(diff->new));
	fields_set(&f, "is_one_run", json_boolean(diff->is_one_run));
	fields_set(&f, "matched_modules", modules_array(diff));
	return fields_end(&f);
}

static struct error *render(const struct report_diff *diff, FILE *out)
{
	struct page page = {.diff = diff, .stream = json_stream_begin(out)};
	struct json_stream *s = &page.stream;

	if (!frame_texts_init(&page.frames, diff->graph.frame_count))
		return error_no_memory();
	json_stream_open(s, NULL, '{');
	json_stream_members(s, diff_object(diff));
	for (int i = 0; i < BLOCK_CLASS_COUNT; i++)
		write_class(&page, diff, (enum block_class)i);
	json_stream_close(s, '}');
	frame_texts_deinit(&page.frames);
	return json_stream_end(s);
}

const struct diff_renderer diff_json = {.name = "json", .render = render};
