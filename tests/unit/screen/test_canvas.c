// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "screen/canvas.h"
#include "util/cleanup.h"

static void text_is_cut_in_its_middle(void)
{
	_cleanup_(canvas_deinit) struct canvas canvas = {.columns = 0};
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	canvas_begin(&canvas, 20, 3, true);
	CHECK_INT(canvas_put(&canvas, 2, 0, 10, CANVAS_PLAIN, "short"), 5);
	CHECK_INT(canvas_put(&canvas, 0, 1, 12, CANVAS_PLAIN, "a_name_that_is_long"), 12);
	canvas_put_right(&canvas, 10, 2, 10, CANVAS_PLAIN, "right");
	/* Outside. */
	CHECK_INT(canvas_put(&canvas, 20, 0, 10, CANVAS_PLAIN, "x"), 0);
	CHECK_INT(canvas_put(&canvas, 0, 3, 10, CANVAS_PLAIN, "x"), 0);
	/* No wider than the screen. */
	CHECK_INT(canvas_put(&canvas, 18, 0, 10, CANVAS_PLAIN, "abc"), 2);
	canvas_append_text(&canvas, &text);
	CHECK_STR(strbuf_text(&text), "  short           ab\n"
				      "a_n...s_long\n"
				      "               right\n");
}

static void later_pieces_hide_earlier_ones(void)
{
	_cleanup_(canvas_deinit) struct canvas canvas = {.columns = 0};
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	canvas_begin(&canvas, 10, 1, true);
	canvas_put(&canvas, 0, 0, 10, CANVAS_PLAIN, "0123456789");
	canvas_put(&canvas, 2, 0, 4, CANVAS_PLAIN, "\xe2\x96\x88x");
	canvas_append_text(&canvas, &text);
	CHECK_STR(strbuf_text(&text), "01\xe2\x96\x88x456789\n");
	canvas_select(&canvas, 0, 0, 2);
	CHECK(canvas.pieces.data[0].is_selected);
	CHECK(!canvas.pieces.data[1].is_selected);
}

static void sparks_and_bars(void)
{
	static const double values[] = {0, 1, 2, 7};
	static const double flat[] = {5, 5};
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	canvas_append_spark(&text, values, 4, false);
	CHECK_STR(strbuf_text(&text), "_.-#");
	strbuf_clear(&text);
	canvas_append_spark(&text, values, 4, true);
	CHECK_STR(strbuf_text(&text), "\xe2\x96\x81\xe2\x96\x82\xe2\x96\x83\xe2\x96\x88");
	strbuf_clear(&text);
	canvas_append_spark(&text, flat, 2, false);
	CHECK_STR(strbuf_text(&text), "__");
	strbuf_clear(&text);
	canvas_append_bar(&text, 1, 2, 8, false);
	CHECK_STR(strbuf_text(&text), "####");
	strbuf_clear(&text);
	/* 1.5 columns. */
	canvas_append_bar(&text, 3, 16, 8, true);
	CHECK_STR(strbuf_text(&text), "\xe2\x96\x88\xe2\x96\x8c");
	strbuf_clear(&text);
	canvas_append_bar(&text, 1, 0, 8, true);
	canvas_append_bar(&text, -1, 1, 8, true);
	CHECK_STR(strbuf_text(&text), "");
	canvas_append_bar(&text, 5, 1, 2, false);
	CHECK_STR(strbuf_text(&text), "##");
}

int main(void)
{
	RUN(text_is_cut_in_its_middle);
	RUN(later_pieces_hide_earlier_ones);
	RUN(sparks_and_bars);
	return check_done();
}
