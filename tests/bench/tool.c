// SPDX-License-Identifier: Apache-2.0
#include "tool.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "bench.h"

#define START_TIMEOUT_S 30
#define STOP_TIMEOUT_S  120
#define PAIRS_TIMEOUT_S 120

/* A probe may be some instructions behind the entry. */
#define CODE_BYTES 64

#define MAX_ARGS   16

/* --- the peer --------------------------------------------------------------------- */

static bool is_in_path(const char *name)
{
	const char *path = getenv("PATH");
	char copy[4096], file[4400], *rest = copy, *dir;

	snprintf(copy, sizeof(copy), "%s", path ? path : "");
	while ((dir = strsep(&rest, ":"))) {
		snprintf(file, sizeof(file), "%s/%s", dir, name);
		if (access(file, X_OK) == 0)
			return true;
	}
	return false;
}

/* memleak-bpfcc compiles against the headers of the running kernel. Debian's kernels
 * and the version that their headers tell may differ in the patch level, which the
 * variable sets right. */
const char *tool_missing(enum tool tool)
{
	struct utsname kernel;
	unsigned major = 0, minor = 0, patch = 0;
	char text[64 + sizeof(kernel.release)];

	if (tool == TOOL_MEMTRACE)
		return NULL;
	if (!is_in_path("memleak-bpfcc"))
		return "memleak-bpfcc is not installed (package bpfcc-tools)";
	uname(&kernel);
	snprintf(text, sizeof(text), "/lib/modules/%s/build", kernel.release);
	if (access(text, F_OK))
		return "memleak-bpfcc needs kernel headers, and /lib/modules/$(uname "
		       "-r)/build "
		       "is not there";
	sscanf(kernel.release, "%u.%u.%u", &major, &minor, &patch);
	snprintf(text, sizeof(text), "%u",
		 major << 16 | minor << 8 | (patch > 255 ? 255 : patch));
	setenv("BCC_LINUX_VERSION_CODE", text, 0);
	setenv("PYTHONUNBUFFERED", "1", 1);
	return NULL;
}

/* --- the target ------------------------------------------------------------------- */

struct target target_start(void)
{
	const char *const argv[] = {TARGET_BINARY, NULL};
	struct target target = {.child = child_start(argv)};
	char line[128];

	child_read_line(&target.child, START_TIMEOUT_S, line, sizeof(line));
	if (sscanf(line, "malloc %" SCNx64 " munmap %" SCNx64, &target.malloc_address,
		   &target.munmap_address) != 2)
		die("the target said \"%s\"", line);
	return target;
}

void target_stop(struct target *target)
{
	child_kill(&target->child);
}

double target_pairs(struct target *target, unsigned long count, unsigned depth)
{
	char line[128];

	child_send(&target->child, "pairs %lu %u", count, depth);
	child_read_line(&target->child, PAIRS_TIMEOUT_S, line, sizeof(line));
	return strtod(line, NULL);
}

void target_fill(struct target *target, unsigned long count, unsigned stacks)
{
	char line[128];

	child_send(&target->child, "fill %lu %u", count, stacks);
	child_read_line(&target->child, PAIRS_TIMEOUT_S, line, sizeof(line));
}

/* --- tracing ---------------------------------------------------------------------- */

static void read_code(int memory, uint64_t address, char code[CODE_BYTES])
{
	if (pread(memory, code, CODE_BYTES, (off_t)address) != CODE_BYTES)
		die("cannot read the target's code: %s", strerror(errno));
}

static struct child start(enum tool tool, const struct target *target,
			  const char *const options[])
{
	const char *argv[MAX_ARGS + 1];
	char pid[16];
	size_t argc = 0;

	snprintf(pid, sizeof(pid), "%d", (int)target->child.pid);
	argv[argc++] = tool == TOOL_MEMTRACE ? MEMTRACE_BINARY : "memleak-bpfcc";
	argv[argc++] = "-p";
	argv[argc++] = pid;
	if (tool == TOOL_MEMTRACE) {
		argv[argc++] = "--interval";
		argv[argc++] = "1h";
	}
	for (; *options && argc < MAX_ARGS - 1; options++)
		argv[argc++] = *options;
	if (tool == TOOL_MEMLEAK)
		argv[argc++] = "3600";
	argv[argc] = NULL;
	return child_start(argv);
}

struct tracing tool_start(enum tool tool, const struct target *target,
			  const char *const options[])
{
	char path[64], said[4096], code[CODE_BYTES], malloc_code[CODE_BYTES],
		munmap_code[CODE_BYTES];
	size_t said_len = 0;
	struct tracing t = {.first_probe_ms = -1, .all_probes_ms = -1};

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)target->child.pid);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		die("cannot open %s: %s (the bench needs root)", path, strerror(errno));
	read_code(memory, target->malloc_address, malloc_code);
	read_code(memory, target->munmap_address, munmap_code);
	t.child = start(tool, target, options);
	while (t.all_probes_ms < 0) {
		struct pollfd p = {.fd = t.child.err, .events = POLLIN};
		const struct timespec pause = {.tv_nsec = 200000};
		bool spoke = ppoll(&p, 1, &pause, NULL) > 0;
		double ms = (double)(now_ns() - t.child.started_ns) / 1e6;

		if (spoke) {
			ssize_t n = read(t.child.err, said + said_len,
					 sizeof(said) - 1 - said_len);

			said_len += n > 0 ? (size_t)n : 0;
			said[said_len] = '\0';
			if (n <= 0)
				die("%s ended early: %s",
				    tool == TOOL_MEMTRACE ? "memtrace" : "memleak-bpfcc",
				    said_len ? said : "it said nothing");
		}
		read_code(memory, target->malloc_address, code);
		if (t.first_probe_ms < 0 && memcmp(code, malloc_code, CODE_BYTES))
			t.first_probe_ms = ms;
		if (tool == TOOL_MEMTRACE) {
			if (said_len && strstr(said, "tracing pid"))
				t.all_probes_ms = ms;
		} else {
			read_code(memory, target->munmap_address, code);
			if (memcmp(code, munmap_code, CODE_BYTES))
				t.all_probes_ms = ms;
		}
		if (ms > START_TIMEOUT_S * 1e3)
			die("process %d does not begin to trace", (int)t.child.pid);
	}
	close(memory);
	return t;
}

double tool_stop(struct tracing *tracing, struct rusage *usage)
{
	uint64_t start_ns = now_ns();

	kill(tracing->child.pid, SIGINT);
	return (double)(child_wait(&tracing->child, STOP_TIMEOUT_S, usage) - start_ns) /
	       1e6;
}
