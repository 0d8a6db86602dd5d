// SPDX-License-Identifier: Apache-2.0
/* The screen of --live with many call paths: what an update costs, and how long a key
 * takes, also while the next snapshot is read. */
#include "bench.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "large_snapshot.h"
#include "report/name_book.h"
#include "report/recorded.h"
#include "screen/compose.h"
#include "screen/loader.h"
#include "snapshot/file.h"
#include "util/heap.h"

#define STACKS 10000
#define BLOCKS 100000
#define RUNS   15
#define ARROWS 200

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static void need_no(struct error *err)
{
	if (err)
		die("%s", err->message);
}

/* Write the snapshot as a running session hands it over, over the last one. */
static void hand_over(const struct snapshot *snap, int fd, uint64_t *size_bytes)
{
	FILE *out = lseek(fd, 0, SEEK_SET) ? NULL : fdopen(dup(fd), "w");

	if (!out)
		die("cannot make a file in memory");
	need_no(snapshot_write_quickly(snap, out));
	fflush(out);
	*size_bytes = (uint64_t)ftello(out);
	fclose(out);
}

/* As often as it takes for a median, which is *ret_ms. */
static int hand_over_often(const struct snapshot *snap, uint64_t *size_bytes,
			   double *ret_ms)
{
	double ms[RUNS];
	int fd = memfd_create("snapshot", MFD_CLOEXEC);

	for (size_t i = 0; i < RUNS; i++) {
		double begun_ms = cpu_ms();

		hand_over(snap, fd, size_bytes);
		ms[i] = cpu_ms() - begun_ms;
	}
	*ret_ms = median(ms, RUNS);
	return fd;
}

/* What a run adds before, ms: the names of all frames, which it has kept since the first
 * report. *first_ms: of that report. */
static double measure_names(const struct snapshot *snap, double *first_ms)
{
	static const struct snapshot empty;
	struct name_book *book = name_book_create();
	struct frame_cache *frames[2] = {NULL};
	struct symbolizer *symbolizer;
	double ms[RUNS + 1];

	need_no(report_recorded_symbolizer(snap, 0, true, &symbolizer));
	frames[0] = frame_cache_create(symbolizer);
	if (!frames[0] || !book)
		die("out of memory");
	for (size_t i = 0; i <= RUNS; i++) {
		double begun_ms = cpu_ms();
		struct snapshot named = *snap;

		memcpy(&named.names, &empty.names, sizeof(named.names));
		memcpy(&named.sources, &empty.sources, sizeof(named.sources));
		named.strings = empty.strings;
		need_no(report_record_kept_names(&named, frames, book));
		ms[i] = cpu_ms() - begun_ms;
		report_renamed_deinit(&named);
	}
	name_book_destroy(book);
	frame_cache_destroy(frames[0]);
	symbolizer_destroy(symbolizer);
	*first_ms = ms[0];
	return median(ms + 1, RUNS);
}

static struct snapshot_file open_again(int fd, uint64_t size_bytes)
{
	char path[64];
	struct snapshot_file file = {.option = "--live",
				     .path = "snapshot",
				     .size_bytes = size_bytes,
				     .is_quick = true};

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	file.in = fopen(path, "re");
	if (!file.in)
		die("cannot open the snapshot");
	return file;
}

/* Press these keys; returns the longest time that one takes until the screen is made,
 * ms. */
static double press(struct ui *ui, struct canvas *canvas, const char *keys)
{
	double longest = 0;

	for (; *keys; keys++) {
		uint64_t begun_ns = now_ns();
		double ms;

		(void)ui_key(ui, *keys);
		compose(ui, canvas);
		ms = (double)(now_ns() - begun_ns) / 1e6;
		longest = ms > longest ? ms : longest;
	}
	return longest;
}

static double press_many(struct ui *ui, struct canvas *canvas)
{
	double longest = 0;

	for (size_t i = 0; i < ARROWS; i++) {
		double ms = press(ui, canvas, i % 8 == 7 ? "k" : "j");

		longest = ms > longest ? ms : longest;
	}
	return longest;
}

static const struct report_options options = {.older_ns = 0};
static const struct moment_options how = {.report = &options, .with_lines = true};

static struct moment *measure_updates(struct ui *ui, struct canvas *canvas, int fd,
				      uint64_t size_bytes, double *ret_ms)
{
	double ms[RUNS];
	struct moment *moment = NULL;
	struct moment_options next_how = how;

	for (size_t i = 0; i < RUNS; i++) {
		struct snapshot_file file = open_again(fd, size_bytes);
		struct moment *next;
		double begun_ms = cpu_ms();

		need_no(moment_create(&file, &next_how, &next));
		if (!ui_set_moment(ui, next))
			die("out of memory");
		compose(ui, canvas);
		moment_destroy(moment);
		ms[i] = cpu_ms() - begun_ms;
		moment = next;
		if (!i)
			next_how.base = moment_keep(next);
	}
	moment_release(next_how.base);
	*ret_ms = median(ms, RUNS);
	return moment;
}

/* Keys while the other thread reads snapshots all the time. */
static double press_meanwhile(struct ui *ui, struct canvas *canvas, int fd,
			      uint64_t size_bytes)
{
	struct options none = {.live = true};
	struct loader *loader;
	double longest = 0;

	need_no(loader_start(&how, &none, NULL, &loader));
	for (size_t i = 0; i < RUNS; i++) {
		struct snapshot_file file = open_again(fd, size_bytes);
		struct loader_result result;

		loader_load(loader, &file, false);
		while (!loader_take(loader, &result)) {
			double ms = press(ui, canvas, "j");

			longest = ms > longest ? ms : longest;
			sleep_ms(1);
		}
		need_no(result.err);
		moment_destroy(result.moment);
	}
	loader_stop(loader);
	return longest;
}

void section_screen(void)
{
	static const struct {
		const char *name, *keys;
	} keys[] = {
		{"view of causes", "v1"},   {"view of stacks", "v2"},
		{"call tree", "v3"},        {"expand a line", "e"},
		{"functions", "v4"},        {"order by blocks", "v2s3"},
		{"filter", "fprocess_1\r"}, {"no filter", "f\025\r"},
		{"search", "/no such\r"},
	};
	double first_ms, names_ms, write_ms, update_ms;
	struct canvas canvas = {.columns = 0};
	struct snapshot *snap;
	struct moment *moment;
	uint64_t size_bytes;
	struct ui ui;
	int fd;

	/* As both processes do. */
	heap_keep_all();
	snap = large_snapshot(STACKS, BLOCKS);
	names_ms = measure_names(snap, &first_ms);
	fd = hand_over_often(snap, &size_bytes, &write_ms);
	snapshot_destroy(snap);
	ui_init(&ui);
	ui.utf8 = true;
	ui_resize(&ui, 120, 40);
	moment = measure_updates(&ui, &canvas, fd, size_bytes, &update_ms);
	printf("\n--live, %d call paths, %d blocks, a snapshot of %.1f MB\n", STACKS,
	       BLOCKS, (double)size_bytes / 1e6);
	printf("%-44s %8.1f ms cpu\n", "the run adds names to the snapshot, at first",
	       first_ms);
	printf("%-44s %8.1f ms cpu\n", "the run adds names to the snapshot", names_ms);
	printf("%-44s %8.1f ms cpu\n", "the run writes the snapshot", write_ms);
	printf("%-44s %8.1f ms cpu\n", "the screen reads, reports and shows it",
	       update_ms);
	printf("%-44s %8.1f %%\n", "all once a second, of a processor",
	       (names_ms + write_ms + update_ms) / 10);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		printf("%-44s %8.1f ms\n", keys[i].name,
		       press(&ui, &canvas, keys[i].keys));
	printf("%-44s %8.1f ms\n", "arrows, the longest", press_many(&ui, &canvas));
	printf("%-44s %8.1f ms\n", "arrows while a snapshot is read, the longest",
	       press_meanwhile(&ui, &canvas, fd, size_bytes));
	ui_deinit(&ui);
	moment_destroy(moment);
	canvas_deinit(&canvas);
	close(fd);
}
