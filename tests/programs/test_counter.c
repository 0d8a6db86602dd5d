// SPDX-License-Identifier: Apache-2.0
/* The preloaded counter of scripts/programs: it counts right, memtrace's counts agree
 * with it, and the comparison notices a difference. */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "programs/counter.h"

#define TIMEOUT_S 120

/* The dynamic linker makes some blocks for the threads, which it frees or keeps. */
#define LINKER_BLOCKS 64

static char *directory, *report;

/* The line that the verdict prints, owned, and its status. */
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

/* The first counter file of this command, open; its content in *ret. */
static int open_counts(const char *command, struct counter_file *ret)
{
	DIR *dir = opendir(directory);
	int found = -1;

	REQUIRE(dir);
	for (struct dirent *entry; found < 0 && (entry = readdir(dir));) {
		int fd = openat(dirfd(dir), entry->d_name, O_RDWR | O_CLOEXEC);

		if (fd >= 0 && pread(fd, ret, sizeof(*ret), 0) == sizeof(*ret) &&
		    !strcmp(ret->command, command))
			found = fd;
		else if (fd >= 0)
			close(fd);
	}
	closedir(dir);
	return found;
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

/* The program under memtrace and the counter. What it says itself in *ret. */
static void run_caller(unsigned long long ret[3])
{
	const char *const argv[] = {MEMTRACE_BINARY,
				    "--lib",
				    "libc.so.6",
				    "--format",
				    "json",
				    "--top",
				    "0",
				    "--older",
				    "0",
				    "-i",
				    "3600",
				    "-o",
				    report,
				    "--unwind",
				    "fp",
				    "--",
				    CALLER_BINARY,
				    NULL};

	setenv("LD_PRELOAD", COUNTER_LIBRARY, 1);
	setenv(COUNTER_DIRECTORY, directory, 1);
	struct live_process *memtrace = live_start(argv);
	unsetenv("LD_PRELOAD");
	unsetenv(COUNTER_DIRECTORY);
	char *line = live_read_line(memtrace, TIMEOUT_S);
	if (!line || sscanf(line, "%llu %llu %llu", &ret[0], &ret[1], &ret[2]) != 3)
		live_fail("the program said nothing: %s", live_stderr(memtrace));
	free(line);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
}

static void counts_agree(void)
{
	unsigned long long said[3];
	struct counter_file counts;
	uint64_t allocations = 0, bytes = 0, frees = 0;

	run_caller(said);
	/* The program and its child; not memtrace. */
	CHECK_INT(count_files(), 2);
	check_verdict("exact", "exact: ", 0);
	int fd = open_counts("caller", &counts);
	REQUIRE(fd >= 0);
	for (size_t i = 0; i < COUNTER_SHARDS; i++) {
		allocations += counts.shards[i].allocations;
		bytes += counts.shards[i].allocated_bytes;
		frees += counts.shards[i].frees;
		CHECK_INT(counts.shards[i].overflow, 0);
		CHECK_INT(counts.shards[i].replaced, 0);
	}
	printf("  %llu allocations said, %" PRIu64 " counted\n", said[0], allocations);
	close(fd);
	/* The child's counts may be those that were found: it makes a quarter. */
	bool child = allocations < said[0] / 2;
	unsigned long long part = child ? 4 : 1;
	CHECK(allocations >= said[0] / part);
	CHECK(allocations <= said[0] / part + LINKER_BLOCKS);
	CHECK(bytes >= said[1] / part);
	CHECK(frees >= said[2] / part);
	CHECK(frees <= said[2] / part + LINKER_BLOCKS);
}

/* One more allocation in every file. */
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

/* Without the counter's files nothing is said to be exact. */
static void missing_counts_are_noticed(void)
{
	DIR *dir = opendir(directory);

	REQUIRE(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		unlinkat(dirfd(dir), entry->d_name, 0);
	closedir(dir);
	check_verdict("exact", "not compared: ", 3);
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
	free(directory);
	free(report);
	return check_done();
}
