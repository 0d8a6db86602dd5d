// SPDX-License-Identifier: Apache-2.0
/* The counters of scripts/programs, the preloaded one and the one outside: they count
 * correctly, memtrace's counts agree with them, and the comparison notices a difference.
 */
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "library_path.h"
#include "live/trace.h"
#include "programs/counter.h"

#define TIMEOUT_S 120

/* Blocks that the dynamic linker allocates for threads, and may free. */
#define LINKER_BLOCKS      64
#define LINKER_BLOCK_BYTES 512

static char *directory, *report;

/* The line that verdict prints, owned, and its status in *ret. */
static char *ask_verdict(const char *what, int *ret)
{
	const char *const argv[] = {VERDICT_BINARY, what, report,
				    strcmp(what, "exact") ? NULL : directory, NULL};
	struct live_process *verdict = live_start(argv);
	char *line = live_read_line(verdict, TIMEOUT_S);

	*ret = live_wait(verdict, TIMEOUT_S);
	if (!line)
		live_fail("no verdict: %s", live_stderr(verdict));
	printf("  %s: %s\n", what, line);
	live_destroy(verdict);
	return line;
}

static void check_verdict(const char *what, const char *begins, int expected)
{
	int status;
	char *line = ask_verdict(what, &status);

	CHECK_INT(status, expected);
	CHECK(!strncmp(line, begins, strlen(begins)));
	free(line);
}

struct sums {
	uint64_t allocations, bytes, frees;
};

static struct sums sum_up(const struct counter_file *counts)
{
	struct sums sums = {0};

	for (size_t i = 0; i < COUNTER_SHARDS; i++) {
		sums.allocations += counts->shards[i].allocations;
		sums.bytes += counts->shards[i].allocated_bytes;
		sums.frees += counts->shards[i].frees;
		CHECK_INT(counts->shards[i].overflow, 0);
		CHECK_INT(counts->shards[i].replaced, 0);
	}
	return sums;
}

/* Reads the counts of two processes of this command: the one with the most allocations,
 * and the one with the fewest. */
static void read_counts(const char *command, struct sums *most, struct sums *least)
{
	DIR *dir = opendir(directory);
	struct counter_file counts;

	REQUIRE(dir);
	*most = (struct sums){0};
	*least = (struct sums){.allocations = UINT64_MAX};
	for (struct dirent *entry; (entry = readdir(dir));) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDONLY | O_CLOEXEC);
		bool is_read = fd >= 0 &&
			       pread(fd, &counts, sizeof(counts), 0) == sizeof(counts);

		if (fd >= 0)
			close(fd);
		if (!is_read || strcmp(counts.command, command))
			continue;
		struct sums sums = sum_up(&counts);
		if (sums.allocations > most->allocations)
			*most = sums;
		if (sums.allocations < least->allocations)
			*least = sums;
	}
	closedir(dir);
}

static unsigned count_files(void)
{
	DIR *dir = opendir(directory);
	unsigned n = 0;

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		n += entry->d_name[0] != '.';
	closedir(dir);
	return n;
}

/* Starts the program under memtrace, which traces `library`. `program` ends with NULL. */
static struct live_process *start_traced(const char *library, const char *const program[])
{
	const char *argv[32] = {
		MEMTRACE_BINARY, "--lib", library, "--format", "json",    "--top", "0",
		"--older",       "0",     "-i",    "3600",     "--force", "-o",    report,
		"--unwind",      "fp",    "--"};
	size_t n = 17;

	for (size_t i = 0; program[i] && n < 31; i++)
		argv[n++] = program[i];
	return live_start(argv);
}

/* The same with the preloaded counter. */
static struct live_process *start_counted(const char *const program[])
{
	setenv("LD_PRELOAD", COUNTER_LIBRARY, 1);
	setenv(COUNTER_DIRECTORY, directory, 1);
	struct live_process *memtrace = start_traced("libc.so.6", program);
	unsetenv("LD_PRELOAD");
	unsetenv(COUNTER_DIRECTORY);
	return memtrace;
}

/* Waits for the program and memtrace. *ret: the program's own counts. */
static void read_caller(struct live_process *memtrace, unsigned long long ret[3])
{
	char *line = live_read_line(memtrace, TIMEOUT_S);

	if (!line || sscanf(line, "%llu %llu %llu", &ret[0], &ret[1], &ret[2]) != 3)
		live_fail("the program said nothing: %s", live_stderr(memtrace));
	free(line);
	int status = live_wait(memtrace, TIMEOUT_S);

	CHECK_INT(status, 0);
	if (status)
		fputs(live_stderr(memtrace), stdout);
	live_destroy(memtrace);
}

/* The counter's sums must equal the program's own, plus some blocks of the dynamic
 * linker. */
static void check_sums(const struct sums *sums, const unsigned long long said[3],
		       unsigned part)
{
	CHECK(sums->allocations >= said[0] / part);
	CHECK(sums->allocations <= said[0] / part + LINKER_BLOCKS);
	CHECK(sums->bytes >= said[1] / part);
	CHECK(sums->frees >= said[2] / part);
	CHECK(sums->frees <= said[2] / part + LINKER_BLOCKS);
}

static void counts_agree(void)
{
	unsigned long long said[3];
	struct sums parent, child;

	read_caller(start_counted((const char *const[]){CALLER_BINARY, NULL}), said);
	/* One file for the program and one for its child, none for memtrace. */
	CHECK_INT(count_files(), 2);
	check_verdict("exact", "exact: ", 0);
	read_counts("caller", &parent, &child);
	printf("  %llu allocations said, %" PRIu64 " counted, %" PRIu64 " in the child\n",
	       said[0], parent.allocations, child.allocations);
	check_sums(&parent, said, 1);
	/* The child has one of four threads. */
	check_sums(&child, said, 4);
}

/* Adds an allocation to every file. */
static void difference_is_noticed(void)
{
	struct counter_file counts;
	DIR *dir = opendir(directory);

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);

		if (fd < 0)
			continue;
		REQUIRE(pread(fd, &counts, sizeof(counts), 0) == sizeof(counts));
		counts.shards[5].allocations++;
		REQUIRE(pwrite(fd, &counts, sizeof(counts), 0) == sizeof(counts));
		close(fd);
	}
	closedir(dir);
	check_verdict("exact", "differs: allocations ", 1);
}

static void remove_counts(void)
{
	DIR *dir = opendir(directory);

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
}

/* Without the counter's files the verdict must not be "exact". */
static void missing_counts_are_noticed(void)
{
	remove_counts();
	check_verdict("exact", "not compared: ", 3);
}

/* The counts of the installed programs must be exact, and their output the same as
 * without memtrace. */
static void packaged_programs_agree(void)
{
	static const struct {
		const char *argv[4], *says;
	} programs[] = {
		{{"perl", "-e",
		  "my %h; for my $i (1 .. 20000) { $h{$i % 999} .= 'x' x ($i % 50) }"
		  "print length(join '', values %h), qq(\\n)"},
		 "490000"},
		{{"sqlite3", ":memory:",
		  "with recursive n(i) as (select 1 union all select i + 1 from n limit "
		  "20000) select sum(length(hex(i))) from n;"},
		 "177788"},
		{{"sh", "-c", "(echo child); exec echo $(echo done)"}, "child"},
	};
	unsigned compared = 0;

	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++) {
		char found[64];

		snprintf(found, sizeof(found), "command -v %s >/dev/null",
			 programs[i].argv[0]);
		if (system(found)) {
			CHECK_SKIP_PART("no %s", programs[i].argv[0]);
			continue;
		}
		remove_counts();
		struct live_process *memtrace = start_counted(programs[i].argv);
		char *line = live_read_line(memtrace, TIMEOUT_S);
		CHECK_STR(line, programs[i].says);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
		free(line);
		live_destroy(memtrace);
		check_verdict("exact", "exact: ", 0);
		compared++;
	}
	CHECK(compared > 0);
}

/* Starts the counter outside of the program, and waits until it counts. */
static struct live_process *start_outside(const char *library)
{
	const char *const argv[] = {OUTSIDE_BINARY, library, directory, NULL};
	struct live_process *outside = live_start(argv);
	char *line = live_read_line(outside, TIMEOUT_S);

	if (!line || strcmp(line, "ready"))
		live_fail("nothing is counted: %s", live_stderr(outside));
	free(line);
	return outside;
}

static void stop_outside(struct live_process *outside)
{
	live_signal(outside, SIGTERM);
	CHECK_INT(live_wait(outside, TIMEOUT_S), 0);
	live_destroy(outside);
}

/* A copy of the C library, owned: no other program maps it. */
static char *copy_file(const char *path, const char *name)
{
	char *copy = live_path(name);
	const char *const argv[] = {"cp", "-L", path, copy, NULL};
	struct live_process *cp = live_start(argv);

	REQUIRE(live_wait(cp, TIMEOUT_S) == 0);
	live_destroy(cp);
	return copy;
}

/* It sees the calls within the C library, too. The program looks for its libraries in its
 * own folder first. */
static void outside_counter_agrees(void)
{
	char *libc = library_path("libc.so.6");

	REQUIRE(libc);

	char *library = copy_file(libc, "libc.so.6");
	char *program = copy_file(CALLER_BINARY, "caller");
	const char *const caller[] = {program, "500", NULL};
	unsigned long long said[3], allocations, bytes;
	int status;

	live_allow_return_probes(); /* the counter's */
	remove_counts();
	struct live_process *outside = start_outside(library);
	struct live_process *memtrace = start_traced(library, caller);
	read_caller(memtrace, said);
	stop_outside(outside);

	char *line = ask_verdict("exact", &status);
	CHECK_INT(status, 0);
	REQUIRE(sscanf(line, "exact: %llu allocations, %llu bytes", &allocations,
		       &bytes) == 2);
	CHECK(allocations >= said[0]);
	CHECK(allocations <= said[0] + LINKER_BLOCKS);
	CHECK(bytes >= said[1]);
	CHECK(bytes <= said[1] + LINKER_BLOCKS * LINKER_BLOCK_BYTES);
	free(line);
	free(program);
	free(library);
	free(libc);
}

int main(void)
{
	live_require_root();
	directory = live_path("counts");
	report = live_path("report.json");
	REQUIRE(!mkdir(directory, 0700));
	RUN(counts_agree);
	RUN(difference_is_noticed);
	RUN(missing_counts_are_noticed);
	RUN(packaged_programs_agree);
	RUN(outside_counter_agrees);
	RUN(difference_is_noticed);
	free(directory);
	free(report);
	return check_done();
}
