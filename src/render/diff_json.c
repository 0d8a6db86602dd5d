// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include <jansson.h>

#include "render/diff_formats.h"
#include "render/json_values.h"

/* As in json.c objects are written at once. */
struct builder {
	const struct report_diff *diff;
	FILE *out;
	char **frames; /* the text of each frame, made once */
	bool failed;
};

static void set(struct builder *b, json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value))
		b->failed = true;
}

static void set_integer(struct builder *b, json_t *object, const char *key, uint64_t n)
{
	set(b, object, key, json_unsigned(n));
}

static void set_text(struct builder *b, json_t *object, const char *key, const char *text)
{
	set(b, object, key, json_text(text));
}

static void write_object(struct builder *b, json_t *object, size_t embed)
{
	if (!json_write_object(object, embed, b->out))
		b->failed = true;
}

static json_t *side_object(struct builder *b, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	json_t *object = json_object(), *targets = json_array();

	set_integer(b, object, "time_unix_ns", snap->wall_ns);
	set_integer(b, object, "elapsed_ns", report->elapsed_ns);
	set_integer(b, object, "sample_every", snap->sample_every);
	set(b, object, "sample_bytes",
	    snap->sample_bytes ? json_integer((json_int_t)snap->sample_bytes)
			       : json_null());
	set(b, object, "complete", json_boolean(!snapshot_has_losses(snap)));
	vec_foreach (process, &snap->processes) {
		json_t *target = json_object();

		set(b, target, "pid", json_integer(process->pid));
		set_text(b, target, "command", process->command ? process->command : "");
		if (json_array_append_new(targets, target))
			b->failed = true;
	}
	set(b, object, "targets", targets);
	return object;
}

static void write_frame(struct builder *b, const struct report_frame *frame)
{
	char **text = &b->frames[frame->index];

	if (!*text) {
		json_t *object = json_object();

		set_text(b, object, "symbol", frame->symbol);
		set_text(b, object, "module", frame->module);
		if (frame->symbol)
			set(b, object, "offset", json_null());
		else
			set_integer(b, object, "offset", frame->offset);
		set_text(b, object, "file", frame->file);
		set(b, object, "line",
		    frame->line ? json_integer(frame->line) : json_null());
		set(b, object, "inlined", json_boolean(frame->inlined));
		*text = object ? json_dumps(object, JSON_COMPACT) : NULL;
		json_decref(object);
	}
	if (*text)
		fputs(*text, b->out);
	else
		b->failed = true;
}

static void write_row(struct builder *b, const struct report_diff_row *row)
{
	json_t *object = json_object();

	set_text(b, object, "command", row->command);
	set(b, object, "difference_bytes", json_integer(row->bytes));
	set(b, object, "difference_blocks", json_integer(row->count));
	set_integer(b, object, "old_bytes", row->old_bytes);
	set_integer(b, object, "old_blocks", row->old_count);
	set_integer(b, object, "new_bytes", row->new_bytes);
	set_integer(b, object, "new_blocks", row->new_count);
	set_text(b, object, "end",
		 row->row.stack == SNAPSHOT_NO_STACK ? NULL
						     : stack_end_name(row->row.end));
	fputc('{', b->out);
	write_object(b, object, JSON_EMBED);
	fputs(",\"frames\":[", b->out);
	for (size_t i = 0; i < row->row.depth; i++) {
		if (i)
			fputc(',', b->out);
		write_frame(b, row->row.frames[i]);
	}
	fputs("]}", b->out);
}

static void write_section(struct builder *b, const struct report_diff_section *section)
{
	const struct report_sum *old = &section->old, *new = &section->new;
	json_t *object = json_object();

	set(b, object, "difference_bytes",
	    json_integer(report_difference(new->estimated_bytes, old->estimated_bytes)));
	set(b, object, "difference_blocks",
	    json_integer(report_difference(new->estimated_count, old->estimated_count)));
	set_integer(b, object, "old_bytes", old->estimated_bytes);
	set_integer(b, object, "old_blocks", old->estimated_count);
	set_integer(b, object, "new_bytes", new->estimated_bytes);
	set_integer(b, object, "new_blocks", new->estimated_count);
	set_integer(b, object, "changed", section->changed);
	set_integer(b, object, "unchanged", section->unchanged);
	set_integer(b, object, "skipped", section->skipped);
	fputc('{', b->out);
	write_object(b, object, JSON_EMBED);
	fputs(",\"stacks\":[", b->out);
	for (size_t i = 0; i < section->row_count && !b->failed; i++) {
		if (i)
			fputc(',', b->out);
		write_row(b, &section->rows[i]);
	}
	fputs("]}", b->out);
}

/* `,"key":` with the section of the class, or null when there is none. */
static void write_class(struct builder *b, enum block_class class, const char *key)
{
	fprintf(b->out, ",\"%s\":", key);
	for (size_t i = 0; i < b->diff->section_count; i++) {
		if (b->diff->sections[i].class == class) {
			write_section(b, &b->diff->sections[i]);
			return;
		}
	}
	fputs("null", b->out);
}

static void write_diff(struct builder *b)
{
	const struct report_diff *diff = b->diff;
	json_t *object = json_object();

	set(b, object, "schema", json_string("memtrace-diff"));
	set(b, object, "version", json_integer(1));
	set_integer(b, object, "older_ns", diff->options.older_ns);
	set(b, object, "old", side_object(b, diff->old));
	set(b, object, "new", side_object(b, diff->new));
	fputc('{', b->out);
	write_object(b, object, JSON_EMBED);
	write_class(b, BLOCK_HEAP, "heap");
	write_class(b, BLOCK_MAPPING, "mappings");
	if (diff->new->snapshot->kernel_traced || diff->old->snapshot->kernel_traced)
		write_class(b, BLOCK_KERNEL, "kernel");
	fputs("}\n", b->out);
}

static struct error *render(const struct report_diff *diff, FILE *out)
{
	struct builder b = {.diff = diff, .out = out};

	/* One more, as calloc(0) may give NULL. */
	b.frames = calloc(diff->graph.frame_count + 1, sizeof(*b.frames));
	if (!b.frames)
		return error_no_memory();
	write_diff(&b);
	for (size_t i = 0; i < diff->graph.frame_count; i++)
		free(b.frames[i]);
	free(b.frames);
	/* A failed stream is for the caller to see. */
	return b.failed && !ferror(out) ? error_no_memory() : NULL;
}

const struct diff_renderer diff_json = {.name = "json", .render = render};
