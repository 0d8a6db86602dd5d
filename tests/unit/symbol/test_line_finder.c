// SPDX-License-Identifier: Apache-2.0
/* Lines of a process that runs, exits, loses its file, or loads libraries. */
#include "unit/dwarf/compare_lines.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "descriptors.h"
#include "symbol/frame_lookup.h"
#include "dwarf/lines.h"
#include "symbol_table.h"

#define TARGETS TEST_DATA_DIR "/unit/symbol/targets/"

/* The program inlines.c, which prints the address of its function outer and then
 * waits. */
struct target {
	pid_t pid;
	FILE *out;
	int in;
	uint64_t outer;
	struct proc *proc;
};

static struct target start(const char *name)
{
	struct target target;
	int in[2], out[2];
	char line[256];

	REQUIRE(!pipe(in) && !pipe(out));
	target.pid = fork();
	REQUIRE(target.pid >= 0);
	if (!target.pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		close(in[1]);
		close(out[0]);
		execl(work_path(name), name, (char *)NULL);
		_exit(127);
	}
	close(in[0]);
	close(out[1]);
	target.in = in[1];
	target.out = fdopen(out[0], "r");
	REQUIRE(target.out && fgets(line, sizeof(line), target.out));
	target.outer = strtoull(line, NULL, 16);
	REQUIRE(target.outer);
	REQUIRE(!proc_open(target.pid, &target.proc));
	return target;
}

static void end_target(struct target *target)
{
	if (target->in < 0)
		return;
	close(target->in);
	fclose(target->out);
	target->in = -1;
	REQUIRE(waitpid(target->pid, NULL, 0) == target->pid);
}

static void end(struct target *target)
{
	end_target(target);
	proc_close(target->proc);
}

static struct line_finder *create(const struct target *target)
{
	const struct line_options options = {.debug_dirs = NULL};
	struct line_finder *finder = NULL;

	REQUIRE(!line_finder_create(target->proc, &options, &finder));
	return finder;
}

/* Somewhere in outer there must be a stack of outer, make, fill and push. */
static void check_outer(struct line_finder *finder, const struct target *target)
{
	unsigned deep = 0;

	for (uint64_t at = 0; at < 200; at++) {
		struct source_frames frames;

		REQUIRE(!line_finder_find(finder, target->outer + at, &frames));
		if (frames.list.len == 4) {
			deep++;
			CHECK_STR(frames.list.data[1].function, "fill");
			CHECK_STR(frames.list.data[3].function, "outer");
			CHECK_STR(frames.list.data[3].file, TARGETS "inlines.c");
			CHECK_INT(frames.list.data[3].line, 51);
			CHECK_INT(frames.function_offset, at);
		}
		source_frames_deinit(&frames);
	}
	CHECK(deep > 5);
}

static void while_it_lives(void)
{
	struct target target = start("x");
	struct line_finder *finder = create(&target);
	static const uint64_t nowhere[] = {0, 1, 0xfff, UINT64_MAX, UINT64_MAX / 2};
	struct source_frames frames;

	check_outer(finder, &target);
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(*nowhere); i++) {
		REQUIRE(!line_finder_find(finder, nowhere[i], &frames));
		CHECK_INT(frames.list.len, 0);
	}
	line_finder_destroy(finder);
	line_finder_destroy(NULL);
	end(&target);
}

/* No line was requested before the exit. */
static void after_its_exit(void)
{
	struct target target = start("x");
	struct line_finder *finder = create(&target);

	end_target(&target);
	line_finder_mappings_changed(finder);
	check_outer(finder, &target);
	line_finder_destroy(finder);
	end(&target);
}

static void after_its_file_is_gone(void)
{
	struct target target;
	struct line_finder *finder;

	SHELL("cp x gone && cp x replaced");
	target = start("gone");
	finder = create(&target);
	SHELL("rm gone");
	check_outer(finder, &target);
	line_finder_destroy(finder);
	/* The file was deleted before: it is opened by /proc/PID/map_files, which
	 * requires root. */
	if (!geteuid()) {
		finder = create(&target);
		check_outer(finder, &target);
		line_finder_destroy(finder);
	}
	end(&target);

	/* A new program at the path must not be used. */
	target = start("replaced");
	SHELL("rm replaced && gcc -g -O0 " TARGETS "inlines.c -o replaced");
	if (!geteuid()) {
		finder = create(&target);
		check_outer(finder, &target);
		line_finder_destroy(finder);
	}
	end(&target);
}

/* The debug file is truncated while it is read: no SIGBUS, for any owner of the file. */
static void when_its_file_is_cut(void)
{
	struct target target;
	struct line_finder *finder;
	struct source_frames frames;

	/* An executed file cannot be written to. Its debug file can. */
	SHELL("mkdir -p .debug && objcopy --only-keep-debug x .debug/cut.debug && "
	      "objcopy -g --add-gnu-debuglink=.debug/cut.debug x cut && "
	      "chmod 666 .debug/cut.debug");
	target = start("cut");
	finder = create(&target);
	check_outer(finder, &target);
	SHELL("truncate -s 100 .debug/cut.debug");
	for (uint64_t at = 0; at < 3000; at++) {
		REQUIRE(!line_finder_find(finder, target.outer - 1000 + at, &frames));
		source_frames_deinit(&frames);
	}
	line_finder_destroy(finder);
	end(&target);
}

/* Through the target's root directory, even after the target has ended. */
static void of_split_dwarf(void)
{
	struct target target;
	struct line_finder *finder;
	struct line_missing missing;
	struct source_frames frames;

	SHELL("gcc -g -O2 -gsplit-dwarf " TARGETS "inlines.c -o split && "
	      "test -f split-inlines.dwo");
	target = start("split");
	finder = create(&target);
	end_target(&target);
	check_outer(finder, &target);
	CHECK(!line_finder_next_missing(finder, &missing));
	line_finder_destroy(finder);
	end(&target);

	SHELL("rm split-inlines.dwo");
	target = start("split");
	finder = create(&target);
	for (int i = 0; i < 3; i++) {
		REQUIRE(!line_finder_find(finder, target.outer, &frames));
		CHECK_INT(frames.list.len, 1);
		source_frames_deinit(&frames);
	}
	REQUIRE(line_finder_next_missing(finder, &missing));
	CHECK_STR(missing.path, work_path("split"));
	CHECK(!missing.why);
	CHECK(!line_finder_next_missing(finder, &missing));
	line_finder_destroy(finder);
	end(&target);
}

static void says_what_is_missing(void)
{
	struct target target;
	struct line_finder *finder;
	struct line_missing missing;
	struct source_frames frames;

	SHELL("strip -o bare x");
	target = start("bare");
	finder = create(&target);
	CHECK(!line_finder_next_missing(finder, &missing));
	for (int i = 0; i < 3; i++) {
		REQUIRE(!line_finder_find(finder, target.outer, &frames));
		CHECK_INT(frames.list.len, 0);
	}
	REQUIRE(line_finder_next_missing(finder, &missing));
	CHECK_STR(missing.path, work_path("bare"));
	CHECK_STR(missing.why, "no debug info");
	CHECK(!line_finder_next_missing(finder, &missing));
	line_finder_destroy(finder);
	end(&target);
}

struct phases {
	unsigned count;
};

static void count_phase(void *arg, const char *phase)
{
	((struct phases *)arg)->count++;
	CHECK_CONTAINS(phase, "reading debug info of ");
}

/* Quick work shows no progress. */
static void progress_is_quiet(void)
{
	struct target target = start("x");
	struct phases phases = {0};
	const struct line_options options = {.progress = count_phase,
					     .progress_arg = &phases};
	struct line_finder *finder;

	REQUIRE(!line_finder_create(target.proc, &options, &finder));
	check_outer(finder, &target);
	CHECK_INT(phases.count, 0);
	line_finder_destroy(finder);
	end(&target);
}

/* frame_look_up() completes and demangles names. */
static void for_frames(void)
{
	struct target target = start("x");
	struct line_finder *finder = create(&target);
	struct frame_lookup lookup = {.lines = finder};
	struct source_frames frames, sources;
	struct symbol symbol;

	REQUIRE(!symbolizer_table_create(NULL, 0, &lookup.symbolizer));
	for (uint64_t at = 0; at < 100; at++) {
		REQUIRE(!line_finder_find(finder, target.outer + at, &frames));
		REQUIRE(!frame_look_up(&lookup, target.outer + at, &symbol, &sources));
		CHECK_INT(sources.list.len, frames.list.len);
		CHECK_INT(sources.list.data[0].line, frames.list.data[0].line);
		CHECK_STR(symbol.name, "outer");
		CHECK_INT(symbol.offset, at);
		symbol_deinit(&symbol);
		source_frames_deinit(&sources);
		source_frames_deinit(&frames);
	}
	symbolizer_destroy(lookup.symbolizer);
	line_finder_destroy(finder);
	end(&target);
}

static void leaves_no_descriptors(void)
{
	struct target target = start("x");
	int before = dup(0), after;

	close(before);
	for (int i = 0; i < 3; i++) {
		struct line_finder *finder = create(&target);

		check_outer(finder, &target);
		line_finder_destroy(finder);
	}
	after = dup(0);
	CHECK_INT(after, before);
	close(after);
	end(&target);
}

/* --- a program that maps and unmaps files all the time ------------------------------ */

#define FILES 700

/* A child that maps a page of each file as code, in place of the one before. */
struct mapper {
	int go[2], done[2];
	char *at;
};

static void map_files(const struct mapper *m)
{
	char name[32], byte;

	for (int i = 0; i < FILES && read(m->go[0], &byte, 1) == 1; i++) {
		int fd;

		snprintf(name, sizeof(name), "loaded%d", i);
		fd = open(work_path(name), O_RDONLY | O_CLOEXEC);
		if (mmap(m->at, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
			 0) != m->at)
			_exit(1);
		close(fd);
		if (write(m->done[1], "", 1) != 1)
			_exit(1);
	}
	pause();
}

static pid_t start_mapper(struct mapper *m)
{
	pid_t pid;

	m->at = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(m->at != MAP_FAILED && !pipe(m->go) && !pipe(m->done));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		map_files(m);
		_exit(0);
	}
	return pid;
}

static void files_that_come_and_go(void)
{
	const struct line_options options = {.debug_dirs = NULL};
	struct mapper mapper;
	pid_t pid = start_mapper(&mapper);
	size_t before, most = 0, missing_count = 0;
	struct line_finder *finder;
	struct line_missing missing;
	struct source_frames frames;
	struct proc *proc;
	char byte;

	REQUIRE(!proc_open(pid, &proc));
	REQUIRE(!line_finder_create(proc, &options, &finder));
	before = count_descriptors(getpid());
	for (int i = 0; i < FILES; i++) {
		SHELL("cp bare loaded%d", i);
		REQUIRE(write(mapper.go[1], "", 1) == 1);
		REQUIRE(read(mapper.done[0], &byte, 1) == 1);
		line_finder_mappings_changed(finder);
		REQUIRE(!line_finder_find(finder, (uint64_t)(uintptr_t)mapper.at,
					  &frames));
		source_frames_deinit(&frames);
		if (count_descriptors(getpid()) > most)
			most = count_descriptors(getpid());
	}
	/* About 500 files are kept open, and each is named once. */
	CHECK(most < before + 600);
	while (missing_count <= FILES && line_finder_next_missing(finder, &missing))
		missing_count++;
	CHECK(missing_count >= 256 && missing_count <= 600);
	line_finder_destroy(finder);
	proc_close(proc);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	for (int i = 0; i < 2; i++) {
		close(mapper.go[i]);
		close(mapper.done[i]);
	}
	munmap(mapper.at, 4096);
}

int main(void)
{
	make_work_dir();
	SHELL("gcc -g -O2 " TARGETS "inlines.c -o x");
	RUN(while_it_lives);
	RUN(after_its_exit);
	RUN(after_its_file_is_gone);
	RUN(when_its_file_is_cut);
	RUN(of_split_dwarf);
	RUN(says_what_is_missing);
	RUN(progress_is_quiet);
	RUN(for_frames);
	RUN(leaves_no_descriptors);
	RUN(files_that_come_and_go);
	remove_work_dir();
	return check_done();
}
