// SPDX-License-Identifier: Apache-2.0
/* The lines at the top of the screen. */
#include "screen/compose.h"

#include <inttypes.h>
#include <string.h>

#include "render/class_words.h"
#include "render/text/brief_verdict.h"
#include "render/text_words.h"
#include "screen/views.h"
#include "util/escape.h"
#include "util/path.h"
#include "util/units.h"

#define SPARK_MIN 8
#define SPARK_MAX 40
#define VALUES    SPARK_MAX

/* The process, or how many there are. */
static void append_target(struct strbuf *text, const struct report *report)
{
	const struct snapshot *snap = report->snapshot;
	const struct snapshot_process *first = snap->processes.data;

	const char *subject = class_words_main(snap)->subject;

	if (subject) {
		strbuf_appendf(text, "the %s", subject);
	} else if (snap->processes.len == 1) {
		escape_text(text, first->command ? first->command : "?");
		strbuf_appendf(text, " (%d)%s", first->pid,
			       first->exited ? ", exited" : "");
	} else {
		strbuf_appendf(text, "%zu processes", snap->processes.len);
	}
}

static void put_title(const struct ui *ui, struct canvas *canvas,
		      const struct report *report)
{
	struct strbuf text = {0}, right = {0};
	unsigned x = canvas_put(canvas, 0, 0, ui->columns, CANVAS_TITLE, "memtrace") + 2;
	unsigned right_width;

	append_target(&text, report);
	strbuf_appendf(&text, ", %s traced", units_format_duration(report->elapsed_ns).s);
	if (ui->is_frozen)
		strbuf_append(&right, "FROZEN  ");
	else if (ui->has_ended)
		strbuf_append(&right, "ENDED  ");
	if (ui->source) {
		escape_text(&right, path_base_name(ui->source));
		strbuf_append(&right, "  ");
	} else {
		strbuf_appendf(&right, "every %s  ",
			       units_format_duration(ui->interval_ns).s);
	}
	strbuf_append(&right, units_format_time(report->snapshot->wall_ns, "%H:%M:%S").s);
	right_width = ui->columns / 2;
	canvas_put(canvas, x, 0, ui->columns - right_width - x - 1, CANVAS_PLAIN,
		   strbuf_text(&text));
	canvas_put_right(canvas, ui->columns - right_width, 0, right_width,
			 ui->is_frozen ? CANVAS_WARNING : CANVAS_DIM,
			 strbuf_text(&right));
	canvas->texts.failed |= text.failed || right.failed;
	strbuf_deinit(&text);
	strbuf_deinit(&right);
}

/* --- sparklines --------------------------------------------------------------------- */

struct curve {
	double values[VALUES];
	size_t count;
};

typedef double moment_value(const struct snapshot_moment *now,
			    const struct snapshot_moment *before, size_t class);

static double live_value(const struct snapshot_moment *now,
			 const struct snapshot_moment *before, size_t class)
{
	(void)before;
	return (double)now->live_bytes[class];
}

static double rss_value(const struct snapshot_moment *now,
			const struct snapshot_moment *before, size_t class)
{
	(void)before;
	(void)class;
	return (double)now->vm_rss_bytes;
}

static double rate_value(const struct snapshot_moment *now,
			 const struct snapshot_moment *before, size_t class)
{
	(void)class;
	if (!before || now->time_ns <= before->time_ns ||
	    now->allocated_bytes < before->allocated_bytes)
		return 0;
	return (double)(now->allocated_bytes - before->allocated_bytes) * 1e9 /
	       (double)(now->time_ns - before->time_ns);
}

/* The last `most` values. */
static struct curve curve_of(const struct snapshot *snap, moment_value *value,
			     size_t class, size_t most)
{
	size_t count = snap->moments.len, first;
	struct curve ret = {.count = 0};

	if (most > VALUES)
		most = VALUES;
	first = count > most ? count - most : 0;
	/* The first rate needs the moment before. */
	if (value == rate_value && !first && count)
		first = 1;
	for (size_t i = first; i < count; i++)
		ret.values[ret.count++] =
			value(&snap->moments.data[i],
			      i ? &snap->moments.data[i - 1] : NULL, class);
	return ret;
}

/* Put text and a sparkline behind it. Returns the columns that both take. */
static unsigned put_curve(struct canvas *canvas, unsigned x, unsigned y, unsigned width,
			  const char *text, const struct curve *curve)
{
	struct strbuf spark = {0};
	unsigned used = canvas_put(canvas, x, y, width, CANVAS_PLAIN, text);
	size_t room = width > used + 1 ? width - used - 1 : 0;
	size_t count = curve->count < room ? curve->count : room;

	if (count > 1) {
		canvas_append_spark(&spark, curve->values + curve->count - count, count,
				    canvas->utf8);
		used += 1 + canvas_put(canvas, x + used + 1, y, (unsigned)count,
				       CANVAS_BAR, strbuf_text(&spark));
	}
	canvas->texts.failed |= spark.failed;
	strbuf_deinit(&spark);
	return used;
}

/* --- numbers ------------------------------------------------------------------------ */

static bool all_exited(const struct snapshot *snap)
{
	vec_foreach (process, &snap->processes)
		if (!process->exited)
			return false;
	return snap->processes.len;
}

/* Of processes that have exited only if none is left. */
static uint64_t rss_bytes(const struct snapshot *snap, bool exited)
{
	uint64_t sum = 0;

	vec_foreach (process, &snap->processes)
		if (process->exited == exited)
			sum += process->memory.vm_rss_bytes;
	return sum;
}

static void put_memory(const struct ui *ui, struct canvas *canvas,
		       const struct report *report, const struct report_section *section)
{
	const struct snapshot *snap = report->snapshot;
	unsigned half = ui->columns / 2, spark = half > 44 ? half - 36 : SPARK_MIN;
	bool exited = all_exited(snap);
	struct curve rss = curve_of(snap, rss_value, 0, spark);
	struct curve live = curve_of(snap, live_value, section->class, spark);
	char text[128];

	snprintf(text, sizeof(text), "RSS   %s%s",
		 units_format_bytes(rss_bytes(snap, exited)).s,
		 exited ? " when last seen" : "");
	put_curve(canvas, 0, 1, half - 1, text, &rss);
	if (!class_words(section->class)->is_live)
		snprintf(text, sizeof(text), "events %s in %s hits",
			 units_format_bytes(section->live.estimated_bytes).s,
			 units_format_count(section->live.estimated_count).s);
	else
		snprintf(text, sizeof(text), "live %s %s in %" PRIu64 " blocks",
			 class_words(section->class)->name,
			 units_format_bytes(section->live.estimated_bytes).s,
			 section->live.estimated_count);
	put_curve(canvas, half, 1, ui->columns - half, text, &live);
}

static void put_rates(const struct ui *ui, struct canvas *canvas,
		      const struct report *report, const struct report_section *section)
{
	const struct report_rates *rates = &section->estimated_rates;
	unsigned half = ui->columns / 2, spark = half > 44 ? half - 36 : SPARK_MIN;
	struct curve curve = {.count = 0};
	unsigned lossy = 0;
	char text[128];

	if (section->class == BLOCK_HEAP)
		curve = curve_of(report->snapshot, rate_value, section->class, spark);
	snprintf(text, sizeof(text), "alloc %s/s, %s/s",
		 units_format_rate(rates->allocations).s,
		 units_format_bytes(report_round(rates->allocated_bytes)).s);
	put_curve(canvas, 0, 2, half - 1, text, &curve);
	canvas_putf(canvas, half, 2, ui->columns - half, CANVAS_PLAIN, "free %s/s, %s/s",
		    units_format_rate(rates->frees).s,
		    units_format_bytes(report_round(rates->freed_bytes)).s);
	for (size_t i = 0; i < LOSS_COUNT; i++)
		lossy += report->snapshot->losses[i] != 0;
	if (lossy)
		canvas_put_right(canvas, ui->columns - 20, 2, 20, CANVAS_WARNING,
				 "events were lost");
}

/* --- the fourth line ---------------------------------------------------------------- */

static void append_state(struct strbuf *text, const struct ui *ui)
{
	const struct model *model = &ui->model;
	int64_t since = 0;

	if (model->marked) {
		vec_foreach (delta, &model->deltas)
			since += *delta;
		strbuf_appendf(text, "mark %s: %s",
			       units_format_time(ui->marked_ns, "%H:%M:%S").s,
			       text_format_growth(since + model->gone_bytes).s);
		if (model->gone_count)
			strbuf_appendf(text, ", %zu call %s gone (%s)", model->gone_count,
				       text_plural(model->gone_count, "path", "paths"),
				       text_format_growth(model->gone_bytes).s);
		strbuf_append(text, "  ");
	}
	if (model->filter.len) {
		strbuf_append(text, "filter \"");
		escape_text(text, strbuf_text(&model->filter));
		strbuf_appendf(text, "\": %zu of %zu call paths, %s", model->shown_count,
			       model->path_count,
			       units_format_bytes(model->shown_bytes).s);
	}
}

static void append_verdict(struct strbuf *text, const struct ui *ui,
			   const struct moment *moment)
{
	struct verdict verdict = moment->judgement.verdict;
	struct report report = moment->held;
	struct brief_page page;

	/* The user may have changed the interval. */
	if (ui->is_live && verdict.kind == VERDICT_EARLY)
		verdict.wait_ns = report_times(verdict.reports, ui->interval_ns);

	report.options.color = false;
	report.options.utf8 = ui->utf8;
	report.options.columns = ui->columns;
	brief_page_init(&page, &report);
	brief_put_verdict(&page, &verdict);
	strbuf_append_bytes(text, strbuf_text(&page.text),
			    strcspn(strbuf_text(&page.text), "\n"));
	text->failed |= page.text.failed;
	strbuf_deinit(&page.text);
}

void compose_head(const struct ui *ui, struct canvas *canvas)
{
	const struct moment *moment = ui->model.moment;
	struct strbuf text = {0};
	const struct report_section *section;

	if (!moment) {
		canvas_put(canvas, 0, 0, ui->columns, CANVAS_TITLE, "memtrace");
		canvas_put(canvas, 0, 1, ui->columns, CANVAS_DIM,
			   "waiting for the first snapshot");
		return;
	}
	section = moment->sections[ui->model.section].section;
	put_title(ui, canvas, moment->report);
	put_memory(ui, canvas, moment->report, section);
	put_rates(ui, canvas, moment->report, section);
	append_state(&text, ui);
	if (!text.len)
		append_verdict(&text, ui, moment);
	canvas_put(canvas, 0, 3, ui->columns,
		   moment->judgement.verdict.kind == VERDICT_LEAKING ? CANVAS_WARNING
								     : CANVAS_PLAIN,
		   strbuf_text(&text));
	canvas->texts.failed |= text.failed;
	strbuf_deinit(&text);
}
