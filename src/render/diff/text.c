// SPDX-License-Identifier: Apache-2.0
#include <inttypes.h>
#include <math.h>

#include "render/diff_formats.h"
#include "render/class_words.h"
#include "render/names.h"
#include "render/text/page.h"
#include "render/text/rows.h"
#include "render/text_words.h"
#include "render/text/wrap.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/units.h"

/* At most so many lines say which files were matched. */
#define MODULES_MOST 10

struct builder {
	const struct report_diff *diff;
	struct names names;
	struct strbuf text;
};

/* Example: "process 7 (x), 2026-01-02 03:04:05 +0000, traced 10.0 s". */
static void append_side(struct strbuf *text, const char *label,
			const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	const struct snapshot_process *first = snapshot_process(snap, 0);

	strbuf_appendf(text, "  %-12s", label);
	if (snap->processes.len == 1) {
		strbuf_appendf(text, "process %d (", first->pid);
		escape_text(text, first->command ? first->command : "unknown");
		strbuf_append(text, ")");
	} else {
		strbuf_appendf(text, "%zu processes", snap->processes.len);
	}
	strbuf_appendf(text, ", %s, traced %s",
		       units_format_time(snap->wall_ns, UNITS_DATE).s,
		       units_format_duration(report->elapsed_ns).s);
	if (sampling_is_on(&snap->sampling))
		strbuf_append(text, ", sampled: its numbers are estimates");
	if (snapshot_has_losses(snap))
		strbuf_append(text, ", not everything was recorded");
	strbuf_append_char(text, '\n');
}

/* "  matched     libfoo.so.1.2 with libfoo.so.1.3 (another version)". */
static void append_modules(struct strbuf *text, const struct report_diff *diff)
{
	const char *label = "matched";

	for (size_t i = 0; i < diff->modules.list.len && i < MODULES_MOST; i++) {
		const struct matched_module *module = &diff->modules.list.data[i];
		bool by_path = module->by == MATCH_PATH;

		strbuf_appendf(text, "  %-12s", label);
		escape_text(text, by_path ? module->old : path_base_name(module->old));
		strbuf_append(text, " of the old with ");
		escape_text(text, by_path ? module->new : path_base_name(module->new));
		strbuf_appendf(text, " (%s)\n", diff_modules_words(module->by));
		label = "";
	}
	if (diff->modules.list.len > MODULES_MOST)
		strbuf_appendf(text, "  %-12s%zu more files\n", "",
			       diff->modules.list.len - MODULES_MOST);
}

static void append_rates(struct strbuf *text, const struct report_diff *diff)
{
	switch (report_diff_rates(diff)) {
	case DIFF_RATE_NONE:
		break;
	case DIFF_RATE_BETWEEN:
		strbuf_appendf(text, "  %-12sdifferences by the time between, %s\n",
			       "per minute",
			       units_format_duration(diff->new->elapsed_ns -
						     diff->old->elapsed_ns)
				       .s);
		break;
	case DIFF_RATE_EACH:
		strbuf_appendf(text, "  %-12slive bytes of each side by its own length\n",
			       "per minute");
		break;
	}
}

/* "; 12.0 KiB per minute, now 3.0 KiB". */
static void append_row_rates(struct strbuf *text, const struct report_diff *diff,
			     const struct report_diff_row *row)
{
	double rate;

	switch (report_diff_rates(diff)) {
	case DIFF_RATE_NONE:
		break;
	case DIFF_RATE_BETWEEN:
		rate = report_diff_rate(diff, row->bytes);
		strbuf_appendf(text, "; %c%s per minute", rate < 0 ? '-' : '+',
			       units_format_bytes(report_round(fabs(rate))).s);
		break;
	case DIFF_RATE_EACH:
		rate = report_diff_old_rate(diff, row->old_bytes);
		strbuf_appendf(text, "; %s per minute",
			       units_format_bytes(report_round(rate)).s);
		rate = report_diff_new_rate(diff, row->new_bytes);
		strbuf_appendf(text, ", now %s",
			       units_format_bytes(report_round(rate)).s);
		break;
	}
}

static void append_sums(struct strbuf *text, const struct report_diff_section *section)
{
	const struct report_sum *old = &section->old, *new = &section->new;
	int64_t count = report_difference(new->estimated_count, old->estimated_count);

	strbuf_appendf(text, "  %-12s%s in %" PRIu64 " %s, ",
		       class_words(section->class)->name,
		       units_format_bytes(old->estimated_bytes).s, old->estimated_count,
		       class_words(section->class)->blocks);
	strbuf_appendf(text, "now %s in %" PRIu64 " (%s, %+" PRId64 ")\n",
		       units_format_bytes(new->estimated_bytes).s, new->estimated_count,
		       text_format_growth(report_difference(new->estimated_bytes,
							    old->estimated_bytes))
			       .s,
		       count);
}

static struct units_text lost_bytes(const struct report *report)
{
	return units_format_bytes(
		snapshot_unreachable_lost(&report->snapshot->search.total).bytes);
}

/* "  lost        288 B, now 1.0 KiB", of the sides that were searched. */
static void append_lost(struct strbuf *text, const struct report_diff *diff)
{
	bool old = report_diff_knows_lost(diff->old);
	bool new = report_diff_knows_lost(diff->new);

	if (!old && !new)
		return;
	strbuf_appendf(text, "  %-12s%s", "lost",
		       old ? lost_bytes(diff->old).s : "no search in the old");
	strbuf_appendf(text, ", %s%s", new ? "now " : "no search in the new",
		       new ? lost_bytes(diff->new).s : "");
	strbuf_append(text, ": nothing points to these blocks, or only they do\n");
}

/* "; 288 B lost, now 1.0 KiB"; of a side that was not searched nothing is known. */
static void append_row_lost(struct strbuf *text, const struct report_diff *diff,
			    const struct report_diff_row *row)
{
	if (!row->old_lost_bytes && !row->new_lost_bytes)
		return;
	if (!report_diff_knows_lost(diff->old)) {
		strbuf_appendf(text, "; now %s lost",
			       units_format_bytes(row->new_lost_bytes).s);
		return;
	}
	strbuf_appendf(text, "; %s lost", units_format_bytes(row->old_lost_bytes).s);
	if (report_diff_knows_lost(diff->new))
		strbuf_appendf(text, ", now %s",
			       units_format_bytes(row->new_lost_bytes).s);
	else
		strbuf_append(text, ", no search now");
}

/* "  left out    1.0 KiB of the old in 2 stacks, 0 B of the new in 0, by --filter" */
static void append_left_out(struct strbuf *text, const struct report_left_out *old,
			    const struct report_left_out *new, const char *label,
			    const char *how)
{
	if (!old->stack_count && !new->stack_count)
		return;
	strbuf_appendf(text, "  %-12s%s of the old in %" PRIu64 " %s, ", label,
		       units_format_bytes(old->sum.estimated_bytes).s, old->stack_count,
		       text_plural(old->stack_count, "stack", "stacks"));
	strbuf_appendf(text, "%s of the new in %" PRIu64 ", by %s\n",
		       units_format_bytes(new->sum.estimated_bytes).s, new->stack_count,
		       how);
}

static void append_section_head(struct strbuf *text, const struct report_diff *diff,
				const struct report_diff_section *section)
{
	const struct report_section *old = section->of_old, *new = section->of_new;

	append_sums(text, section);
	if (diff->options.older_ns)
		strbuf_appendf(text, "  %-12sonly %s older than %s\n", "",
			       class_words(section->class)->blocks,
			       units_format_duration(diff->options.older_ns).s);
	append_left_out(text, &old->filtered, &new->filtered, "left out",
			"--filter and --exclude");
	append_left_out(text, &old->suppressed, &new->suppressed, "suppressed",
			"--suppressions");
}

static void append_frame(struct builder *b, const struct report_frame *frame)
{
	const struct name *name = &b->names.list.data[names_frame(&b->names, frame)];
	struct strbuf *text = &b->text;

	strbuf_append(text, "\t\t");
	text_append_style(text, b->diff->options.color && name->is_symbol, TEXT_FUNCTION);
	if (name->is_symbol)
		text_append_name(text, frame->symbol, &b->diff->options);
	else
		strbuf_append(text, name->text);
	text_append_style(text, b->diff->options.color && name->is_symbol, TEXT_PLAIN);
	if (name->is_symbol && *name->module)
		strbuf_appendf(text, "%s [%s]", frame->inlined ? " [inlined]" : "",
			       name->module);
	if (frame->file && *frame->file) {
		strbuf_append(text, " at ");
		escape_text(text, text_has_short_paths(&b->diff->options)
					  ? path_base_name(frame->file)
					  : frame->file);
		if (frame->line)
			strbuf_appendf(text, ":%u", frame->line);
	}
	strbuf_append_char(text, '\n');
}

static void append_row(struct builder *b, const struct report_diff_section *section,
		       const struct report_diff_row *row)
{
	bool color = b->diff->options.color;
	enum name_note note;

	strbuf_append_char(&b->text, '\t');
	/* Highlight growth. */
	text_append_style(&b->text, color, row->bytes > 0 ? TEXT_WARNING : TEXT_NUMBER);
	strbuf_appendf(&b->text, "%+" PRId64 " bytes", row->bytes);
	text_append_style(&b->text, color, TEXT_PLAIN);
	strbuf_appendf(&b->text, " in %+" PRId64 " %s from stack", row->count,
		       class_words(section->class)->allocations);
	strbuf_appendf(&b->text, "  (%" PRIu64 " in %" PRIu64, row->old_bytes,
		       row->old_count);
	strbuf_appendf(&b->text, ", now %" PRIu64 " in %" PRIu64, row->new_bytes,
		       row->new_count);
	if (row->command) {
		strbuf_append(&b->text, ", by ");
		escape_text(&b->text, row->command);
	}
	append_row_rates(&b->text, b->diff, row);
	append_row_lost(&b->text, b->diff, row);
	strbuf_append(&b->text, ")\n");
	for (size_t i = 0; i < row->row.depth; i++) {
		if (report_row_shows(&row->row, i))
			append_frame(b, row->row.frames[i]);
	}
	if (names_end(&row->row, &note))
		strbuf_appendf(&b->text, "\t\t%s\n",
			       b->names.list.data[names_note(&b->names, note)].text);
}

static void append_section(struct builder *b, const struct report_diff_section *section)
{
	size_t more = section->changed - section->row_count;

	strbuf_appendf(&b->text, "\nTop %zu %s by difference:\n", section->row_count,
		       class_words(section->class)->stacks);
	for (size_t i = 0; i < section->row_count; i++)
		append_row(b, section, &section->rows[i]);
	if (!section->changed)
		strbuf_append(&b->text, "\tnone\n");
	if (more)
		strbuf_appendf(&b->text, "\t... %zu more %s (--top 0 lists all)\n", more,
			       text_plural(more, "stack", "stacks"));
	if (section->skipped)
		strbuf_appendf(&b->text,
			       "\t%zu %s left out, by --skip-size and --skip-count\n",
			       section->skipped,
			       text_plural(section->skipped, "stack", "stacks"));
	if (section->unchanged)
		strbuf_appendf(&b->text, "\t%zu %s did not change\n", section->unchanged,
			       text_plural(section->unchanged, "stack", "stacks"));
}

static struct error *render(const struct report_diff *diff, FILE *out)
{
	struct builder b = {.diff = diff};
	struct error *err = names_init(&b.names, &diff->graph);

	if (!err) {
		strbuf_append(&b.text, "memtrace difference of two snapshots\n");
		append_side(&b.text, "old", diff->old);
		append_side(&b.text, "new", diff->new);
		append_rates(&b.text, diff);
		append_modules(&b.text, diff);
		for (size_t i = 0; i < diff->section_count; i++)
			append_section_head(&b.text, diff, &diff->sections[i]);
		append_lost(&b.text, diff);
		for (size_t i = 0; i < diff->section_count; i++)
			append_section(&b, &diff->sections[i]);
		strbuf_append_char(&b.text, '\n');
		if (!text_write(&diff->options, &b.text, out))
			err = error_no_memory();
	}
	names_deinit(&b.names);
	strbuf_deinit(&b.text);
	return err;
}

const struct diff_renderer diff_text = {.name = "text", .render = render};
