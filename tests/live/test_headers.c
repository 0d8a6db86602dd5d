// SPDX-License-Identifier: Apache-2.0
/* The probes compile against the embedded headers and against installed ones, wherever
 * memtrace is started. */
#include <glob.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

static struct live_process *oracle;

/* Traces with these options. Checks the figures, and that memtrace names this kind of
 * headers. */
static void check_traces(const char *options, const char *kind)
{
	char anew[1024], said[64];

	snprintf(anew, sizeof(anew), "--no-cache %s", options);
	snprintf(said, sizeof(said), "compiled with %s headers", kind);
	trace_mixed(oracle, anew, said);
}

static void embedded(void)
{
	check_traces("--kernel-headers embedded", "embedded");
	check_traces("--kernel-headers embedded --mappings", "embedded");
}

/* scripts/test unpacks the distribution's kernel headers and passes their directory. */
static void installed(void)
{
	const char *dir = getenv("MEMTRACE_TEST_HEADERS");
	char options[1024];

	if (!dir) {
		printf("MEMTRACE_TEST_HEADERS names no kernel headers: a copy of the "
		       "embedded tree stands in\n");
		dir = SOURCE_DIR "/probes/kernel";
	}
	snprintf(options, sizeof(options), "--kernel-headers %s", dir);
	check_traces(options, "installed");
	snprintf(options, sizeof(options), "--kernel-headers %s --mappings", dir);
	check_traces(options, "installed");
}

/* libbcc searches the working directory first: a file planted there must not be compiled
 * into a program that root loads. */
static void hostile_working_directory(void)
{
	char *dir = live_path("cwd"), path[512];
	FILE *f;

	REQUIRE(mkdir(dir, 0700) == 0);
	snprintf(path, sizeof(path), "%s/linux", dir);
	REQUIRE(mkdir(path, 0700) == 0);
	snprintf(path, sizeof(path), "%s/linux/types.h", dir);
	f = fopen(path, "w");
	REQUIRE(f);
	fputs("#error planted\n", f);
	fclose(f);
	REQUIRE(chdir(dir) == 0);
	check_traces("--kernel-headers embedded", "embedded");
	REQUIRE(chdir("/") == 0);
	free(dir);
}

static size_t directories(void)
{
	glob_t found;
	size_t n = glob("/run/memtrace-*", 0, NULL, &found) == 0 ? found.gl_pathc : 0;

	globfree(&found);
	return n;
}

/* If memtrace is killed while it compiles, it leaves nothing in the file system. */
static void killed_while_compiling(void)
{
	size_t before = directories();

	for (int ms = 10; ms <= 300; ms += 40) {
		struct live_process *memtrace =
			memtrace_start_plain(live_pid(oracle), "-q --no-cache");

		live_sleep(ms / 1000.0);
		live_signal(memtrace, SIGKILL);
		live_wait(memtrace, 30);
		live_destroy(memtrace);
	}
	CHECK_INT(directories(), before);
	oracle_do(oracle, "run keep 10 1");
	oracle_do(oracle, "run release 1 1");
}

int main(void)
{
	live_require_root();
	oracle = oracle_start();
	RUN(embedded);
	RUN(installed);
	RUN(hostile_working_directory);
	RUN(killed_while_compiling);
	live_destroy(oracle);
	return check_done();
}
