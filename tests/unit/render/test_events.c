// SPDX-License-Identifier: Apache-2.0
/* Reports of events instead of blocks, in every format: all have the same sums. */
#include "fixture.h"

#include <jansson.h>
#include <zlib.h>

#include "profile.pb-c.h"
#include "frames/filter.h"

DEFINE_CLEANUP(struct report_filter *, report_filter_destroy);

#define PROFILE_CAP ((size_t)1 << 20)
#define HITS        (700 + 41 + 2 + 1)

static void add(struct fixture *f, uint64_t count, uint32_t stack)
{
	REQUIRE(vec_push(&f->snap->events,
			 (struct snapshot_event){
				 count, stack,
				 stack == SNAPSHOT_NO_STACK ? SNAPSHOT_NO_PROCESS : 0}));
}

/* Adds hits to the stacks of the standard case, and one hit without a stack. */
static void fill(struct fixture *f)
{
	fixture_init(f);
	fixture_fill(f);
	vec_deinit(&f->snap->blocks[BLOCK_HEAP]);
	f->snap->event = strdup("uprobe:lib;\nc:f");
	f->snap->event_period = 1;
	f->snap->totals[BLOCK_EVENT].allocations = HITS;
	add(f, 41, 0);
	add(f, 700, 2);
	add(f, 2, 3);
	add(f, 1, SNAPSHOT_NO_STACK);
}

static void text(void)
{
	struct fixture f;
	_cleanup_(freep) char *out = NULL;

	fill(&f);
	out = fixture_render(&f, "text", NULL);
	CHECK_CONTAINS(out, "  event       uprobe:lib;\\x0ac:f\n"
			    "  counted     744 events in 4 stacks\n");
	CHECK_CONTAINS(out, "  rate        74 per second\n");
	CHECK_CONTAINS(out, "] Top 4 stacks by events:\n"
			    "\t700 events from stack  (94.1 %)\n"
			    "\t\t0x0000000000400010\tmalloc+0x10 [libc.so.6]\n");
	CHECK_CONTAINS(out, "\t1 event from stack  (0.1 %)\n\t\t[no stack: ");
	CHECK(!strstr(out, "bytes") && !strstr(out, "allocation") &&
	      !strstr(out, "older"));
	fixture_deinit(&f);
}

/* Filtered hits are reported, and stay in the sums. */
static void left_out(void)
{
	_cleanup_(report_filter_destroyp) struct report_filter *filter =
		report_filter_create();
	struct report_options options = {.filter = filter, .skip_count = 10};
	_cleanup_(freep) char *out = NULL, *json = NULL;
	struct fixture f;

	fill(&f);
	REQUIRE(filter && !report_filter_add(filter, FILTER_EXCLUDE, "fn:Cache::*"));
	fixture_report_with(&f, &options);
	out = fixture_render(&f, "text", NULL);
	CHECK_CONTAINS(out,
		       "  counted     744 events in 4 stacks\n"
		       "  left out    41 events in 1 stack, by --filter and --exclude\n"
		       "  left out    3 events in 2 stacks, by --skip-size and "
		       "--skip-count\n");
	CHECK_CONTAINS(out, "] Top 1 stacks by events:\n"
			    "\t700 events from stack  (94.1 %)\n");
	json = fixture_render(&f, "json", NULL);
	CHECK_CONTAINS(json, "\"filtered\":{\"count\":41,\"stacks\":1},"
			     "\"suppressed\":{\"count\":0,\"stacks\":0},"
			     "\"skipped\":{\"count\":3,\"stacks\":2}");
	fixture_deinit(&f);
}

static void collapsed(void)
{
	struct fixture f;
	_cleanup_(freep) char *out = NULL;

	fill(&f);
	out = fixture_render(&f, "collapsed", NULL);
	CHECK_STR(out,
		  "[no stack: it was not stored] 1\n"
		  "[truncated: no frame pointer];[unknown];malloc 2\n"
		  "[truncated: stack depth limit];main_loop;[libblob.so];malloc 700\n"
		  "main_loop;Cache::insert(std::string const&);malloc 41\n");
	fixture_deinit(&f);
}

static void csv(void)
{
	struct fixture f;
	_cleanup_(freep) char *out = NULL;

	fill(&f);
	out = fixture_render(&f, "csv", NULL);
	CHECK_CONTAINS(out, "\r\n4321,2,700,700,\"\",\"400010 - malloc\n");
	CHECK_CONTAINS(out, "\r\n4321,0,41,41,\"\",");
	CHECK_CONTAINS(out, "\",event\r\n");
	CHECK(!strstr(out, "heap"));
	fixture_deinit(&f);
}

static void svg(void)
{
	struct fixture f;
	_cleanup_(freep) char *out = NULL;

	fill(&f);
	out = fixture_render(&f, "flame", NULL);
	CHECK_CONTAINS(out, " data-bytes=\"744\" data-unit=\"events\">");
	CHECK_CONTAINS(out,
		       "<title>memtrace: uprobe:lib;\\x0ac:f of process 4321 (leaky)");
	CHECK_CONTAINS(out, "744 events in 4 stacks</text>");
	CHECK_CONTAINS(out, "\n700 events, 94.1 %</title>");
	fixture_deinit(&f);
}

static void json(void)
{
	struct fixture f;
	_cleanup_(freep) char *out = NULL;
	json_int_t sum = 0, processes;
	json_t *report, *events, *row;
	size_t i;

	fill(&f);
	out = fixture_render(&f, "json", NULL);
	report = json_loads(out, 0, NULL);
	REQUIRE(report);
	CHECK(json_is_null(json_object_get(report, "heap")));
	CHECK(json_is_null(json_object_get(report, "mappings")));
	events = json_object_get(report, "events");
	CHECK_INT(json_integer_value(json_object_get(events, "count")), HITS);
	CHECK_INT(json_integer_value(json_object_get(events, "stack_count")), 4);
	CHECK(!json_object_get(events, "size_bytes"));
	json_array_foreach (json_object_get(events, "stacks"), i, row)
		sum += json_integer_value(json_object_get(row, "count"));
	CHECK_INT(sum, HITS);
	/* The hit without a stack belongs to no process. */
	processes = json_integer_value(json_object_get(
		json_array_get(json_object_get(events, "processes"), 0), "count"));
	CHECK_INT(processes, HITS - 1);
	json_decref(report);
	fixture_deinit(&f);
}

static Pprof__Profile *profile(struct fixture *f, uint8_t bytes[PROFILE_CAP])
{
	z_stream stream = {0};
	size_t len;
	_cleanup_(freep) char *gz = fixture_render(f, "pprof", &len);
	Pprof__Profile *p;

	REQUIRE(inflateInit2(&stream, 15 + 16) == Z_OK);
	stream.next_in = (unsigned char *)gz;
	stream.avail_in = (uInt)len;
	stream.next_out = bytes;
	stream.avail_out = PROFILE_CAP;
	REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
	p = pprof__profile__unpack(NULL, stream.total_out, bytes);
	inflateEnd(&stream);
	REQUIRE(p);
	return p;
}

static void check_type(const Pprof__Profile *p, size_t i, const char *type,
		       const char *unit, int64_t want)
{
	int64_t sum = 0;

	REQUIRE(i < p->n_sample_type);
	CHECK_STR(p->string_table[p->sample_type[i]->type], type);
	CHECK_STR(p->string_table[p->sample_type[i]->unit], unit);
	for (size_t s = 0; s < p->n_sample; s++) {
		REQUIRE(p->sample[s]->n_value == p->n_sample_type);
		sum += p->sample[s]->value[i];
	}
	CHECK_INT(sum, want);
}

static void pprof(void)
{
	static uint8_t bytes[PROFILE_CAP];
	struct fixture f;
	Pprof__Profile *p;

	fill(&f);
	p = profile(&f, bytes);
	CHECK_INT(p->n_sample_type, 1);
	CHECK_INT(p->n_sample, 4);
	check_type(p, 0, "events", "count", HITS);
	CHECK_STR(p->string_table[p->default_sample_type], "events");
	CHECK_STR(p->string_table[p->period_type->type], "events");
	CHECK_STR(p->string_table[p->period_type->unit], "count");
	CHECK_CONTAINS(p->string_table[p->comment[0]], "; uprobe:lib;\\x0ac:f");
	pprof__profile__free_unpacked(p, NULL);
	fixture_deinit(&f);
}

/* With mappings, a hit counts as the bytes of a page, so that both can be added. */
static void growth(void)
{
	static uint8_t bytes[PROFILE_CAP];
	struct fixture f;
	_cleanup_(freep) char *out = NULL, *collapsed_out = NULL, *svg_out = NULL,
			      *json_out = NULL, *csv_out = NULL;
	Pprof__Profile *p;

	fill(&f);
	fixture_fill_mappings(&f);
	f.snap->event_bytes = 4096;
	out = fixture_render(&f, "text", NULL);
	CHECK_CONTAINS(out, "  counted     744 events in 4 stacks, 2.9 MiB\n");
	CHECK_CONTAINS(out, "\t700 events from stack  (94.1 %, 2.7 MiB)\n");
	CHECK_CONTAINS(out, "\t8192 bytes in 1 mappings from stack");
	collapsed_out = fixture_render(&f, "collapsed", NULL);
	CHECK_CONTAINS(collapsed_out,
		       "[events];main_loop;Cache::insert(std::string const&);malloc "
		       "167936\n");
	CHECK_CONTAINS(collapsed_out,
		       "[mappings];main_loop;Cache::insert(std::string const&);malloc "
		       "4096\n");
	svg_out = fixture_render(&f, "flame", NULL);
	CHECK_CONTAINS(svg_out, " data-bytes=\"3059712\">");
	CHECK_CONTAINS(svg_out, "bytes in 746 events and mappings, 100.0 %</title>");
	json_out = fixture_render(&f, "json", NULL);
	CHECK_CONTAINS(json_out, "\"count\":744,\"size_bytes\":3047424,");
	csv_out = fixture_render(&f, "csv", NULL);
	CHECK_CONTAINS(csv_out, "\r\n4321,0,167936,41,\"\",");
	p = profile(&f, bytes);
	CHECK_INT(p->n_sample_type, 3);
	check_type(p, 0, "mapped_objects", "count", 2);
	check_type(p, 1, "mapped_space", "bytes", 4096 + 8192);
	check_type(p, 2, "events", "count", HITS);
	pprof__profile__free_unpacked(p, NULL);
	fixture_deinit(&f);
}

/* Growth from one report to the next, and damaged snapshots. */
static void report(void)
{
	const struct report_options options = {.older_ns = 0};
	struct report_history *history = report_history_create();
	struct frame_cache *frames[] = {NULL};
	struct report *first, *second;
	struct fixture f;

	fill(&f);
	REQUIRE(history);
	REQUIRE(!report_build(f.snap, history, frames, &options, REPORT_INTERVAL,
			      &first));
	f.snap->events.data[0].count += 1000;
	f.snap->totals[BLOCK_EVENT].allocations += 1000;
	f.snap->time_ns += 2 * FIXTURE_NS;
	add(&f, 5, 999); /* this stack does not exist */
	REQUIRE(!report_build(f.snap, history, frames, &options, REPORT_INTERVAL,
			      &second));
	REQUIRE(second->section_count == 1);

	const struct report_section *section = &second->sections[0];

	CHECK_INT(section->class, BLOCK_EVENT);
	CHECK_INT(section->live.count, HITS + 1005);
	CHECK_INT(section->listed.count, HITS + 1005);
	CHECK_INT(section->rows[0].stack, 0);
	CHECK_INT(section->rows[0].growth_count, 1000);
	CHECK_INT(section->rows[1].growth_count, 0);
	CHECK_INT(section->rows[2].stack, SNAPSHOT_NO_STACK);
	CHECK_INT(section->rows[2].sum.count, 6);
	CHECK_INT((int)section->rates.allocations, 500);
	report_destroy(second);
	report_destroy(first);
	report_history_destroy(history);
	fixture_deinit(&f);
}

int main(void)
{
	RUN(text);
	RUN(left_out);
	RUN(collapsed);
	RUN(csv);
	RUN(svg);
	RUN(json);
	RUN(pprof);
	RUN(growth);
	RUN(report);
	return check_done();
}
