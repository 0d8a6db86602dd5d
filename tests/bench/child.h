/* SPDX-License-Identifier: Apache-2.0 */
/* Child processes with pipes, for timing. Any failure ends the bench. */
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
	uint64_t started_ns; /* taken just before the fork */
};

/* Start argv[0], searched in PATH. The child is killed if the bench dies. */
struct child child_start(const char *const argv[]);
/* Kill the child if it still runs, reap it and close the pipes. */
void child_kill(struct child *child);
/* Wait until the child ends, at most `timeout_s`; returns when it ended. `usage` (may be
 * NULL) includes the child's own children, as with wait4(2). */
uint64_t child_wait(struct child *child, unsigned timeout_s, struct rusage *usage);

/* Write one line to the child's stdin. */
void child_send(struct child *child, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Read one line from the child's stdout, without the newline. */
void child_read_line(struct child *child, unsigned timeout_s, char *line, size_t size);

/* Text read from a pipe. */
struct text {
	char *data; /* NUL-terminated, owned */
	size_t len;
	uint64_t last_ns; /* when the last byte arrived, CLOCK_MONOTONIC */
};

/*
 * Read stdout until it is closed, or until nothing arrives for `quiet_ms` after the first
 * byte. Free the text with text_deinit().
 */
struct text child_read_burst(struct child *child, unsigned timeout_s, unsigned quiet_ms);
void text_deinit(struct text *text);
/* The sum of the numbers that stand between `before` and `after` in `text`. */
double text_sum_between(const char *text, const char *before, const char *after);
/* Read and drop what is in stdout's pipe now. */
void child_discard(struct child *child);

/* A value of /proc/PID/status in KiB, such as "VmRSS". */
double child_status_kib(const struct child *child, const char *name);
/* Resident pages of mappings with this name in /proc/PID/smaps, in KiB. */
double child_mapped_kib(const struct child *child, const char *name);

#endif
