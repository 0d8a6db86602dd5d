// SPDX-License-Identifier: Apache-2.0
/*
 * --live of snapshots on a terminal: the screens in live/, keys, and the numbers of
 * --format json. With a directory as argument, writes the screens there instead, to be
 * reviewed and copied.
 */
#include "check.h"

#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "live_start.h"
#include "util/cleanup.h"
#include "util/units.h"
#include "vt.h"

#define SCREENS TEST_DATA_DIR "/golden/live"

#define UP      "\033OA"
#define DOWN    "\033OB"
#define END     "\033OF"

static const char *write_dir;

/* --- screens ------------------------------------------------------------------------ */

static void compare(struct vt *vt, const char *name, unsigned columns, unsigned lines)
{
	_cleanup_(freep) char *want = calloc(1, 1 << 16);
	_cleanup_(fclosep) FILE *file = NULL;
	char path[512];

	/* Until the last key is answered. */
	vt_run(vt, 50);
	snprintf(path, sizeof(path), "%s/%s-%ux%u.txt", write_dir ? write_dir : SCREENS,
		 name, columns, lines);
	file = fopen(path, write_dir ? "we" : "re");
	REQUIRE(file && want);
	if (write_dir) {
		fputs(vt_text(vt), file);
		return;
	}
	want[fread(want, 1, (1 << 16) - 1, file)] = '\0';
	CHECK(*want);
	CHECK_STR(vt_text(vt), want);
}

static const unsigned sizes[][2] = {{80, 24}, {120, 40}, {200, 60}};

#define SIZES (sizeof(sizes) / sizeof(*sizes))

static void screens(void)
{
	static const char *const names[] = {"store", "shop", "orders", "python", "redis"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		for (size_t k = 0; k < SIZES; k++) {
			struct vt *vt = start(names[i], sizes[k][0], sizes[k][1]);

			compare(vt, names[i], sizes[k][0], sizes[k][1]);
			quit(vt);
		}
	}
}

static void keys(void)
{
	for (size_t k = 0; k < SIZES; k++) {
		unsigned columns = sizes[k][0], lines = sizes[k][1];
		struct vt *vt = start("shop", columns, lines);

		press(vt, "?", "memtrace: keys");
		compare(vt, "help", columns, lines);
		press(vt, "x", "? help");
		press(vt, "v3", "tree by bytes");
		press(vt, "e", "- ");
		compare(vt, "tree", columns, lines);
		press(vt, "c", "begin with the caller");
		press(vt, "e", "- ");
		compare(vt, "callers", columns, lines);
		press(vt, "v4", "functions by bytes");
		press(vt, "s6", "functions by with callees");
		compare(vt, "functions", columns, lines);
		press(vt, "v6", "traffic by allocated");
		compare(vt, "traffic", columns, lines);
		press(vt, "v7", "peak by peak");
		compare(vt, "peak", columns, lines);
		press(vt, "v8", "THREAD");
		compare(vt, "threads", columns, lines);
		press(vt, "v2", "stacks by bytes");
		press(vt, "forder\r", "filter \"order\"");
		compare(vt, "filter", columns, lines);
		quit(vt);
	}
}

/* The numbers of the heading line; the column of "1/6" in the last line. */
static long selected(struct vt *vt)
{
	const char *line = vt_line(vt, 23), *slash = strrchr(line, '/');

	REQUIRE(slash);
	while (slash > line && slash[-1] != ' ')
		slash--;
	return strtol(slash, NULL, 10);
}

static long count(struct vt *vt)
{
	const char *slash = strrchr(vt_line(vt, 23), '/');

	REQUIRE(slash);
	return strtol(slash + 1, NULL, 10);
}

static void moving(void)
{
	struct vt *vt = start("clang", 80, 24);
	char last[64];
	long n;

	press(vt, "v6", "traffic by allocated");
	n = count(vt);
	REQUIRE(n > 15);
	CHECK_INT(selected(vt), 1);
	press(vt, DOWN, " 2/");
	press(vt, "j", " 3/");
	press(vt, UP, " 2/");
	press(vt, "k", " 1/");
	press(vt, "\033[6~", " 13/");
	press(vt, "\033[5~", " 1/");
	snprintf(last, sizeof(last), " %ld/%ld", n, n);
	press(vt, END, last);
	press(vt, "g", " 1/");
	/* Not above the first line. */
	vt_press(vt, UP);
	vt_run(vt, 100);
	CHECK_INT(selected(vt), 1);
	quit(vt);
}

static void searching(void)
{
	struct vt *vt = start("shop", 80, 24);
	long first, second;

	press(vt, "v2", "stacks by bytes");
	press(vt, "/", "search: _");
	press(vt, "std::v", "search: std::v_");
	press(vt, "\177\177\177\177\177\177_m_c\r", "/");
	vt_wait(vt, "? help", TIMEOUT_MS);
	vt_run(vt, 200);
	first = selected(vt);
	vt_press(vt, "n");
	vt_run(vt, 200);
	second = selected(vt);
	CHECK(first != second);
	vt_press(vt, "N");
	vt_run(vt, 200);
	CHECK_INT(selected(vt), first);
	press(vt, "/no such name\r", "not found");
	quit(vt);
}

static void mark_and_mouse(void)
{
	struct vt *vt = start("shop", 80, 24);

	press(vt, "m", "mark set");
	CHECK_CONTAINS(vt_text(vt), "SINCE MARK");
	CHECK_CONTAINS(vt_line(vt, 3), "mark 1");
	press(vt, "m", "mark removed");
	press(vt, "v2", "stacks by bytes");
	/* SGR mouse mode: the third line of the table; then the heading BLOCKS. */
	CHECK(vt_has_mouse(vt));
	press(vt, "\033[<0;10;8M\033[<0;10;8m", " 3/");
	press(vt, "\033[<0;17;5M\033[<0;17;5m", "stacks by blocks");
	press(vt, "\033[<64;10;8M", " 6/");
	/* A snapshot stays as it is. */
	press(vt, " ", "does not change");
	press(vt, "+", "does not change");
	press(vt, "l", "memtrace: messages");
	press(vt, "x", "? help");
	press(vt, "\t", "e");
	quit(vt);
}

/* --- numbers ------------------------------------------------------------------------ */

static json_t *read_json(const char *name)
{
	char command[1024];
	json_error_t why;
	json_t *root;
	FILE *out;

	snprintf(command, sizeof(command), "%s --replay %s --top 0 --format json",
		 MEMTRACE, path_of(name));
	out = popen(command, "re");
	REQUIRE(out);
	root = json_loadf(out, 0, &why);
	REQUIRE(!pclose(out));
	REQUIRE(root);
	return root;
}

/* Does line `y` begin with the bytes, blocks and age of this stack? */
static void check_stack(struct vt *vt, unsigned y, const json_t *stack)
{
	uint64_t bytes =
		(uint64_t)json_integer_value(json_object_get(stack, "size_bytes"));
	uint64_t blocks = (uint64_t)json_integer_value(json_object_get(stack, "blocks"));
	uint64_t age =
		(uint64_t)json_integer_value(json_object_get(stack, "oldest_age_ns"));
	char want[128];

	snprintf(want, sizeof(want), "%10s %7s", units_format_bytes(bytes).s,
		 units_format_count(blocks).s);
	check_state.checks++;
	if (strncmp(vt_line(vt, y), want, strlen(want)) != 0)
		CHECK_FAIL("line %u is not \"%s\": %s", y, want, vt_line(vt, y));
	CHECK_CONTAINS(vt_line(vt, y), units_format_duration(age).s);
}

static void numbers(void)
{
	static const char *const names[] = {"store",  "shop",  "orders",
					    "python", "redis", "clang"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct vt *vt = start(names[i], 200, 60);
		json_t *root = read_json(names[i]);
		json_t *heap = json_object_get(root, "heap");
		json_t *stacks = json_object_get(heap, "stacks");
		uint64_t live_bytes =
			(uint64_t)json_integer_value(json_object_get(heap, "live_bytes"));
		uint64_t live_blocks = (uint64_t)json_integer_value(
			json_object_get(heap, "live_blocks"));
		uint64_t rss = (uint64_t)json_integer_value(
			json_object_get(json_object_get(root, "target"), "vm_rss_bytes"));
		char want[128];
		size_t shown = 0;

		press(vt, "v2", "stacks by bytes");
		for (size_t k = 0; k < json_array_size(stacks) && shown < 40; k++) {
			const json_t *stack = json_array_get(stacks, k);

			if (json_integer_value(json_object_get(stack, "blocks")))
				check_stack(vt, 5 + (unsigned)shown++, stack);
		}
		CHECK(shown > 0);
		snprintf(want, sizeof(want), "live heap %s in %" PRIu64 " blocks",
			 units_format_bytes(live_bytes).s, live_blocks);
		CHECK_CONTAINS(vt_line(vt, 1), want);
		snprintf(want, sizeof(want), "RSS   %s", units_format_bytes(rss).s);
		CHECK_CONTAINS(vt_line(vt, 1), want);
		json_decref(root);
		quit(vt);
	}
}

/* --- terminals ---------------------------------------------------------------------- */

static void resized(void)
{
	struct vt *vt = start("store", 80, 24);

	vt_resize(vt, 200, 60);
	CHECK(vt_wait(vt, "w write", TIMEOUT_MS));
	vt_run(vt, 100);
	if (!write_dir)
		compare(vt, "store", 200, 60);
	vt_resize(vt, 50, 10);
	CHECK(vt_wait(vt, "too small", TIMEOUT_MS));
	vt_resize(vt, 80, 24);
	CHECK(vt_wait(vt, "? help", TIMEOUT_MS));
	vt_run(vt, 100);
	if (!write_dir)
		compare(vt, "store", 80, 24);
	quit(vt);
}

static void colors(void)
{
	static const char *const none[] = {"NO_COLOR=1", NULL};
	static const char *const ascii[] = {"LC_ALL=C", NULL};
	static const char *const old[] = {"TERM=vt100", NULL};
	struct vt *vt = start("store", 80, 24);

	CHECK(vt_has_colors(vt));
	CHECK(vt_has_inverted(vt));
	quit(vt);
	vt = start_with("store", 80, 24, none);
	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	CHECK(!vt_has_colors(vt));
	CHECK(vt_has_inverted(vt));
	quit(vt);
	vt = start_with("store", 80, 24, ascii);
	REQUIRE(vt_wait(vt, "? help", TIMEOUT_MS));
	for (const char *c = vt_text(vt); *c; c++)
		CHECK((unsigned char)*c < 0x80);
	compare(vt, "ascii", 80, 24);
	quit(vt);
	vt = start_with("store", 80, 24, old);
	CHECK(vt_wait(vt, "? help", TIMEOUT_MS));
	CHECK(!vt_has_colors(vt));
	quit(vt);
}

/* --- files -------------------------------------------------------------------------- */

static void written(void)
{
	static const struct {
		const char *keys, *name, *begin;
	} files[] = {
		{"ws", "memtrace-%d-1.mts", "\x8fmts"},
		{"wh", "memtrace-%d-1.html", "<!DOCTYPE html>"},
		{"wf", "memtrace-%d-1.svg", "<?xml"},
		{"ws", "memtrace-%d-2.mts", "\x8fmts"},
	};
	char dir[] = "/tmp/memtrace-live-XXXXXX", cwd[512];
	json_t *root = read_json("store");
	int pid = (int)json_integer_value(
		json_object_get(json_object_get(root, "target"), "pid"));
	struct vt *vt;

	json_decref(root);
	REQUIRE(mkdtemp(dir) && getcwd(cwd, sizeof(cwd)) && !chdir(dir));
	vt = start("store", 80, 24);
	REQUIRE(!chdir(cwd));
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++) {
		char name[64], said[96], path[256], begin[32] = "";
		_cleanup_(fclosep) FILE *file = NULL;
		struct stat st;

		snprintf(name, sizeof(name), files[i].name, pid);
		snprintf(said, sizeof(said), "wrote %s", name);
		snprintf(path, sizeof(path), "%s/%s", dir, name);
		press(vt, files[i].keys, said);
		file = fopen(path, "re");
		REQUIRE(file && !fstat(fileno(file), &st));
		CHECK_INT(st.st_mode & 0777, 0600);
		REQUIRE(fread(begin, 1, strlen(files[i].begin), file) > 0);
		CHECK(!strncasecmp(begin, files[i].begin, strlen(files[i].begin)));
		unlink(path);
		/* So that the second snapshot is not the first one again. */
		if (i == 0) {
			FILE *again = fopen(path, "we");

			REQUIRE(again && !fclose(again));
		}
	}
	quit(vt);
	snprintf(cwd, sizeof(cwd), "%s/memtrace-%d-1.mts", dir, pid);
	unlink(cwd);
	CHECK(!rmdir(dir));
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	RUN(screens);
	RUN(keys);
	RUN(moving);
	RUN(searching);
	RUN(mark_and_mouse);
	RUN(numbers);
	RUN(resized);
	RUN(colors);
	RUN(written);
	return check_done();
}
