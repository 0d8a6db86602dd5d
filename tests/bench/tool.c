// SPDX-License-Identifier: Apache-2.0
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "tree.h"

#define START_TIMEOUT_S 30
#define STOP_TIMEOUT_S  120

#define CODE_BYTES      768 /* of a function: probes may be anywhere inside */

#define MAX_ARGS        16
#define HOUR_S          3600

/* Words of a command line that start() replaces. They are compared by their address. */
static const char pid_word[] = "PID", seconds_word[] = "SECONDS",
		  count_word[] = "COUNT" /* 1, or nothing for reports without end */,
		  options_word[] = "OPTIONS";

/*
 * What memleak-bpfcc does, without posix_memalign(): outstanding bytes for each call
 * path, and the ten largest in each report. $1 is the pid and $2 the seconds between
 * reports.
 *
 * With -p, bpftrace 0.17 puts its probes into all processes that map the library, so the
 * script compares the pid. bpftrace attaches in reverse order: malloc gets the first
 * probe and munmap the last, as with memleak.
 */
#define REMOVE_BLOCK                                                                     \
	"@live[@stack[arg0]] -= @bytes[arg0]; delete(@bytes[arg0]); "                    \
	"delete(@stack[arg0]);"
static const char leak_script[] =
	"uprobe:libc:munmap, uprobe:libc:free /pid == $1 && @bytes[arg0]/ {" REMOVE_BLOCK
	"}"
	"uretprobe:libc:mmap, uretprobe:libc:realloc, uretprobe:libc:memalign,"
	"uretprobe:libc:aligned_alloc, uretprobe:libc:valloc, uretprobe:libc:pvalloc,"
	"uretprobe:libc:calloc, uretprobe:libc:malloc /@size[tid]/ {"
	" @bytes[retval] = @size[tid]; @stack[retval] = ustack;"
	" @live[@stack[retval]] += @size[tid]; delete(@size[tid]); }"
	"uprobe:libc:realloc /pid == $1/ {"
	" @size[tid] = arg1; if (@bytes[arg0]) {" REMOVE_BLOCK "} }"
	"uprobe:libc:mmap, uprobe:libc:memalign, uprobe:libc:aligned_alloc"
	" /pid == $1/ { @size[tid] = arg1; }"
	"uprobe:libc:calloc /pid == $1/ { @size[tid] = arg0 * arg1; }"
	"uprobe:libc:valloc, uprobe:libc:pvalloc, uprobe:libc:malloc"
	" /pid == $1/ { @size[tid] = arg0; }"
	"interval:s:$2 { time(\"%H:%M:%S\\n\"); print(@live, 10); }";

struct kind {
	const char *name;    /* for tables; of a peer also the program, which PATH has */
	unsigned interval_s; /* between reports if tool_start() starts it */
	bool says_when_it_counts; /* on stderr; false: munmap gets the last probe */
	const char *arguments[8];
};

static const struct kind kinds[TOOLS] = {
	[TOOL_MEMTRACE] = {"memtrace",
			   HOUR_S,
			   true,
			   {"-p", pid_word, "--interval", seconds_word, options_word}},
	[TOOL_BEFORE] = {"before",
			 HOUR_S,
			 true,
			 {"-p", pid_word, "--interval", seconds_word, options_word}},
	[TOOL_MEMLEAK] = {"memleak-bpfcc",
			  TOOL_PEER_INTERVAL_S,
			  false,
			  {"-p", pid_word, options_word, seconds_word, count_word}},
	[TOOL_BPFTRACE] = {"bpftrace",
			   TOOL_PEER_INTERVAL_S,
			   false,
			   {"-p", pid_word, options_word, "-e", leak_script, pid_word,
			    seconds_word}},
};

const char *tool_name(enum tool tool)
{
	return kinds[tool].name;
}

const char *tool_program(enum tool tool)
{
	switch (tool) {
	case TOOL_MEMTRACE:
		return MEMTRACE_BINARY;
	case TOOL_BEFORE:
		return getenv(TOOL_BEFORE_VARIABLE);
	default:
		return kinds[tool].name;
	}
}

bool tool_has_before(void)
{
	const char *path = tool_program(TOOL_BEFORE);

	if (!path || !*path)
		return false;
	if (access(path, X_OK))
		die("%s: cannot run %s: %s", TOOL_BEFORE_VARIABLE, path, strerror(errno));
	return true;
}

/* What is observed while a tracer starts. */
struct watch {
	enum tool tool;
	const struct target *target;
	int memory; /* the target's /proc/PID/mem */
	char malloc_code[CODE_BYTES], munmap_code[CODE_BYTES]; /* code before the start */
	char said[4096]; /* the tracer's stderr so far */
	size_t said_len;
};

static void read_code(int memory, uint64_t address, char code[CODE_BYTES])
{
	if (pread(memory, code, CODE_BYTES, (off_t)address) != CODE_BYTES)
		die("cannot read the target's code: %s", strerror(errno));
}

static bool code_changed(int memory, uint64_t address, const char before[CODE_BYTES])
{
	char code[CODE_BYTES];

	read_code(memory, address, code);
	return memcmp(code, before, CODE_BYTES);
}

static void watch_init(struct watch *watch, enum tool tool, const struct target *target)
{
	char path[64];

	watch->tool = tool;
	watch->target = target;
	watch->said[0] = '\0';
	watch->said_len = 0;
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)target->child.pid);
	watch->memory = open(path, O_RDONLY | O_CLOEXEC);
	if (watch->memory < 0)
		die("cannot open %s: %s", path, strerror(errno));
	read_code(watch->memory, target->malloc_address, watch->malloc_code);
	read_code(watch->memory, target->munmap_address, watch->munmap_code);
}

/* How a tracer is to be started. */
struct order {
	const char *const *options; /* ended by NULL */
	unsigned interval_s; /* between reports without end; 0: as tool_start() says */
	double *peak_kib;    /* see tool_start_weighing(); NULL: do not look */
};

static struct child start(const struct watch *watch, const struct order *order)
{
	const struct kind *kind = &kinds[watch->tool];
	const char *argv[MAX_ARGS + 1] = {tool_program(watch->tool)};
	char pid[16], seconds[16];
	size_t argc = 1;

	snprintf(pid, sizeof(pid), "%d", (int)watch->target->child.pid);
	snprintf(seconds, sizeof(seconds), "%u",
		 order->interval_s ? order->interval_s : kind->interval_s);
	for (const char *const *word = kind->arguments; *word && argc < MAX_ARGS;
	     word++) {
		if (*word == options_word)
			for (const char *const *option = order->options;
			     *option && argc < MAX_ARGS; option++)
				argv[argc++] = *option;
		else if (*word == count_word && order->interval_s)
			continue;
		else
			argv[argc++] = *word == pid_word       ? pid
				       : *word == seconds_word ? seconds
				       : *word == count_word   ? "1"
							       : *word;
	}
	argv[argc] = NULL;
	return child_start(argv);
}

/* Read the tracer's stderr, for at most 0.2 ms. Returns false when it is closed. */
static bool listen_to(struct watch *watch, const struct child *child)
{
	struct pollfd p = {.fd = child->err, .events = POLLIN};
	const struct timespec pause = {.tv_nsec = 200000};
	size_t room = sizeof(watch->said) - 1 - watch->said_len;

	if (ppoll(&p, 1, &pause, NULL) <= 0 || !room)
		return true;

	ssize_t n = read(child->err, watch->said + watch->said_len, room);

	if (n <= 0)
		return false;
	watch->said_len += (size_t)n;
	watch->said[watch->said_len] = '\0';
	return true;
}

static bool all_probes_are_there(const struct watch *watch)
{
	if (kinds[watch->tool].says_when_it_counts)
		return strstr(watch->said, "tracing pid");
	return code_changed(watch->memory, watch->target->munmap_address,
			    watch->munmap_code);
}

/* Wait until the tracer counts. Returns false if it ends or exceeds the timeout. */
static bool wait_for_probes(struct watch *watch, double *peak_kib, struct tracing *t)
{
	while (t->all_probes_ms < 0) {
		bool runs = listen_to(watch, &t->child);

		if (peak_kib)
			*peak_kib = fmax(*peak_kib, tree_kib(t->child.pid));

		double ms = (double)(now_ns() - t->child.started_ns) / 1e6;

		if (!runs || ms > START_TIMEOUT_S * 1e3)
			return false;
		if (t->first_probe_ms < 0 &&
		    code_changed(watch->memory, watch->target->malloc_address,
				 watch->malloc_code))
			t->first_probe_ms = ms;
		if (all_probes_are_there(watch))
			t->all_probes_ms = ms;
	}
	t->began_ns = t->child.started_ns + (uint64_t)(t->all_probes_ms * 1e6);
	return true;
}

/* Start a tracer. Returns false if it did not begin to trace; `watch->said` says why. */
static bool try_start(struct watch *watch, const struct order *order, struct tracing *ret)
{
	*ret = (struct tracing){.first_probe_ms = -1, .all_probes_ms = -1};
	ret->child = start(watch, order);

	bool ok = wait_for_probes(watch, order->peak_kib, ret);

	close(watch->memory);
	return ok;
}

static struct tracing start_and_wait(enum tool tool, const struct target *target,
				     const struct order *order)
{
	struct tracing t;
	struct watch watch;

	watch_init(&watch, tool, target);
	if (!try_start(&watch, order, &t))
		die("%s does not begin to trace:\n%s", tool_program(tool), watch.said);
	return t;
}

struct tracing tool_start(enum tool tool, const struct target *target,
			  const char *const options[])
{
	return start_and_wait(tool, target, &(struct order){.options = options});
}

struct tracing tool_start_reporting(enum tool tool, const struct target *target,
				    const char *const options[], unsigned interval_s)
{
	return start_and_wait(
		tool, target,
		&(struct order){.options = options, .interval_s = interval_s});
}

struct tracing tool_start_weighing(enum tool tool, const struct target *target,
				   const char *const options[], double *peak_kib)
{
	*peak_kib = 0;
	return start_and_wait(tool, target,
			      &(struct order){.options = options, .peak_kib = peak_kib});
}

bool tool_can_trace(enum tool tool, const struct target *target,
		    const char *const options[], char *why, size_t why_size)
{
	struct tracing t;
	struct watch watch;

	watch_init(&watch, tool, target);
	if (try_start(&watch, &(struct order){.options = options}, &t)) {
		tool_stop(&t);
		return true;
	}
	/* The last line of a Python traceback says most. */
	while (watch.said_len && watch.said[watch.said_len - 1] == '\n')
		watch.said[--watch.said_len] = '\0';

	const char *line = strrchr(watch.said, '\n');

	snprintf(why, why_size, "%s", line ? line + 1 : watch.said);
	child_kill(&t.child);
	return false;
}

double tool_stop(struct tracing *tracing)
{
	uint64_t start_ns = now_ns();

	kill(tracing->child.pid, SIGINT);
	return (double)(child_wait(&tracing->child, STOP_TIMEOUT_S, NULL) - start_ns) /
	       1e6;
}
