// SPDX-License-Identifier: Apache-2.0
/*
 * One function opens every path that the target names: below the target's root directory,
 * and first with O_PATH (place_find() of util/regular_file.h). strace(1) shows all opens
 * of memtrace. The confined children only request opens.
 */
#include "check.h"
#include "live/files.h"
#include "live/trace.h"
#include "process/debug_file.h"
#include "util/strbuf.h"

#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/stat.h>

#define TIMEOUT_S    120
#define FOLDER       "named-by-the-target"
#define CHILDREN_MAX 16

/* Parts of the paths that the target names. */
static const char *const names[] = {
	"/program",       /* its program */
	"/library.so",    /* a library that it loads while it is traced */
	"/program.debug", /* the program's debug file, by .gnu_debuglink */
	"tmp/perf-",      /* perf map: symbols of its generated code */
	".dwo",           /* split debug info, named by the program */
};

#define NAMES (sizeof(names) / sizeof(*names))

struct log {
	int children[CHILDREN_MAX];
	size_t child_count;
	unsigned proper, asked; /* calls by that function, and requests by children */
	unsigned seen[NAMES];   /* calls that have names[i] in their path */
	char named[512];        /* a path that the user names, below our root; "": none */
	int fetcher;            /* memtrace-fetch; 0: none */
	unsigned fetched;       /* its calls for debug files */
};

static bool is_child(const struct log *log, int pid)
{
	for (size_t i = 0; i < log->child_count; i++)
		if (log->children[i] == pid)
			return true;
	return false;
}

/* Is the first string of the call a path that the target names? Counts it in `seen`. */
static bool names_the_target(struct log *log, const char *call)
{
	const char *begin = strchr(call, '"'), *end;
	bool is_named = false;

	if (!begin)
		return false;
	end = strchr(begin + 1, '"');
	for (size_t i = 0; i < NAMES; i++) {
		const char *name = strstr(begin, names[i]);

		if (name && end && name < end) {
			is_named = true;
			log->seen[i]++;
		}
	}
	return is_named;
}

static bool is_call(const char *call, const char *name)
{
	return !strncmp(call, name, strlen(name)) && call[strlen(name)] == '(';
}

/* Below our own root directory memtrace opens what the user names, and debug files of the
 * machine, which may have names of the target. */
static bool is_of_machine(const struct log *log, const char *call)
{
	static const char debug[] = "\"" DEBUG_SYSTEM_DIR "/";
	const char *begin = strchr(call, '"'), *end = strchr(begin + 1, '"');
	size_t len = end ? (size_t)(end - begin - 1) : 0;

	if (!end || !strstr(end, "O_PATH"))
		return false;
	return (len == strlen(log->named) && !strncmp(begin + 1, log->named, len)) ||
	       (!strncmp(begin, debug, sizeof(debug) - 1) &&
		!memmem(begin, len, "/../", 4));
}

static void look_at(struct log *log, const char *line)
{
	int pid, at = 0;
	const char *call;

	if (sscanf(line, "%d %n", &pid, &at) != 1 || !at)
		return;
	call = line + at;
	/* The second part of an interrupted call: its paths are in an earlier line. A
	 * string here is a result, for example of readlink(2). */
	if (!strncmp(call, "<... ", 5))
		return;
	if (is_call(call, "prctl") &&
	    (strstr(call, "\"memtrace-read\"") || strstr(call, "\"memtrace-elf\""))) {
		REQUIRE(log->child_count < CHILDREN_MAX);
		log->children[log->child_count++] = pid;
	}
	if (is_call(call, "prctl") && strstr(call, "\"memtrace-fetch\""))
		log->fetcher = pid;
	if (pid == log->fetcher && strstr(call, "/debuginfo"))
		log->fetched++;
	if (!names_the_target(log, call))
		return;
	if (is_child(log, pid))
		log->asked++;
	else if (is_call(call, "openat2") && strstr(call, "O_PATH") &&
		 strstr(call, "RESOLVE_IN_ROOT"))
		log->proper++;
	else if (!is_of_machine(log, call))
		CHECK_FAIL("%s", line);
}

/* A run of memtrace, and what must be seen of it. */
struct run {
	const char *options; /* the folder replaces each @ */
	bool is_wide;        /* without --pid */
	enum {
		STRIPPED,
		SPLIT,
		WITH_PROBES,
		WITH_ID
	} program;
	const char *without; /* of names[]: files that must not be opened */
	const char *first;   /* memtrace's first line */
};

static char *options_of(const struct run *run, const char *folder)
{
	struct strbuf out = {0};

	for (const char *at = run->options; *at; at++) {
		if (*at == '@')
			strbuf_append(&out, folder);
		else
			strbuf_appendf(&out, "%c", *at);
	}
	REQUIRE(!out.failed);
	return out.data ? out.data : strdup("");
}

/* Strips the program, with a separate debug file beside it. */
static void strip(const char *folder, const char *program)
{
	char command[3000];

	snprintf(command, sizeof(command),
		 "cd %s && objcopy --only-keep-debug %s program.debug && "
		 "objcopy --strip-debug --remove-section=.note.gnu.build-id "
		 "--add-gnu-debuglink=program.debug %s program",
		 folder, program, program);
	REQUIRE(!system(command));
}

/* Strips the program, with a separate debug file in the folder of a server, which
 * memtrace-fetch can read. */
static void serve(const char *folder, const char *server)
{
	char command[3000];

	snprintf(command, sizeof(command),
		 "objcopy --strip-debug %s %s/program && "
		 "id=$(readelf -n %s/program | sed -n 's/.*Build ID: //p') && "
		 "mkdir -p %s/buildid/$id && "
		 "objcopy --only-keep-debug %s %s/buildid/$id/debuginfo && "
		 "chmod -R a+rX %s",
		 LOADER_BINARY, folder, folder, server, LOADER_BINARY, server, server);
	REQUIRE(!system(command));
}

/* Starts the program in `folder`. */
static struct live_process *start_target(const char *folder, const struct run *run)
{
	char path[512];

	mkdir(folder, 0755);
	if (run->program == SPLIT) {
		snprintf(path, sizeof(path), "%s/program", folder);
		files_copy(LOADER_SPLIT_BINARY, path);
	} else if (run->program == WITH_ID) {
		serve(folder, getenv("DEBUGINFOD_URLS") + strlen("file://"));
	} else {
		strip(folder, run->program == STRIPPED ? LOADER_BINARY : EVENTS_BINARY);
	}
	snprintf(path, sizeof(path), "%s/library.so", folder);
	files_copy(LOADED_MALLOC, path);
	snprintf(path, sizeof(path), "%s/program", folder);
	return target_start(path);
}

static struct live_process *start_traced(const struct run *run, const char *folder,
					 pid_t pid, const char *trace)
{
	char *options = options_of(run, folder), command[2048], whom[32] = "";
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	struct live_process *strace;

	if (!run->is_wide)
		snprintf(whom, sizeof(whom), "--pid %d", (int)pid);
	/* Blocks of any age are listed; --event lists everything. */
	snprintf(command, sizeof(command),
		 "exec strace -f -s 4096 -o %s -e trace=%%file,prctl %s %s --format json "
		 "-i 3600 %s %s",
		 trace, memtrace_path, whom,
		 strstr(options, "--event") ? "" : "--older 0", options);
	strace = live_start(argv);
	free(options);
	REQUIRE(live_wait_stderr(strace, run->first ? run->first : "tracing pid",
				 TIMEOUT_S));
	return strace;
}

/* Requests a report, and ends memtrace, which is the only child of strace. A report names
 * what memtrace has seen until then. */
static void stop_traced(struct live_process *strace)
{
	char *child = files_read("/proc/%d/task/%d/children", (int)live_pid(strace),
				 (int)live_pid(strace));
	pid_t memtrace = atoi(child);
	json_t *report;

	free(child);
	REQUIRE(memtrace > 0 && !kill(memtrace, SIGUSR1));
	report = live_read_json(strace, TIMEOUT_S);
	REQUIRE(report);
	json_decref(report);
	REQUIRE(!kill(memtrace, SIGINT));
	CHECK_INT(live_wait(strace, TIMEOUT_S), 0);
}

static void check_run(const struct run *run)
{
	char *folder = live_path(FOLDER);
	struct live_process *target = start_target(folder, run), *strace;
	char *trace = live_path("strace.txt"), line[4096];
	struct log log = {.child_count = 0};
	FILE *file;

	if (run->is_wide)
		snprintf(log.named, sizeof(log.named), "%s/library.so", folder);
	strace = start_traced(run, folder, live_pid(target), trace);
	if (run->program == WITH_PROBES) {
		oracle_do(target, "probes 500");
	} else {
		oracle_do(target, "keep %s/library.so 1", folder);
		oracle_do(target, "again - 500");
	}
	stop_traced(strace);
	file = fopen(trace, "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		look_at(&log, line);
	fclose(file);
	printf("\"%s\": opened %u times by the one function, asked for %u times by %zu "
	       "children\n",
	       run->options, log.proper, log.asked, log.child_count);
	CHECK(log.proper > 0);
	CHECK(log.asked > 0);
	CHECK(log.child_count >= 2);
	CHECK_INT(log.fetched > 0, run->program == WITH_ID);
	for (size_t i = 0; i < NAMES; i++)
		if (!log.seen[i] && !strstr(run->without, names[i]))
			CHECK_FAIL("\"%s\": no call names %s", run->options, names[i]);
	live_destroy(strace);
	live_destroy(target);
	free(trace);
	free(folder);
}

static void one_function_opens(void)
{
	static const struct run runs[] = {
		{.options = "", .without = ".dwo"},
		/* Without lines debug info is not needed, and without rules no unwind
		 * information. */
		{.options = "--follow-forks --unwind fp --no-lines",
		 .without = ".dwo /program.debug"},
		{.options = "--attach perf", .without = ".dwo"},
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		check_run(&runs[i]);
}

/* Files that the user names, below the root directory of the target. */
static void one_function_opens_what_the_user_names(void)
{
	static const struct run runs[] = {
		{.options = "--event uprobe:@/library.so:malloc", .without = ".dwo"},
		{.options = "--event usdt:@/program:events:plain",
		 .program = WITH_PROBES,
		 .without = ".dwo /library.so"},
		{.options = "--lib @/library.so",
		 .is_wide = true,
		 .without = ".dwo",
		 .first = "tracing every process"},
	};

	for (size_t i = 0; i < sizeof(runs) / sizeof(*runs); i++)
		check_run(&runs[i]);
}

/* Files with debug info that the program names. */
static void one_function_opens_debug_info(void)
{
	static const struct run split = {
		.options = "", .program = SPLIT, .without = "/program.debug"};
	static const struct run fetched = {.options = "--debuginfod",
					   .program = WITH_ID,
					   .without = "/program.debug .dwo"};
	char server[] = "/tmp/memtrace-server-XXXXXX", text[64], *cache;

	check_run(&split);
	cache = live_path("cache");
	REQUIRE(mkdtemp(server) && !chmod(server, 0755));
	snprintf(text, sizeof(text), "file://%s", server);
	setenv("DEBUGINFOD_URLS", text, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	check_run(&fetched);
	unsetenv("DEBUGINFOD_URLS");
	unsetenv("DEBUGINFOD_CACHE_PATH");
	snprintf(text, sizeof(text), "rm -r %s", server);
	REQUIRE(!system(text));
	free(cache);
}

int main(void)
{
	live_require_root();
	if (system("strace -V >/dev/null 2>&1"))
		check_skip("strace is not installed");
	RUN_WITH_RETURN_PROBES(one_function_opens);
	RUN(one_function_opens_what_the_user_names);
	RUN(one_function_opens_debug_info);
	return check_done();
}
