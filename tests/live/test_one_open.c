// SPDX-License-Identifier: Apache-2.0
/*
 * One function opens every path that the target names: below the target's root directory,
 * and first with O_PATH (place_find() of util/regular_file.h). strace(1) shows all opens
 * of memtrace. The confined children only request opens.
 */
#include "check.h"
#include "live/files.h"
#include "live/trace.h"

#include <stdbool.h>
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
};

#define NAMES (sizeof(names) / sizeof(*names))

struct log {
	int children[CHILDREN_MAX];
	size_t child_count;
	unsigned proper, asked; /* calls by that function, and requests by children */
	unsigned seen[NAMES];   /* calls that have names[i] in their path */
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
	if (!names_the_target(log, call))
		return;
	if (is_child(log, pid))
		log->asked++;
	else if (is_call(call, "openat2") && strstr(call, "O_PATH") &&
		 strstr(call, "RESOLVE_IN_ROOT"))
		log->proper++;
	else
		CHECK_FAIL("%s", line);
}

/* Starts a stripped program in `folder`, with a separate debug file beside it. */
static struct live_process *start_target(const char *folder)
{
	char path[512], command[2048];

	mkdir(folder, 0755);
	snprintf(path, sizeof(path), "%s/program", folder);
	snprintf(command, sizeof(command),
		 "cd %s && objcopy --only-keep-debug %s program.debug && "
		 "objcopy --strip-debug --remove-section=.note.gnu.build-id "
		 "--add-gnu-debuglink=program.debug %s program",
		 folder, LOADER_BINARY, LOADER_BINARY);
	REQUIRE(!system(command));
	snprintf(path, sizeof(path), "%s/library.so", folder);
	files_copy(LOADED_MALLOC, path);
	snprintf(path, sizeof(path), "%s/program", folder);
	return target_start(path);
}

static void check_run(const char *options)
{
	char *folder = live_path(FOLDER);
	struct live_process *target = start_target(folder), *strace;
	char *trace = live_path("strace.txt"), command[1024], line[4096];
	const char *const argv[] = {"/bin/sh", "-c", command, NULL};
	struct log log = {.child_count = 0};
	FILE *file;

	snprintf(command, sizeof(command),
		 "exec strace -f -s 4096 -o %s -e trace=%%file,prctl %s --pid %d "
		 "-i 6 -n 1 %s >/dev/null",
		 trace, memtrace_path, (int)live_pid(target), options);
	strace = live_start(argv);
	REQUIRE(live_wait_stderr(strace, "tracing pid", TIMEOUT_S));
	oracle_do(target, "keep %s/library.so 1", folder);
	oracle_do(target, "again - 500");
	CHECK_INT(live_wait(strace, TIMEOUT_S), 0);
	file = fopen(trace, "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		look_at(&log, line);
	fclose(file);
	printf("opened %u times by the one function, asked for %u times by %zu "
	       "children\n",
	       log.proper, log.asked, log.child_count);
	CHECK(log.proper > 0);
	CHECK(log.asked > 0);
	CHECK(log.child_count >= 2);
	/* Without lines there is no need for debug info. */
	for (size_t i = 0; i < NAMES; i++)
		if (!log.seen[i] &&
		    !(strstr(options, "--no-lines") && strstr(names[i], ".debug")))
			CHECK_FAIL("\"%s\": no call names %s", options, names[i]);
	live_destroy(strace);
	live_destroy(target);
	free(trace);
	free(folder);
}

static void one_function_opens(void)
{
	check_run("");
	check_run("--follow-forks --unwind fp --no-lines");
	check_run("--attach perf");
}

int main(void)
{
	live_require_root();
	if (system("strace -V >/dev/null 2>&1"))
		check_skip("there is no strace");
	RUN_WITH_RETURN_PROBES(one_function_opens);
	return check_done();
}
