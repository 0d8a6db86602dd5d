// SPDX-License-Identifier: Apache-2.0
/*
 * Snapshots with random changes and correct checksums. Each must be refused with one
 * line, or every format can be made of it. With sanitizers this finds input that a reader
 * trusts wrongly.
 */
#include "check.h"

#include <time.h>

#include "output/snapshot_file.h"
#include "render/table/diff_renderers.h"
#include "render/flame/flame.h"
#include "render/html/html.h"
#include "render/table/renderers.h"
#include "render/views/views.h"
#include "report/recorded.h"
#include "snapshot/file_chunks.h"
#include "unit/snapshot/filled.h"

DEFINE_CLEANUP(struct report *, report_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);
DEFINE_CLEANUP(struct report_diff *, report_diff_destroy);

#define ROUNDS      2000
#define CONTENT_MAX ((size_t)1 << 20)

static char path[] = "/tmp/memtrace-hostile-XXXXXX";
static size_t accepted;

static uint32_t random_number(void)
{
	static uint64_t state = 20260102;

	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(state >> 33);
}

/* The uncompressed content of a file. */
static struct bytes unpack(const char *name)
{
	struct bytes bytes = {malloc(CONTENT_MAX), 0};
	struct chunk_reader r;
	const unsigned char *at;
	size_t got;
	FILE *in = fopen(name, "re");

	REQUIRE(in && bytes.data && !chunk_reader_init(&r, in, CONTENT_MAX));
	do {
		REQUIRE(!chunk_reader_get(&r, CONTENT_MAX, &at, &got));
		REQUIRE(bytes.len + got < CONTENT_MAX);
		memcpy(bytes.data + bytes.len, at, got);
		bytes.len += got;
	} while (!r.ended);
	chunk_reader_deinit(&r);
	fclose(in);
	return bytes;
}

static void pack(const struct bytes *bytes)
{
	struct chunk_writer w;
	FILE *out = fopen(path, "we");

	REQUIRE(out && !chunk_writer_init(&w, out));
	chunk_writer_add(&w, bytes->data, bytes->len);
	REQUIRE(!chunk_writer_finish(&w));
	chunk_writer_deinit(&w);
	REQUIRE(!fclose(out));
}

/* Overwrites bytes, or numbers with values at the edges of their ranges. */
static void change(struct bytes *bytes)
{
	static const uint32_t edges[] = {0,          1,          0x7fffffff,
					 0x80000000, 0xfffffffe, 0xffffffff};
	size_t at = random_number() % (bytes->len - 4);
	uint32_t edge = edges[random_number() % 6];

	if (random_number() % 2)
		bytes->data[at] = (char)random_number();
	else
		memcpy(bytes->data + at, &edge, sizeof(edge));
}

/* Renders the tables of each view that the report has data for. */
static void render_views(const struct report *report, FILE *out)
{
	struct report shown = *report;

	for (const struct view_ops *const *it = views; *it; it++) {
		shown.options.view = (*it)->name;
		CHECK(!renderer_find("text")->render(&shown, out));
		CHECK(!renderer_find("csv")->render(&shown, out));
	}
}

static void render_all(const struct report *report, const struct report_diff *diff)
{
	static const char *const diffs[] = {"text", "json", "csv", "collapsed"};
	const struct flame_options flame = {.old = diff->old};
	_cleanup_(fclosep) FILE *out = fopen("/dev/null", "we");

	REQUIRE(out);
	for (const struct renderer *const *it = renderers; *it; it++)
		CHECK(!(*it)->render(report, out));
	for (size_t i = 0; i < sizeof(diffs) / sizeof(*diffs); i++)
		CHECK(!diff_renderer_find(diffs[i])->render(diff, out));
	CHECK(!flame_render(&diff->graph, &flame, out));
	CHECK(!html_render(report, &(const struct flame_options){.old = NULL}, out));
	render_views(report, out);
}

static void report_it(const struct snapshot_file *file, const struct report *original)
{
	const struct report_options options = {
		.show_blocks = true, .past = true, .singles = 5};
	_cleanup_(report_history_destroyp) struct report_history *history = NULL;
	_cleanup_(report_destroyp) struct report *report = NULL;
	_cleanup_(report_diff_destroyp) struct report_diff *diff = NULL;

	REQUIRE(!report_recorded_history(file->snap, &history));
	REQUIRE(!report_build(file->snap, history, file->frames, &options,
			      report_recorded_cause(file->snap), &report));
	REQUIRE(!report_diff_create(original, report, &options, &diff));
	render_all(report, diff);
}

static void change_at_random(const char *name)
{
	const struct report_options options = {.show_blocks = true};
	_cleanup_(snapshot_file_deinit) struct snapshot_file whole;
	_cleanup_(report_history_destroyp) struct report_history *history =
		report_history_create();
	_cleanup_(report_destroyp) struct report *original = NULL;
	_cleanup_(bytes_deinit) struct bytes content = unpack(name);
	_cleanup_(bytes_deinit) struct bytes changed = {malloc(content.len), content.len};

	REQUIRE(!snapshot_file_open("--replay", name, &whole));
	REQUIRE(!snapshot_file_load(&whole, true, NULL));
	REQUIRE(history && changed.data &&
		!report_build(whole.snap, history, whole.frames, &options, REPORT_STOPPED,
			      &original));
	for (unsigned round = 0; round < ROUNDS; round++) {
		_cleanup_(snapshot_file_deinit) struct snapshot_file file;
		_cleanup_(error_destroyp) struct error *err = NULL;

		memcpy(changed.data, content.data, content.len);
		for (unsigned i = 1 + random_number() % 4; i; i--)
			change(&changed);
		pack(&changed);
		err = snapshot_file_open("--replay", path, &file);
		if (!err)
			err = snapshot_file_load(&file, true, NULL);
		if (err) {
			CHECK_INT(err->code, ERROR_MALFORMED);
			CHECK(!strchr(err->message, '\n'));
		} else {
			accepted++;
			report_it(&file, original);
		}
	}
}

static void of_the_stored_one(void)
{
	change_at_random(TEST_DATA_DIR "/golden/stored.mts");
	/* Some of the changed snapshots must be accepted. */
	CHECK(accepted > ROUNDS / 20);
}

/* A snapshot that contains every table. */
static void of_one_with_everything(void)
{
	char name[] = "/tmp/memtrace-hostile-XXXXXX";
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(closep) int fd = mkstemp(name);
	FILE *out = fopen(name, "we");

	REQUIRE(fd >= 0 && out && !snapshot_write(snap, out) && !fclose(out));
	accepted = 0;
	change_at_random(name);
	CHECK(accepted > ROUNDS / 20);
	REQUIRE(!unlink(name));
}

int main(void)
{
	_cleanup_(closep) int fd = mkstemp(path);

	REQUIRE(fd >= 0);
	RUN(of_the_stored_one);
	RUN(of_one_with_everything);
	REQUIRE(!unlink(path));
	return check_done();
}
