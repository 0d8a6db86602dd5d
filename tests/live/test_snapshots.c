// SPDX-License-Identifier: Apache-2.0
/* --save, --replay and --diff: the same results on another machine or later. */
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S 30
#define NOBODY    65534

/* A directory that all users may enter. Owned. */
static char *open_dir(const char *name)
{
	char *dir = live_path(name), *slash;
	char parent[512];

	REQUIRE(!mkdir(dir, 0755));
	snprintf(parent, sizeof(parent), "%s", dir);
	slash = strrchr(parent, '/');
	*slash = '\0';
	REQUIRE(!chmod(parent, 0755));
	return dir;
}

/* Runs memtrace without tracing, as an unprivileged user. Its only message has the text
 * `note`; NULL: it has none. Returns the first line of its output, owned. */
static char *run_unprivileged(const char *const argv[], const char *note)
{
	struct live_process *memtrace = live_start_as(argv, NOBODY);
	char *result = live_read_line(memtrace, TIMEOUT_S);

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	if (note)
		CHECK_CONTAINS(live_stderr(memtrace), note);
	else
		CHECK_STR(live_stderr(memtrace), "");
	REQUIRE(result);
	live_destroy(memtrace);
	return result;
}

/* The replay equals the second report, with growth since the first, byte by byte. Neither
 * the target nor root is needed. */
static void replay_is_the_report(void)
{
	struct live_process *oracle = oracle_start();
	_cleanup_(freep) char *dir = open_dir("replay");
	char options[1024], path[512];

	snprintf(options, sizeof(options),
		 "--mappings --show-allocs --save %s/%%n.mts --json %s/2.json", dir, dir);

	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);

	oracle_do(oracle, "run mixed 500 1");
	json_decref(memtrace_report(memtrace));
	oracle_do(oracle, "run mixed 1500 1");

	json_t *report = memtrace_stop(memtrace), *replayed;
	_cleanup_(freep) char *again = NULL;
	_cleanup_(freep) char *original = files_read("%s/2.json", dir);

	live_destroy(oracle);
	snprintf(path, sizeof(path), "%s/2.mts", dir);

	struct stat st;

	REQUIRE(!stat(path, &st));
	CHECK_INT(st.st_mode, S_IFREG | 0600);
	REQUIRE(!chmod(path, 0644));

	const char *const argv[] = {memtrace_path, "--replay",      path, "--format",
				    "json",        "--top",         "0",  "--older",
				    "0",           "--show-allocs", NULL};

	again = run_unprivileged(argv, NULL);
	replayed = json_loads(again, 0, NULL);
	REQUIRE(replayed);
	original[strcspn(original, "\n")] = '\0';
	CHECK_STR(again, original);
	CHECK(json_equal(replayed, report));
	CHECK_INT(live_int(replayed, "sequence"), 2);
	CHECK(live_int(replayed, "heap.live_blocks") >= 100);
	CHECK(strstr(original, "\"symbol\":\"scenario_mixed\""));
	CHECK(strstr(original, "\"traffic\":{\"allocations\":"));
	json_decref(report);
	json_decref(replayed);
}

/* Saves a snapshot of a new process that holds `blocks` blocks. */
static json_t *save(const char *path, unsigned blocks)
{
	struct live_process *oracle = oracle_start();
	char options[1024];

	snprintf(options, sizeof(options), "--save %s", path);

	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);

	oracle_do(oracle, "run keep %u 1", blocks);

	json_t *report = memtrace_stop(memtrace);

	live_destroy(oracle);
	REQUIRE(!chmod(path, 0644));
	return report;
}

static json_t *diff(const char *old, const char *new, const char *note)
{
	const char *const argv[] = {memtrace_path, "--diff",  old, new, "--format",
				    "json",        "--older", "0", NULL};

	_cleanup_(freep) char *line = run_unprivileged(argv, note);
	json_t *result = json_loads(line, 0, NULL);

	REQUIRE(result);
	return result;
}

/* Two runs of a program at different addresses. The diff shows exactly the stacks that
 * leaked more, with the exact difference. */
static void diff_finds_what_leaked(void)
{
	_cleanup_(freep) char *dir = open_dir("diff");
	char first[512], second[512], third[512];

	snprintf(first, sizeof(first), "%s/1.mts", dir);
	snprintf(second, sizeof(second), "%s/2.mts", dir);
	snprintf(third, sizeof(third), "%s/3.mts", dir);

	json_t *a = save(first, 300), *b = save(second, 300), *c = save(third, 1000);
	json_t *same = diff(first, second, NULL), *more = diff(first, third, NULL),
	       *less = diff(third, first, "name the older file first");

	CHECK_INT(live_int(same, "heap.changed"), 0);
	CHECK_INT(live_int(same, "heap.unchanged"), live_int(a, "heap.stack_count"));
	CHECK_INT(live_int(same, "heap.difference_bytes"), 0);

	const json_t *row = json_array_get(live_get(more, "heap.stacks"), 0);
	int64_t bytes = live_int(c, "heap.live_bytes") - live_int(a, "heap.live_bytes");

	REQUIRE(row);
	CHECK_INT(live_int(more, "heap.changed"), 1);
	CHECK_INT(live_int(more, "heap.difference_bytes"), bytes);
	CHECK_INT(live_int(row, "difference_blocks"), 700);
	CHECK_INT(live_int(row, "difference_bytes"), bytes);
	CHECK_INT(live_int(row, "old_blocks"), 300);
	CHECK_INT(live_int(row, "new_blocks"), 1000);
	CHECK(row_site(row));
	row = json_array_get(live_get(less, "heap.stacks"), 0);
	REQUIRE(row);
	CHECK_INT(live_int(row, "difference_blocks"), -700);
	CHECK_INT(live_int(row, "difference_bytes"), -bytes);
	json_decref(a);
	json_decref(b);
	json_decref(c);
	json_decref(same);
	json_decref(more);
	json_decref(less);
}

/* examples/leak.c, stripped; its debug info is in DIR/debug as a debug package has it. */
#define BUILD                                                                            \
	"set -e; cd %s; cp " TEST_DATA_DIR "/../examples/leak.c .; "                     \
	"gcc -g -O1 leak.c -o leak; "                                                    \
	"id=$(readelf -n leak | sed -n 's/.*Build ID: //p'); "                           \
	"to=debug/.build-id/$(echo $id | cut -c1-2); mkdir -p $to; "                     \
	"to=$to/$(echo $id | cut -c3-).debug; "                                          \
	"objcopy --only-keep-debug leak $to; strip leak; ! nm leak 2>&1 | grep main"

/* The number of the line of examples/leak.c with this text. */
static int64_t line_with(const char *text)
{
	FILE *file = fopen(TEST_DATA_DIR "/../examples/leak.c", "re");
	char line[256];
	int64_t number = 0, found = 0;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		number++;
		if (strstr(line, text)) {
			CHECK(!found);
			found = number;
		}
	}
	fclose(file);
	REQUIRE(found);
	return found;
}

static json_t *replay_stripped(const char *path, const char *option, const char *value)
{
	const char *const argv[] = {memtrace_path, "--replay", path, "--format",
				    "json",        "--older",  "0",  "-q",
				    option,        value,      NULL};
	_cleanup_(freep) char *line = run_unprivileged(argv, NULL);
	json_t *report = json_loads(line, 0, NULL);

	REQUIRE(report);
	return report;
}

/* Is there a frame of this function of leak.c, with the line? */
static bool has_frame(const json_t *report, const char *function, int64_t line)
{
	const json_t *row, *frame;
	size_t i, k;

	json_array_foreach (live_get(report, "heap.stacks"), i, row) {
		json_array_foreach (live_get(row, "frames"), k, frame) {
			const char *name =
				json_string_value(json_object_get(frame, "symbol"));
			const char *file =
				json_string_value(json_object_get(frame, "file"));

			if (name && !strcmp(name, function) &&
			    (!line || (file && strstr(file, "/leak.c") &&
				       live_int(frame, "line") == line)))
				return true;
		}
	}
	return false;
}

static void check_stripped(const json_t *report, bool is_named)
{
	CHECK(json_array_size(live_get(report, "heap.stacks")) >= 1);
	CHECK_INT(has_frame(report, "copy_text", line_with("malloc(")), is_named);
	CHECK_INT(has_frame(report, "main", line_with("handle_request(number);")),
		  is_named);
	CHECK_INT(has_frame(report, "copy_text", 0), is_named);
}

/* A program without symbols is traced and saved; later and elsewhere, without root and
 * without the program, its debug files name functions and lines. A snapshot that such a
 * replay saves has them too. */
static void stripped_program_is_named_later(void)
{
	_cleanup_(freep) char *dir = open_dir("stripped");
	char command[2048], program[512], options[640], path[512], debug[512], save[512];
	const char *const target[] = {program, NULL};
	struct live_process *leak;
	json_t *report;

	snprintf(command, sizeof(command), BUILD, dir);
	REQUIRE(!system(command));
	snprintf(program, sizeof(program), "%s/leak", dir);
	snprintf(path, sizeof(path), "%s/leak.mts", dir);
	snprintf(debug, sizeof(debug), "%s/debug", dir);
	snprintf(save, sizeof(save), "%s/named.mts", dir);
	snprintf(options, sizeof(options), "--save %s", path);
	leak = live_start(target);

	struct live_process *memtrace = memtrace_start(live_pid(leak), options);

	live_sleep(0.5);
	report = memtrace_stop(memtrace);
	live_destroy(leak);
	check_stripped(report, false);
	json_decref(report);
	REQUIRE(!unlink(program) && !chmod(path, 0644) && !chmod(dir, 0777));

	report = replay_stripped(path, NULL, NULL);
	check_stripped(report, false);
	json_decref(report);
	report = replay_stripped(path, "--debug-dir", debug);
	check_stripped(report, true);
	json_decref(report);

	const char *const argv[] = {memtrace_path, "--replay", path,   "--debug-dir",
				    debug,         "--format", "json", "-q",
				    "--save",      save,       NULL};
	free(run_unprivileged(argv, NULL));
	report = replay_stripped(save, NULL, NULL);
	check_stripped(report, true);
	json_decref(report);
}

int main(void)
{
	live_require_root();
	RUN(replay_is_the_report);
	RUN(diff_finds_what_leaked);
	RUN(stripped_program_is_named_later);
	return check_done();
}
