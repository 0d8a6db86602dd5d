/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes with pipes, to be timed. What fails ends the bench. */
#ifndef BENCH_CHILD_H
#define BENCH_CHILD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

struct child {
	pid_t pid;
	int in, out, err;    /* our ends of its stdin, stdout and stderr */
	uint64_t started_ns; /* just before its execve */
};

/* Start argv[0], searched in PATH. It is killed when the bench dies. */
struct child child_start(const char *const argv[]);
/* Kill it if need be and take it away. */
void child_kill(struct child *child);
/* Wait for its end (at most `timeout_s`) and say when that was. `usage` (may be NULL)
 * counts its own children too, as wait4(2) does. */
uint64_t child_wait(struct child *child, unsigned timeout_s, struct rusage *usage);

/* Write one line to its stdin. */
void child_send(struct child *child, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Read one line from its stdout, without the newline. */
void child_read_line(struct child *child, unsigned timeout_s, char *line, size_t size);

/* Text that came out of a pipe. */
struct text {
	char *data; /* NUL-terminated, owned */
	size_t len;
	uint64_t last_ns; /* when the last of it came */
};

/*
 * Read stdout until nothing came for `quiet_ms` after the first byte, or it was closed.
 * To be freed with text_deinit().
 */
struct text child_read_burst(struct child *child, unsigned timeout_s, unsigned quiet_ms);
void text_deinit(struct text *text);
/* Forget what stdout holds now. */
void child_discard(struct child *child);

/* A figure of /proc/PID/status in KiB, such as "VmRSS". */
double child_status_kib(const struct child *child, const char *name);

#endif
