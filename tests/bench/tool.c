// SPDX-License-Identifier: Apache-2.0
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define START_TIMEOUT_S  30
#define STOP_TIMEOUT_S   120

#define CODE_BYTES       768 /* of a function: probes may be anywhere inside */

#define PEER             "memleak-bpfcc"
#define MAX_ARGS         16

#define TO_TEXT(number)  TO_TEXT_(number)
#define TO_TEXT_(number) #number

const char *tool_program(enum tool tool)
{
	switch (tool) {
	case TOOL_MEMTRACE:
		return MEMTRACE_BINARY;
	case TOOL_BEFORE:
		return getenv(TOOL_BEFORE_VARIABLE);
	default:
		return PEER;
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

static struct child start(enum tool tool, const struct target *target,
			  const char *const options[])
{
	const char *argv[MAX_ARGS + 1];
	char pid[16];
	size_t argc = 0;

	snprintf(pid, sizeof(pid), "%d", (int)target->child.pid);
	argv[argc++] = tool_program(tool);
	argv[argc++] = "-p";
	argv[argc++] = pid;
	if (tool != TOOL_MEMLEAK) {
		argv[argc++] = "--interval";
		argv[argc++] = "1h";
	}
	for (; *options && argc < MAX_ARGS - 2; options++)
		argv[argc++] = *options;
	if (tool == TOOL_MEMLEAK) {
		argv[argc++] = TO_TEXT(TOOL_PEER_INTERVAL_S);
		argv[argc++] = "1";
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
	if (watch->tool != TOOL_MEMLEAK)
		return strstr(watch->said, "tracing pid");
	return code_changed(watch->memory, watch->target->munmap_address,
			    watch->munmap_code);
}

/* Wait until the tracer counts. Returns false if it ends or exceeds the timeout. */
static bool wait_for_probes(struct watch *watch, struct tracing *t)
{
	while (t->all_probes_ms < 0) {
		bool runs = listen_to(watch, &t->child);
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
static bool try_start(struct watch *watch, const char *const options[],
		      struct tracing *ret)
{
	*ret = (struct tracing){.first_probe_ms = -1, .all_probes_ms = -1};
	ret->child = start(watch->tool, watch->target, options);

	bool ok = wait_for_probes(watch, ret);

	close(watch->memory);
	return ok;
}

struct tracing tool_start(enum tool tool, const struct target *target,
			  const char *const options[])
{
	struct tracing t;
	struct watch watch;

	watch_init(&watch, tool, target);
	if (!try_start(&watch, options, &t))
		die("%s does not begin to trace:\n%s", tool_program(tool), watch.said);
	return t;
}

bool tool_can_trace(enum tool tool, const struct target *target,
		    const char *const options[], char *why, size_t why_size)
{
	struct tracing t;
	struct watch watch;

	watch_init(&watch, tool, target);
	if (try_start(&watch, options, &t)) {
		tool_stop(&t, NULL);
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

double tool_stop(struct tracing *tracing, struct rusage *usage)
{
	uint64_t start_ns = now_ns();

	kill(tracing->child.pid, SIGINT);
	return (double)(child_wait(&tracing->child, STOP_TIMEOUT_S, usage) - start_ns) /
	       1e6;
}
