// SPDX-License-Identifier: Apache-2.0
/* Code that an earlier run compiled and kept: memtrace uses it, it works like new code,
 * and no run depends on it. */
#include <dirent.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bpf/cache.h"
#include "bpf/code.h"
#include "check.h"
#include "live/trace.h"
#include "util/clock.h"

#define ANEW    "compiled with embedded headers, tables"
#define EARLIER "compiled with embedded headers by an earlier run, tables"

static struct live_process *oracle;
static char *directory;
static unsigned spoiled;

/* Calls `f`, unless NULL, for each entry. Returns the number of entries. */
static unsigned each_entry(const struct cache *cache,
			   void (*f)(const struct cache *, const struct cache_key *))
{
	DIR *dir = opendir(directory);
	struct dirent *at;
	unsigned count = 0;

	while (dir && (at = readdir(dir))) {
		struct cache_key key;
		size_t i;

		for (i = 0; i < sizeof(key.hash); i++)
			if (sscanf(at->d_name + 2 * i, "%2hhx", &key.hash[i]) != 1)
				break;
		if (i < sizeof(key.hash))
			continue;
		count++;
		if (f)
			f(cache, &key);
	}
	if (dir)
		closedir(dir);
	return count;
}

/* Replaces the code of an entry by valid code that the kernel refuses: no program
 * ends. */
static void spoil(const struct cache *cache, const struct cache_key *key)
{
	size_t size;
	void *bytes = cache_get(cache, key, &size);
	struct code *code = bytes ? code_unpack(bytes, size) : NULL;

	/* Some entries are not code. */
	free(bytes);
	if (!code)
		return;
	spoiled++;
	for (size_t i = 0; i < code->insns.len; i++)
		if (code->insns.data[i].code == (BPF_JMP | BPF_EXIT))
			code->insns.data[i] =
				(struct bpf_insn){.code = BPF_JMP | BPF_JA, .off = -1};
	bytes = code_pack(code, &size);
	REQUIRE(bytes);
	cache_put(cache, key, bytes, size);
	free(bytes);
	code_destroy(code);
}

static void used_by_the_next_run(void)
{
	trace_mixed(oracle, "", ANEW);
	CHECK(each_entry(NULL, NULL) > 0);
	trace_mixed(oracle, "", EARLIER);
	/* Other options need other code, which is kept, too. */
	trace_mixed(oracle, "--mappings", ANEW);
	trace_mixed(oracle, "--mappings", EARLIER);
	trace_mixed(oracle, "--traffic", ANEW);
	trace_mixed(oracle, "--traffic", EARLIER);
	trace_mixed(oracle, "", EARLIER);
}

static void the_kernel_refuses_it(void)
{
	struct cache cache;

	REQUIRE(!cache_open(&cache));
	each_entry(&cache, spoil);
	CHECK(spoiled > 0);
	cache_close(&cache);
	trace_mixed(oracle, "", ANEW);
	trace_mixed(oracle, "", EARLIER);
}

static void not_wanted(void)
{
	unsigned before = each_entry(NULL, NULL);

	trace_mixed(oracle, "--no-cache", ANEW);
	trace_mixed(oracle, "--no-cache --traffic", ANEW);
	CHECK_INT(each_entry(NULL, NULL), before);
}

/* memtrace does not trust a directory with these permissions. It says so, and runs as
 * without one. */
static void not_to_be_trusted(void)
{
	char said[256];

	REQUIRE(chmod(directory, 0755) == 0);
	snprintf(said, sizeof(said),
		 "compiled code is not kept: %s does not belong to user 0", directory);
	trace_mixed(oracle, "", said);
	trace_mixed(oracle, "", ANEW);
	REQUIRE(chmod(directory, 0700) == 0);
	trace_mixed(oracle, "", EARLIER);
}

/* -v prints how long the start took, and each phase of it. The phases add up to the
 * whole, which is not longer than the test had to wait. */
static void says_how_long_it_took(void)
{
	static const char *const phases[] = {
		": processes ", ", planning ",  ", kernel features ", ", kernel types ",
		", compiling ", ", verifying ", ", tables ",          ", attaching ",
	};
	const uint64_t phase_count = sizeof(phases) / sizeof(*phases);
	uint64_t begin_ns = clock_now_ns(), passed_ns;
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "-v --no-cache");
	unsigned whole_s, whole_ms, sum_ms = 0;
	const char *at;

	REQUIRE(live_wait_stderr(memtrace, "attaching ", 30));
	REQUIRE(live_wait_stderr(memtrace, " ms\n", 30));
	passed_ns = clock_now_ns() - begin_ns;
	at = strstr(live_stderr(memtrace), "memtrace: started in ");
	REQUIRE(at);
	REQUIRE(sscanf(at, "memtrace: started in %u.%u s", &whole_s, &whole_ms) == 2);
	whole_ms += whole_s * 1000;
	CHECK(whole_ms <= passed_ns / 1000000 + 1);
	for (size_t i = 0; i < phase_count; i++) {
		unsigned ms;

		at = strstr(at, phases[i]);
		REQUIRE(at);
		at += strlen(phases[i]);
		REQUIRE(sscanf(at, "%u ms", &ms) == 1);
		sum_ms += ms;
		/* The compiler must have run: --no-cache. */
		if (strstr(phases[i], "compiling"))
			CHECK(ms > 0);
	}
	CHECK_CONTAINS(at, " ms\n");
	/* Each time is rounded to a millisecond. */
	CHECK(sum_ms + phase_count >= whole_ms && whole_ms + phase_count >= sum_ms);
	json_decref(memtrace_stop(memtrace));
}

/* --prime-cache compiles the code that usual runs need. */
static void primed(void)
{
	const char *const argv[] = {memtrace_path, "--prime-cache", NULL};
	const char *const limited[] = {"prlimit", "--nofile=64:64", memtrace_path,
				       "--prime-cache", NULL};
	struct live_process *memtrace;
	char said[256];

	directory = live_path("primed");
	setenv(CACHE_ENV, directory, 1);
	memtrace = live_start(argv);
	CHECK_INT(live_wait(memtrace, 60), 0);
	snprintf(said, sizeof(said), "memtrace: code for 6 kinds of runs is kept in %s\n",
		 directory);
	CHECK_STR(live_stderr(memtrace), said);
	live_destroy(memtrace);
	trace_mixed(oracle, "", EARLIER);
	trace_mixed(oracle, "--follow-forks", EARLIER);
	trace_mixed(oracle, "--mappings", EARLIER);
	trace_mixed(oracle, "--traffic", EARLIER);

	/* Every kind of run fails, and one line says why. */
	memtrace = live_start(limited);
	CHECK_INT(live_wait(memtrace, 60), 1);
	CHECK_CONTAINS(live_stderr(memtrace),
		       "memtrace: --prime-cache: 6 of 6 kinds of runs failed: one "
		       "process: memtrace may open 64 files only");
	CHECK_INT(live_count(live_stderr(memtrace), "\n"), 1);
	live_destroy(memtrace);

	REQUIRE(chmod(directory, 0777) == 0);
	memtrace = live_start(argv);
	CHECK_INT(live_wait(memtrace, 60), 1);
	CHECK_CONTAINS(live_stderr(memtrace), directory);
	live_destroy(memtrace);
}

int main(void)
{
	live_require_root();
	directory = live_path("cache");
	setenv(CACHE_ENV, directory, 1);
	oracle = oracle_start();
	RUN(used_by_the_next_run);
	RUN(the_kernel_refuses_it);
	RUN(not_wanted);
	RUN(not_to_be_trusted);
	RUN(says_how_long_it_took);
	RUN(primed);
	live_destroy(oracle);
	return check_done();
}
