// SPDX-License-Identifier: Apache-2.0
/* Code that an earlier run compiled and kept: memtrace uses it, it works like new code,
 * and no run depends on it. */
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mount.h>
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

static void use_directory(const char *name)
{
	free(directory);
	directory = live_path(name);
	setenv(CACHE_ENV, directory, 1);
}

/* Calls `f`, unless NULL, for each entry. Returns the number of entries. */
static unsigned each_entry(struct cache *cache,
			   void (*f)(struct cache *, const struct cache_key *))
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

/* The code of an entry. NULL: the entry has something else. */
static struct code *take_code(struct cache *cache, const struct cache_key *key)
{
	size_t size;
	void *bytes = cache_get(cache, key, &size);
	struct code *code = bytes ? code_unpack(bytes, size) : NULL;

	free(bytes);
	return code;
}

/* Replaces the code of an entry, and destroys it. */
static void keep_code(struct cache *cache, const struct cache_key *key, struct code *code)
{
	size_t size;
	void *bytes = code_pack(code, &size);

	REQUIRE(bytes);
	cache_put(cache, key, bytes, size);
	free(bytes);
	code_destroy(code);
}

static void entry_path(const struct cache *cache, const struct cache_key *key,
		       char ret[PATH_MAX])
{
	int len = snprintf(ret, PATH_MAX, "%s/", cache->path);

	for (size_t i = 0; i < sizeof(key->hash); i++)
		len += snprintf(ret + len, PATH_MAX - len, "%02x", key->hash[i]);
	snprintf(ret + len, PATH_MAX - len, ".kept");
}

/* Replaces the code of an entry by valid code that the kernel refuses: no program
 * ends. */
static void spoil(struct cache *cache, const struct cache_key *key)
{
	struct code *code = take_code(cache, key);

	if (!code)
		return;
	spoiled++;
	for (size_t i = 0; i < code->insns.len; i++)
		if (code->insns.data[i].code == (BPF_JMP | BPF_EXIT))
			code->insns.data[i] =
				(struct bpf_insn){.code = BPF_JMP | BPF_JA, .off = -1};
	keep_code(cache, key, code);
}

/* Calls `f` for each entry. */
static void spoil_all(void (*f)(struct cache *, const struct cache_key *))
{
	struct cache cache;

	spoiled = 0;
	REQUIRE(!cache_open(&cache));
	each_entry(&cache, f);
	cache_close(&cache);
	CHECK(spoiled > 0);
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
	spoil_all(spoil);
	trace_mixed(oracle, "", " is not used: the kernel refuses its programs\n");
	trace_mixed(oracle, "", EARLIER);
}

/* Of the libraries of the compiler, one has changed since. */
static void outdate(struct cache *cache, const struct cache_key *key)
{
	struct code *code = take_code(cache, key);

	if (!code)
		return;
	spoiled++;
	REQUIRE(code->libraries.len > 0);
	code->libraries.data[0].size_bytes++;
	keep_code(cache, key, code);
}

static void open_to_all(struct cache *cache, const struct cache_key *key)
{
	char path[PATH_MAX];

	entry_path(cache, key, path);
	REQUIRE(!chmod(path, 0666));
	spoiled++;
}

/* An entry that is not to be trusted is compiled again, and -v names it. unit.bpf.cache
 * has the other reasons. */
static void entries_not_to_be_trusted(void)
{
	static const struct {
		void (*spoil)(struct cache *, const struct cache_key *);
		const char *why;
	} flaws[] = {
		{outdate, "libraries of the BPF compiler have changed since"},
		{open_to_all, "other users may access it"},
	};
	struct live_process *memtrace;

	for (size_t i = 0; i < sizeof(flaws) / sizeof(*flaws); i++) {
		char said[128];

		spoil_all(flaws[i].spoil);
		snprintf(said, sizeof(said), ".kept is not used: %s\n", flaws[i].why);
		trace_mixed(oracle, "", said);
	}
	/* Without -v nothing is said. */
	spoil_all(outdate);
	memtrace = memtrace_start(live_pid(oracle), "");
	CHECK(!strstr(live_stderr(memtrace), "is not used"));
	json_decref(memtrace_stop(memtrace));
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

	use_directory("primed");
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

/* Has the directory files whose names end in this way? */
static unsigned count_files(const char *end)
{
	DIR *dir = opendir(directory);
	struct dirent *at;
	unsigned count = 0;

	REQUIRE(dir);
	while ((at = readdir(dir))) {
		size_t len = strlen(at->d_name);

		count += len >= strlen(end) &&
			 !strcmp(at->d_name + len - strlen(end), end);
	}
	closedir(dir);
	return count;
}

static void check_valid(struct cache *cache, const struct cache_key *key)
{
	size_t size;
	void *bytes = cache_get(cache, key, &size);

	CHECK(bytes);
	free(bytes);
}

/* Both compile, both are right, and each entry is whole. */
static void two_fill_it_at_once(void)
{
	struct live_process *memtrace[2];
	struct cache cache;
	json_t *truth;

	use_directory("shared");
	for (size_t i = 0; i < 2; i++)
		memtrace[i] = memtrace_start_plain(
			live_pid(oracle), "-v --format json --top 0 --older 0 -i 3600");
	for (size_t i = 0; i < 2; i++)
		CHECK(live_wait_stderr(memtrace[i], ANEW, 30));
	oracle_do(oracle, "run mixed 1000 1");
	truth = oracle_ask(oracle, "truth");
	for (size_t i = 0; i < 2; i++) {
		json_t *report = memtrace_report(memtrace[i]);

		CHECK_INT(compare_heap(truth, report, true), 0);
		CHECK_INT(compare_losses(report, NULL), 0);
		CHECK(!strstr(live_stderr(memtrace[i]), "is not used"));
		json_decref(report);
	}
	json_decref(truth);
	oracle_do(oracle, "run release 1 1");
	for (size_t i = 0; i < 2; i++)
		json_decref(memtrace_stop(memtrace[i]));
	CHECK_INT(count_files(".new"), 0);
	REQUIRE(!cache_open(&cache));
	CHECK(each_entry(&cache, check_valid) > 0);
	cache_close(&cache);
	trace_mixed(oracle, "", EARLIER);
}

/* Adds what no run uses, up to the limit of size. */
static void fill(void)
{
	const struct timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char path[PATH_MAX];
	int fd;

	for (unsigned i = 0; i < CACHE_BYTES >> 22; i++) {
		snprintf(path, sizeof(path), "%s/%02u.kept", directory, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		REQUIRE(fd >= 0 && !ftruncate(fd, 4 << 20) && !futimens(fd, old));
		close(fd);
	}
}

/* What was unused for longest makes room. */
static void it_is_full(void)
{
	use_directory("full");
	REQUIRE(!mkdir(directory, 0700));
	fill();
	trace_mixed(oracle, "", ANEW);
	/* The new entries take less than one of the others. */
	CHECK_INT(count_files(".kept"), (CACHE_BYTES >> 22) - 1 + each_entry(NULL, NULL));
	trace_mixed(oracle, "", EARLIER);
}

static void unmount(void)
{
	(void)umount2(directory, MNT_DETACH);
}

/* The run is as without a cache, and -v says why nothing is kept. */
static void its_file_system_is_full(void)
{
	const char *const argv[] = {memtrace_path, "--prime-cache", NULL};
	struct live_process *memtrace;

	use_directory("small");
	REQUIRE(!mkdir(directory, 0700));
	REQUIRE(!mount("small", directory, "tmpfs", 0, "size=16k,mode=0700"));
	atexit(unmount);
	trace_mixed(oracle, "", ANEW);
	trace_mixed(oracle, "", ".kept: No space left on device\n");
	CHECK_INT(count_files(".new"), 0);
	memtrace = live_start(argv);
	CHECK_INT(live_wait(memtrace, 60), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "memtrace: --prime-cache: cannot write ");
	CHECK_CONTAINS(live_stderr(memtrace), "No space left on device\n");
	live_destroy(memtrace);
	CHECK_INT(count_files(".new"), 0);
	unmount();
}

int main(void)
{
	live_require_root();
	use_directory("cache");
	oracle = oracle_start();
	RUN(used_by_the_next_run);
	RUN(the_kernel_refuses_it);
	RUN(entries_not_to_be_trusted);
	RUN(not_wanted);
	RUN(not_to_be_trusted);
	RUN(says_how_long_it_took);
	RUN(primed);
	RUN(two_fill_it_at_once);
	RUN(it_is_full);
	RUN(its_file_system_is_full);
	live_destroy(oracle);
	return check_done();
}
