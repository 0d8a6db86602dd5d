// SPDX-License-Identifier: Apache-2.0
/*
 * memtrace's stacks, compared with libdw's unwinder frame by frame.
 *
 * Stock programs without frame pointers run under memtrace, and stop at calls of malloc
 * so that libdw can unwind them (malloc_samples.h). When enough of the sampled blocks are
 * live, memtrace reports each live block with its stack. Every sample must be in the
 * report, and its stack must have the frames that libdw found: the same number, with the
 * same addresses.
 */
#include <sched.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/malloc_samples.h"
#include "live/trace.h"

#define SAMPLES_WANTED  1200 /* live samples that libdw unwound to the end */
#define SAMPLES_MIN     1000
#define STACKS_MIN      50  /* distinct stacks */
#define DEEPEST_MIN     25  /* frames of the deepest stack */
#define DEPTH_MAX       127 /* frames that memtrace keeps: --stack-depth */
#define FRAMES_MAX      256 /* more frames than a row can have */
#define THREADS_MAX     16
#define PIPE_SIZE       65536 /* default on Linux */
#define START_TIMEOUT_S 30
#define SHOWN           3 /* differences that are printed in full */

/* --- programs --------------------------------------------------------------------- */

/* A program. It waits for its work on stdin while memtrace attaches. */
struct program {
	const char *name;
	const char *argv[12];
	const char *work; /* a file in tests/live/work */
	/* Repetitions of the file, numbered at each "@"; 0: the file as it is. */
	unsigned copies;
	unsigned gap;     /* average number of malloc calls between two samples */
	unsigned threads; /* threads that allocate */
};

static const struct program perl = {
	.name = "perl",
	.argv = {"/usr/bin/perl", "-"},
	.work = "keep.pl",
	.gap = 4,
	.threads = 1,
};

static const struct program python = {
	.name = "python3",
	.argv = {"/usr/bin/env", "PYTHONMALLOC=malloc", "/usr/bin/python3", "-"},
	.work = "keep.py",
	.gap = 8,
	.threads = 3,
};

static const struct program bash = {
	.name = "bash",
	.argv = {"/usr/bin/bash"},
	.work = "keep.bash",
	.gap = 2,
	.threads = 1,
};

/* The tables, views and triggers of a database stay allocated. */
static const struct program sqlite = {
	.name = "sqlite3",
	.argv = {"/usr/bin/sqlite3", ":memory:"},
	.work = "keep.sql",
	.copies = 60,
	.gap = 1,
	.threads = 1,
};

/* C++. The code that the compiler has generated so far stays allocated. */
static const struct program clang = {
	.name = "clang",
	.argv = {"/usr/bin/clang", "-cc1", "-O1", "-emit-llvm", "-o", "/dev/null", "-x",
		 "c++", "-"},
	.work = "keep.cc.in",
	.copies = 90,
	.gap = 8,
	.threads = 1,
};

/* C++. Unlike most programs, many of its functions have a frame pointer, which unwinding
 * needs. */
static const struct program gdb = {
	.name = "gdb",
	.argv = {"/usr/bin/gdb", "-nx", "-q", "-iex", "maintenance set worker-threads 0"},
	.work = "keep.gdb",
	.copies = 80,
	.gap = 2,
	.threads = 1,
};

/* --- the comparison --------------------------------------------------------------- */

struct comparison {
	const struct program *program;
	const struct malloc_samples *samples;
	unsigned found;    /* live samples in the report */
	unsigned compared; /* whole samples with an equal stack */
	unsigned differing;
	unsigned too_deep; /* equal at both ends: are_both_ends() */
	/* Compared samples with a call of gdb's operator new: count_own_new(). */
	unsigned with_own_new;
	unsigned distinct;
	size_t deepest;
	uint64_t *hashes; /* hashes of the compared stacks */
	pid_t tids[THREADS_MAX];
	unsigned threads;
};

#define MARK 0 /* stands for the frames that memtrace leaves out of a deep stack */

/* Stores the addresses of a row's frames. Skips inlined functions. */
static size_t row_pcs(const json_t *row, uint64_t *ret)
{
	const json_t *frame;
	size_t i, count = 0;

	json_array_foreach (live_get(row, "frames"), i, frame) {
		const json_t *address = json_object_get(frame, "address");

		if (json_is_true(json_object_get(frame, "inlined")))
			continue;
		REQUIRE(count < FRAMES_MAX);
		ret[count++] = json_is_string(address)
				       ? strtoull(json_string_value(address), NULL, 16)
				       : MARK;
	}
	return count;
}

/* Prints both stacks, memtrace's first. Address 0: this stack has no such frame. */
static void complain(struct comparison *c, const struct malloc_sample *sample,
		     const char *end, const uint64_t *pcs, size_t count)
{
	if (c->differing++ >= SHOWN)
		return;
	CHECK_FAIL("%s: block 0x%" PRIx64 ": memtrace has %zu frames (%s), libdw %zu",
		   c->program->name, sample->block, count, end, sample->count);
	for (size_t i = 0; i < count || i < sample->count; i++) {
		uint64_t one = i < count ? pcs[i] : 0;
		uint64_t other = i < sample->count ? sample->pcs[i] : 0;

		fprintf(stderr, "  %s%zu:", one == other ? "  " : "! ", i);
		malloc_samples_print(c->samples, one);
		if (one != other)
			malloc_samples_print(c->samples, other);
		fputc('\n', stderr);
	}
}

static uint64_t hash_pcs(const uint64_t *pcs, size_t count)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ pcs[i]) * 0x9e3779b97f4a7c15u;
	return hash;
}

static void note_thread(struct comparison *c, pid_t tid)
{
	for (unsigned i = 0; i < c->threads; i++)
		if (c->tids[i] == tid)
			return;
	REQUIRE(c->threads < THREADS_MAX);
	c->tids[c->threads++] = tid;
}

/* gdb has its own operator new. memtrace traces it, counts its call of malloc as a part
 * of it, and reports the stack of its caller. libdw's stack has one more frame, or two
 * for operator new[]. Returns this number of frames. */
static size_t count_own_new(const struct comparison *c,
			    const struct malloc_sample *sample, const json_t *row)
{
	size_t count = 0;

	if (strcmp(json_string_value(live_get(row, "allocator")), "glibc") == 0)
		return 0;
	for (; count < sample->count; count++) {
		const char *function =
			malloc_samples_function(c->samples, sample->pcs[count]);

		if (!function || (strncmp(function, "_Znw", 4) != 0 &&
				  strncmp(function, "_Zna", 4) != 0))
			break;
	}
	return count;
}

/* Is the row of a stack of more than DEPTH_MAX frames right? It must have frames of both
 * ends and a mark between them. Before Linux 6.9 it has only the innermost frames. */
static bool are_both_ends(const char *end, const uint64_t *pcs, size_t count,
			  const uint64_t *all, size_t all_count)
{
	size_t inner = 0, outer = 0;

	while (inner < count && pcs[inner] != MARK)
		inner++;
	if (inner < count)
		outer = count - inner - 1;
	return inner + outer == DEPTH_MAX && inner > outer &&
	       !strcmp(end, outer ? "complete" : "depth") &&
	       !memcmp(pcs, all, inner * sizeof(*pcs)) &&
	       !memcmp(pcs + count - outer, all + all_count - outer,
		       outer * sizeof(*pcs));
}

/* A sample of more than DEPTH_MAX frames does not count as compared. */
static void compare(struct comparison *c, const json_t *row,
		    const struct malloc_sample *sample, const uint64_t *pcs, size_t count)
{
	const char *end = json_string_value(live_get(row, "end"));
	size_t own = count_own_new(c, sample, row), want = sample->count - own;

	if (want > DEPTH_MAX) {
		if (are_both_ends(end, pcs, count, sample->pcs + own, want))
			c->too_deep++;
		else
			complain(c, sample, end, pcs, count);
		return;
	}
	if (count != want || memcmp(pcs, sample->pcs + own, count * sizeof(*pcs)) != 0 ||
	    strcmp(end, "complete") != 0) {
		complain(c, sample, end, pcs, count);
		return;
	}
	c->with_own_new += own != 0;
	c->hashes[c->compared++] = hash_pcs(pcs, count);
	if (count > c->deepest)
		c->deepest = count;
	note_thread(c, sample->tid);
}

static void compare_row(struct comparison *c, const json_t *row)
{
	static uint64_t pcs[FRAMES_MAX];
	size_t i, count = row_pcs(row, pcs);
	const json_t *block;

	json_array_foreach (live_get(row, "allocations"), i, block) {
		const char *address = json_string_value(live_get(block, "address"));
		const struct malloc_sample *sample =
			malloc_samples_find(c->samples, strtoull(address, NULL, 16));

		if (!sample)
			continue;
		c->found++;
		CHECK_INT(live_int(block, "size_bytes"), sample->size);
		CHECK_INT(live_int(block, "tid"), sample->tid);
		if (sample->is_whole)
			compare(c, row, sample, pcs, count);
	}
}

static int by_value(const void *pa, const void *pb)
{
	uint64_t a = *(const uint64_t *)pa, b = *(const uint64_t *)pb;

	return (a > b) - (a < b);
}

static unsigned count_distinct(struct comparison *c)
{
	unsigned distinct = 0;

	qsort(c->hashes, c->compared, sizeof(*c->hashes), by_value);
	for (unsigned i = 0; i < c->compared; i++)
		distinct += !i || c->hashes[i] != c->hashes[i - 1];
	return distinct;
}

static void print_result(const struct comparison *c,
			 const struct malloc_sample_counts *counts)
{
	printf("  %s: %u samples of %u threads compared, %u distinct stacks, deepest %zu "
	       "frames, %u differing\n",
	       c->program->name, c->compared, c->threads, c->distinct, c->deepest,
	       c->differing);
	printf("    %u calls, %u unwound, %u of them not to the end by libdw%s%s\n",
	       counts->calls, counts->unwound, counts->not_whole, counts->why ? ": " : "",
	       counts->why ? counts->why : "");
	printf("    %u of more than %u frames, %u from an operator new of its own, "
	       "%u not in the report\n",
	       c->too_deep, DEPTH_MAX, c->with_own_new, counts->live - c->found);
}

static void check_result(const struct comparison *c)
{
	struct malloc_sample_counts counts = malloc_samples_count(c->samples);

	print_result(c, &counts);
	CHECK_INT(c->differing, 0);
	CHECK_INT(c->found, counts.live);
	CHECK(c->compared >= SAMPLES_MIN);
	CHECK(c->distinct >= STACKS_MIN);
	CHECK(c->deepest >= DEEPEST_MIN);
	CHECK(c->threads >= c->program->threads);
	/* libdw lacks a register in _dl_runtime_resolve (see test_walk_oracle.c). */
	CHECK(counts.not_whole * 100 <= counts.unwound);
}

static void compare_report(const struct program *program,
			   const struct malloc_samples *samples, const json_t *report)
{
	struct comparison c = {.program = program, .samples = samples};
	const json_t *row;
	size_t i;

	c.hashes = calloc(malloc_samples_count(samples).live + 1, sizeof(*c.hashes));
	REQUIRE(c.hashes);
	json_array_foreach (live_get(report, "heap.stacks"), i, row)
		compare_row(&c, row);
	c.distinct = count_distinct(&c);
	check_result(&c);
	CHECK_INT(compare_losses(report, NULL), 0);
	free(c.hashes);
}

/* --- a program under both --------------------------------------------------------- */

/* Reads the link /proc/PID/fd/FD. */
static void file_of(pid_t pid, unsigned fd, char *ret, size_t size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/fd/%u", (int)pid, fd);

	ssize_t n = readlink(path, ret, size - 1);

	ret[n > 0 ? n : 0] = '\0';
}

/* Is the process reading from the pipe that is its stdin, by any descriptor? */
static bool is_reading(pid_t pid)
{
	char path[64], own[64], other[64];
	unsigned number, fd;
	int count;

	snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);

	FILE *f = fopen(path, "re");

	if (!f)
		return false;
	count = fscanf(f, "%u 0x%x", &number, &fd);
	fclose(f);
	if (count != 2 || number != SYS_read)
		return false;
	file_of(pid, 0, own, sizeof(own));
	file_of(pid, fd, other, sizeof(other));
	return !strcmp(own, other);
}

/* Waits until the program reads. gdb polls: it has written a prompt. */
static void await_reading(struct live_process *target)
{
	pid_t pid = live_pid(target);
	double until_s = live_now_s() + START_TIMEOUT_S;

	while (!is_reading(pid) && !live_wait_stdout(target, 0)) {
		if (live_now_s() > until_s)
			live_fail("process %d does not read its input", (int)pid);
		live_sleep(0.01);
	}
}

/* Sends `text` with `number` in place of each "@", unless `number` is 0. The program
 * stops at its first malloc and stops reading, so the whole text must fit in the pipe. */
static void send_lines(struct live_process *target, const char *text, unsigned number,
		       size_t *sent)
{
	char line[512];
	size_t n = 0;

	for (; *text; text++) {
		REQUIRE(n + 16 < sizeof(line));
		if (*text == '@' && number) {
			n += (size_t)snprintf(line + n, 16, "%u", number);
		} else if (*text != '\n') {
			line[n++] = *text;
		} else {
			*sent += n + 1;
			REQUIRE(*sent <= PIPE_SIZE);
			live_send(target, "%.*s", (int)n, line);
			n = 0;
		}
	}
}

static void send_work(struct live_process *target, const struct program *program)
{
	char *text = files_read(TEST_DATA_DIR "/live/work/%s", program->work);
	size_t sent = 0;

	if (!program->copies)
		send_lines(target, text, 0, &sent);
	for (unsigned i = 1; i <= program->copies; i++)
		send_lines(target, text, i, &sent);
	live_close_stdin(target);
	free(text);
}

static bool is_installed(const struct program *program)
{
	for (size_t i = 0; program->argv[i]; i++)
		if (program->argv[i][0] == '/' && access(program->argv[i], F_OK) != 0)
			return false;
	return true;
}

/* Runs this test and the program on one processor. They take turns, and a stop takes half
 * as long if no other processor must wake up. Returns the affinity to restore. */
static cpu_set_t share_processor(pid_t pid)
{
	cpu_set_t before, one;
	int cpu = sched_getcpu();

	REQUIRE(cpu >= 0 && !sched_getaffinity(0, sizeof(before), &before));
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	REQUIRE(!sched_setaffinity(0, sizeof(one), &one));
	REQUIRE(!sched_setaffinity(pid, sizeof(one), &one));
	return before;
}

static void compare_program(const struct program *program)
{
	if (!is_installed(program)) {
		CHECK_SKIP_PART("%s is not installed", program->name);
		return;
	}

	struct live_process *target = live_start(program->argv);
	pid_t pid = live_pid(target);

	await_reading(target);

	struct live_process *memtrace = memtrace_start(pid, "--no-lines --show-allocs");
	cpu_set_t before = share_processor(pid);
	struct malloc_samples *samples = malloc_samples_begin(pid, program->gap);

	send_work(target, program);
	malloc_samples_take(samples, SAMPLES_WANTED);
	REQUIRE(!sched_setaffinity(0, sizeof(before), &before));

	json_t *report = memtrace_report(memtrace);

	compare_report(program, samples, report);
	json_decref(report);
	malloc_samples_end(samples);
	live_destroy(target);
	json_decref(memtrace_stop(memtrace));
}

static void stacks_of_perl(void)
{
	compare_program(&perl);
}

static void stacks_of_python_threads(void)
{
	compare_program(&python);
}

static void stacks_of_bash(void)
{
	compare_program(&bash);
}

static void stacks_of_sqlite(void)
{
	compare_program(&sqlite);
}

static void stacks_of_clang(void)
{
	compare_program(&clang);
}

static void stacks_of_gdb(void)
{
	compare_program(&gdb);
}

int main(void)
{
	live_require_root();
	if (!malloc_samples_are_possible())
		check_skip("perf_event_open(2) has no sigtrap before Linux 5.13");
	RUN(stacks_of_perl);
	RUN(stacks_of_python_threads);
	RUN(stacks_of_bash);
	RUN(stacks_of_sqlite);
	RUN(stacks_of_clang);
	RUN_WITH_RETURN_PROBES(stacks_of_gdb);
	return check_done();
}
