// SPDX-License-Identifier: Apache-2.0
#include "render/html/parts.h"

#include <inttypes.h>

#include "util/saturate.h"
#include "util/units.h"

/* Lengths are in pixels. */
#define LEFT        86
#define RIGHT       28 /* room for half of the last time label */
#define PLOT_HEIGHT 110
#define PLOT_TOP    30 /* below the title of the panel */
#define PANEL       (PLOT_TOP + PLOT_HEIGHT + 16)
#define AXIS        22

/* Maximum number of rows in the table below the chart. */
#define MAX_ROWS 100

/* The page has each chart in two sizes, and the style sheet chooses the one that fits the
 * screen: if one chart were scaled, its text would shrink, too. */
static const struct size {
	const char *class;
	int width;
	/* More points would not be visible at this width. If moments are grouped, the
	 * highest value of a group is plotted. */
	size_t points;
	unsigned ticks; /* maximum number of parts of the time axis */
} sizes[] = {{"wide", 1300, 550, 8}, {"narrow", 360, 120, 3}};

/* The state at the attach, before the first moment. */
static struct snapshot_moment origin(const struct snapshot *snap)
{
	return (struct snapshot_moment){.time_ns = snap->attached_ns};
}

static double per_second(uint64_t now, uint64_t before, const struct snapshot_moment *m,
			 const struct snapshot_moment *last)
{
	double seconds = ((double)m->time_ns - (double)last->time_ns) / 1e9;

	return now > before && seconds > 0 ? (double)(now - before) / seconds : 0;
}

static double live_heap(const struct snapshot_moment *m,
			const struct snapshot_moment *last)
{
	(void)last;
	return (double)m->live_bytes[BLOCK_HEAP];
}

static double live_kernel(const struct snapshot_moment *m,
			  const struct snapshot_moment *last)
{
	(void)last;
	return (double)m->live_bytes[BLOCK_KERNEL];
}

static double live_mappings(const struct snapshot_moment *m,
			    const struct snapshot_moment *last)
{
	(void)last;
	return (double)m->live_bytes[BLOCK_MAPPING];
}

static double resident(const struct snapshot_moment *m,
		       const struct snapshot_moment *last)
{
	(void)last;
	return (double)m->vm_rss_bytes;
}

static double allocated_rate(const struct snapshot_moment *m,
			     const struct snapshot_moment *last)
{
	return per_second(m->allocated_bytes, last->allocated_bytes, m, last);
}

static double allocation_rate(const struct snapshot_moment *m,
			      const struct snapshot_moment *last)
{
	return per_second(m->allocations, last->allocations, m, last);
}

static const struct panel {
	const char *name, *class, *unit;
	/* The value at a moment, given the moment before it. */
	double (*value)(const struct snapshot_moment *m,
			const struct snapshot_moment *last);
} panels[] = {
	[BLOCK_HEAP] = {"Live heap", "heap", "", live_heap},
	[BLOCK_MAPPING] = {"Live mappings", "mappings", "", live_mappings},
	[BLOCK_KERNEL] = {"Live in the kernel", "mappings", "", live_kernel},
	[BLOCK_CLASS_COUNT] = {"Resident memory (VmRSS) of the processes", "rss", "",
			       resident},
	{"Heap allocated", "rate", "/s", allocated_rate},
};

#define PANELS (sizeof(panels) / sizeof(*panels))

struct chart {
	const struct snapshot *snap;
	uint64_t length_ns;
	const struct size *size;
	size_t step; /* moments per point */
	struct strbuf *out;
};

static double plot_width(const struct chart *c)
{
	return c->size->width - LEFT - RIGHT;
}

static uint64_t offset_ns(const struct chart *c, uint64_t time_ns)
{
	return saturate_subtract(time_ns, c->snap->attached_ns);
}

static double x_of(const struct chart *c, uint64_t time_ns)
{
	double share = (double)offset_ns(c, time_ns) / (double)c->length_ns;

	return LEFT + (share < 1 ? share : 1) * plot_width(c);
}

static uint64_t whole(double value)
{
	return report_round(value);
}

/* The smallest of 4, 5, 6, 7 times a power of two that is at least `value`: it and its
 * half are readable axis labels. */
static double nice(double value)
{
	double unit = 1;

	while (unit * 7 < value && unit < 1e300)
		unit *= 2;
	for (int times = 4; times < 7; times++) {
		if (unit * times >= value)
			return unit * times;
	}
	return unit * 7;
}

/* The value of the point that begins with moment `first`, and its time. */
static double point_of(const struct chart *c, const struct panel *panel, size_t first,
		       uint64_t *ret_time_ns)
{
	const struct snapshot_moment zero = origin(c->snap);
	const struct snapshot_moment *all = c->snap->moments.data;
	double highest = -1;

	for (size_t i = first; i < first + c->step && i < c->snap->moments.len; i++) {
		double value = panel->value(&all[i], i ? &all[i - 1] : &zero);

		if (value > highest) {
			highest = value;
			*ret_time_ns = all[i].time_ns;
		}
	}
	return highest;
}

static double highest_of(const struct chart *c, const struct panel *panel)
{
	double highest = 0;
	uint64_t time_ns;

	for (size_t i = 0; i < c->snap->moments.len; i += c->step) {
		double value = point_of(c, panel, i, &time_ns);

		highest = value > highest ? value : highest;
	}
	return highest;
}

static void append_line(struct strbuf *out, const char *class, double x1, double y1,
			double x2, double y2)
{
	strbuf_appendf(out, "<line class=\"%s\" x1=\"", class);
	html_append_tenths(out, x1);
	strbuf_append(out, "\" y1=\"");
	html_append_tenths(out, y1);
	strbuf_append(out, "\" x2=\"");
	html_append_tenths(out, x2);
	strbuf_append(out, "\" y2=\"");
	html_append_tenths(out, y2);
	strbuf_append(out, "\"/>\n");
}

static void append_point(struct strbuf *out, double x, double y)
{
	html_append_tenths(out, x);
	strbuf_append_char(out, ' ');
	html_append_tenths(out, y);
	strbuf_append_char(out, ' ');
}

/* Append the line, or the area below it. */
static void append_path(const struct chart *c, const struct panel *panel, double top,
			double scale, bool is_area)
{
	double bottom = top + PLOT_HEIGHT, x = LEFT;
	char letter = 'M';

	strbuf_appendf(c->out, "<path class=\"%s %s\" d=\"", is_area ? "area" : "line",
		       panel->class);
	for (size_t i = 0; i < c->snap->moments.len; i += c->step) {
		uint64_t time_ns = c->snap->attached_ns;
		double value = point_of(c, panel, i, &time_ns);

		x = x_of(c, time_ns);
		if (is_area && letter == 'M') {
			strbuf_append_char(c->out, 'M');
			append_point(c->out, x, bottom);
			letter = 'L';
		}
		strbuf_append_char(c->out, letter);
		append_point(c->out, x, bottom - value * scale);
		letter = 'L';
	}
	if (is_area) {
		strbuf_append_char(c->out, 'L');
		append_point(c->out, x, bottom);
		strbuf_append_char(c->out, 'Z');
	}
	strbuf_append(c->out, "\"/>\n");
}

/* Append a point with a tooltip for each value; shown when pointed at. */
static void append_dots(const struct chart *c, const struct panel *panel, double top,
			double scale)
{
	for (size_t i = 0; i < c->snap->moments.len; i += c->step) {
		uint64_t time_ns = c->snap->attached_ns;
		double value = point_of(c, panel, i, &time_ns);

		strbuf_append(c->out, "<circle r=\"4\" cx=\"");
		html_append_tenths(c->out, x_of(c, time_ns));
		strbuf_append(c->out, "\" cy=\"");
		html_append_tenths(c->out, top + PLOT_HEIGHT - value * scale);
		strbuf_appendf(c->out, "\"><title>%s%s after %s</title></circle>\n",
			       units_format_bytes(whole(value)).s, panel->unit,
			       units_format_duration(offset_ns(c, time_ns)).s);
	}
}

static void append_panel(const struct chart *c, const struct panel *panel, double y,
			 double highest)
{
	double limit = nice(highest > 4 ? highest : 4), top = y + PLOT_TOP;
	double scale = PLOT_HEIGHT / limit;

	strbuf_appendf(c->out, "<g>\n<text class=\"name\" x=\"%d\" y=\"", LEFT);
	html_append_tenths(c->out, top - 10);
	strbuf_appendf(c->out, "\">%s</text>\n", panel->name);
	for (int tick = 0; tick <= 2; tick++) {
		double at = top + PLOT_HEIGHT * (2 - tick) / 2.0;

		append_line(c->out, "grid", LEFT, at, LEFT + plot_width(c), at);
		strbuf_appendf(c->out,
			       "<text class=\"tick\" text-anchor=\"end\" "
			       "x=\"%d\" y=\"",
			       LEFT - 8);
		html_append_tenths(c->out, at + 4);
		strbuf_appendf(c->out, "\">%s%s</text>\n",
			       units_format_bytes(whole(limit * tick / 2)).s,
			       panel->unit);
	}
	append_path(c, panel, top, scale, true);
	append_path(c, panel, top, scale, false);
	append_dots(c, panel, top, scale);
	strbuf_append(c->out, "</g>\n");
}

/* The smallest of these steps that divides the time into at most `most` parts. */
static uint64_t tick_ns(uint64_t length_ns, unsigned most)
{
	static const unsigned steps[] = {1, 2, 5, 10, 15, 30};
	static const uint64_t units[] = {UNITS_NS_PER_MS,       10 * UNITS_NS_PER_MS,
					 100 * UNITS_NS_PER_MS, UNITS_NS_PER_S,
					 UNITS_NS_PER_MIN,      UNITS_NS_PER_HOUR};

	for (size_t i = 0; i < sizeof(units) / sizeof(*units); i++) {
		for (size_t k = 0; k < sizeof(steps) / sizeof(*steps); k++) {
			if (length_ns / (units[i] * steps[k]) <= most)
				return units[i] * steps[k];
		}
	}
	return length_ns / most + 1;
}

static void append_time_axis(const struct chart *c, double bottom)
{
	uint64_t step_ns = tick_ns(c->length_ns, c->size->ticks);

	for (uint64_t at = 0; at <= c->length_ns; at += step_ns) {
		double x = LEFT + (double)at / (double)c->length_ns * plot_width(c);

		append_line(c->out, "grid", x, PLOT_TOP, x, bottom);
		strbuf_append(c->out, "<text class=\"tick\" text-anchor=\"middle\" x=\"");
		html_append_tenths(c->out, x);
		strbuf_append(c->out, "\" y=\"");
		html_append_tenths(c->out, bottom + 16);
		strbuf_appendf(c->out, "\">%s</text>\n",
			       at ? units_format_duration(at).s : "0");
		if (at > UINT64_MAX - step_ns)
			break;
	}
}

static void append_row(const struct chart *c, size_t index)
{
	const struct snapshot_moment *m = &c->snap->moments.data[index];
	const struct snapshot_moment zero = origin(c->snap);
	const struct snapshot_moment *last = index ? m - 1 : &zero;

	strbuf_appendf(c->out, "<tr><th scope=\"row\">%s</th>",
		       units_format_duration(offset_ns(c, m->time_ns)).s);
	html_append_bytes(c->out, "Live heap", m->live_bytes[BLOCK_HEAP]);
	html_append_count(c->out, "Blocks", m->live_blocks[BLOCK_HEAP]);
	if (c->snap->mappings_traced)
		html_append_bytes(c->out, "Live mappings", m->live_bytes[BLOCK_MAPPING]);
	html_append_bytes(c->out, "VmRSS", m->vm_rss_bytes);
	html_append_bytes(c->out, "Allocated a second", whole(allocated_rate(m, last)));
	html_append_count(c->out, "Allocations a second",
			  whole(allocation_rate(m, last)));
	strbuf_append(c->out, "</tr>\n");
}

/* Append the numbers as a table, also for people who cannot see the chart. */
static void append_table(const struct chart *c)
{
	size_t count = c->snap->moments.len, step = (count + MAX_ROWS - 1) / MAX_ROWS;

	strbuf_appendf(
		c->out,
		"<h3>In numbers</h3>\n<table class=\"cells\">\n<thead><tr>"
		"<th scope=\"col\">After</th><th class=\"n\" scope=\"col\">Live heap</th>"
		"<th class=\"n\" scope=\"col\">Blocks</th>%s<th class=\"n\" "
		"scope=\"col\">VmRSS</th>"
		"<th class=\"n\" scope=\"col\">Allocated a second</th>"
		"<th class=\"n\" scope=\"col\">Allocations a "
		"second</th></tr></thead>\n<tbody>\n",
		c->snap->mappings_traced
			? "<th class=\"n\" scope=\"col\">Live mappings</th>"
			: "");
	for (size_t i = (count - 1) % step; i < count; i += step)
		append_row(c, i);
	strbuf_append(c->out, "</tbody>\n</table>\n");
}

static bool has_value(const struct chart *c, size_t panel)
{
	return highest_of(c, &panels[panel]) > 0;
}

/* Draw the panels with a bit in `set`, below each other. */
static void append_chart(struct chart *c, unsigned set, const struct size *size)
{
	size_t count = c->snap->moments.len, shown = 0;

	c->size = size;
	c->step = (count + size->points - 1) / size->points;
	strbuf_appendf(c->out,
		       "<svg class=\"chart %s\" viewBox=\"0 0 %d %zu\" role=\"img\" "
		       "aria-label=\"Values from the attach on; a table below has the "
		       "numbers\">\n",
		       size->class, size->width,
		       (size_t)__builtin_popcount(set) * PANEL + AXIS);
	append_time_axis(c, (double)(__builtin_popcount(set) * PANEL - 16));
	for (size_t i = 0; i < PANELS; i++) {
		if (set & 1u << i)
			append_panel(c, &panels[i], (double)(shown++ * PANEL),
				     highest_of(c, &panels[i]));
	}
	strbuf_append(c->out, "</svg>\n");
}

static void append_charts(struct chart *c, unsigned set)
{
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		append_chart(c, set, &sizes[i]);
}

void html_append_timeline(struct strbuf *out, const struct report *report,
			  enum block_class class)
{
	const struct snapshot *snap = report->snapshot;
	struct chart c = {.snap = snap, .out = out, .step = 1};
	size_t count = snap->moments.len;
	unsigned others = 0;

	/* One point is not a timeline. */
	if (count < 2 || !panels[class].value)
		return;
	c.length_ns = offset_ns(&c, snap->moments.data[count - 1].time_ns);
	if (!c.length_ns)
		return;
	/* Panels without any value are omitted, except the first. */
	for (size_t i = 0; i < PANELS; i++) {
		if (panels[i].value && i != (size_t) class && has_value(&c, i))
			others |= 1u << i;
	}
	strbuf_append(out, "<section id=\"timeline\">\n<h2>Over time</h2>\n");
	append_charts(&c, 1u << class);
	strbuf_append(out, "<details class=\"prints\"><summary>More curves, and the "
			   "numbers</summary>\n");
	if (others)
		append_charts(&c, others);
	append_table(&c);
	strbuf_append(out, "</details>\n</section>\n");
}
