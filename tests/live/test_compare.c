/* SPDX-License-Identifier: Apache-2.0 */
/* The comparison of test_*.c itself: it must notice whatever can be wrong in a report. */
#include "check.h"
#include "live/trace.h"

static const char truth_text[] =
	"{'sites': [{'site': 'site_a', 'bytes': 30, 'blocks': 2},"
	"           {'site': 'site_b', 'bytes': 0, 'blocks': 1}],"
	" 'mappings': [{'site': 'site_m', 'bytes': 4096, 'blocks': 1}],"
	" 'allocations': 5, 'allocated_bytes': 50, 'frees': 2, 'freed_bytes': 20,"
	" 'failures': 1}";

static const char report_text[] =
	"{'complete': true, 'losses': {'blocks_full': 0, 'calls_abandoned': 0},"
	" 'heap': {'live_bytes': 30, 'live_blocks': 3,"
	"  'listed_bytes': 30, 'listed_blocks': 3, 'stack_count': 3,"
	"  'totals': {'allocations': 5, 'allocated_bytes': 50, 'frees': 2,"
	"             'freed_bytes': 20, 'frees_unknown': 0, 'failures': 1},"
	"  'stacks': ["
	"   {'size_bytes': 10, 'blocks': 1, 'frames': [{'symbol': 'site_a'}]},"
	"   {'size_bytes': 20, 'blocks': 1,"
	"    'frames': [{'symbol': null}, {'symbol': 'site_a'}, {'symbol': 'site_b'}]},"
	"   {'size_bytes': 0, 'blocks': 1, 'frames': [{'symbol': 'site_b'}]}]},"
	" 'mappings': {'live_bytes': 4096, 'live_blocks': 1,"
	"  'listed_bytes': 4096, 'listed_blocks': 1, 'stack_count': 1,"
	"  'totals': {'allocated_bytes': 4096, 'freed_bytes': 0},"
	"  'stacks': [{'size_bytes': 4096, 'blocks': 1,"
	"              'frames': [{'symbol': 'site_m'}]}]}}";

/* Parses JSON with single quotes. */
static json_t *parse(const char *text)
{
	char *copy = strdup(text);

	REQUIRE(copy);
	for (char *at = copy; *at; at++)
		if (*at == '\'')
			*at = '"';
	json_t *root = json_loads(copy, 0, NULL);
	REQUIRE(root);
	free(copy);
	return root;
}

static unsigned differences(const json_t *truth, const json_t *report)
{
	return compare_heap(truth, report, true) + compare_mappings(truth, report) +
	       compare_totals(truth, report) + compare_losses(report, NULL);
}

static void equal_is_equal(void)
{
	json_t *truth = parse(truth_text), *report = parse(report_text);

	CHECK_INT(differences(truth, report), 0);
	CHECK_INT(report_site(report, "heap", "site_a").bytes, 30);
	CHECK_INT(report_site(report, "heap", "site_a").blocks, 2);
	CHECK_INT(report_site(report, "heap", "site_c").blocks, 0);
	json_decref(truth);
	json_decref(report);
}

/* Changes one number of the report by one. */
static void check_seen(const char *parent, const char *key)
{
	json_t *truth = parse(truth_text), *report = parse(report_text);
	json_t *object = live_get(report, parent);

	json_object_set_new(object, key, json_integer(live_int(object, key) + 1));
	if (!differences(truth, report))
		CHECK_FAIL("a wrong %s.%s is not seen", parent, key);
	CHECK(true);
	json_decref(truth);
	json_decref(report);
}

static void every_number_counts(void)
{
	static const char *const section[] = {"live_bytes", "live_blocks", "listed_bytes",
					      "listed_blocks", "stack_count"};
	static const char *const totals[] = {"allocations", "allocated_bytes", "frees",
					     "freed_bytes", "failures"};

	for (size_t i = 0; i < 5; i++) {
		check_seen("heap", section[i]);
		check_seen("mappings", section[i]);
		check_seen("heap.totals", totals[i]);
	}
	check_seen("losses", "blocks_full");
}

static void check_row_seen(const char *section, size_t row, const char *key,
			   json_t *value)
{
	json_t *truth = parse(truth_text), *report = parse(report_text);
	json_t *stacks = live_get(live_get(report, section), "stacks");

	json_object_set_new(json_array_get(stacks, row), key, value);
	if (!differences(truth, report))
		CHECK_FAIL("a wrong %s in row %zu is not seen", key, row);
	CHECK(true);
	json_decref(truth);
	json_decref(report);
}

static void every_row_counts(void)
{
	check_row_seen("heap", 0, "size_bytes", json_integer(11));
	check_row_seen("heap", 1, "blocks", json_integer(2));
	check_row_seen("mappings", 0, "size_bytes", json_integer(8192));
	/* A block at another call path, at an unknown one, and at none. */
	check_row_seen("heap", 0, "frames", parse("[{'symbol': 'site_b'}]"));
	check_row_seen("heap", 0, "frames", parse("[{'symbol': 'site_c'}]"));
	check_row_seen("heap", 0, "frames", parse("[{'symbol': null}]"));
	check_row_seen("heap", 0, "frames", parse("[]"));
}

static void losses_may_be_allowed_by_name(void)
{
	json_t *report = parse(report_text);

	json_object_set_new(live_get(report, "losses"), "calls_abandoned",
			    json_integer(3));
	CHECK(compare_losses(report, "calls_abandoned") > 0); /* "complete" is wrong */
	json_object_set_new(report, "complete", json_false());
	CHECK_INT(compare_losses(report, "calls_abandoned"), 0);
	CHECK_INT(compare_losses(report, NULL), 1);
	CHECK_INT(compare_losses(report, "blocks_full"), 1);
	json_decref(report);
}

int main(void)
{
	RUN(equal_is_equal);
	RUN(every_number_counts);
	RUN(every_row_counts);
	RUN(losses_may_be_allowed_by_name);
	return check_done();
}
