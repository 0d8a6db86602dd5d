/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes for the live tests: start a program with pipes, exchange lines with it, wait
 * for its end. Each wait has a time limit. If a function cannot do what the test needs,
 * it ends the test program with a message (live_fail()). The children then end, too.
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* End the test program with status 1. Prints the message on stderr. */
void live_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * Skip the whole program (status 77) if it does not run as root. Mounts tracefs if it is
 * not mounted. If bpf(2) does not work for root, the program fails.
 *
 * From now on this process and all its descendants are watched for return probes. A test
 * of RUN fails if a function returned through the kernel's trampoline (trampoline.h),
 * unless the test has started a program with an option that needs return probes
 * (docs/probes.md).
 */
void live_require_root(void);

/* Has the test much time? scripts/test --long: it makes more calls, or tries more
 * moments. */
static inline bool live_is_long(void)
{
	return getenv("MEMTRACE_TEST_LONG") != NULL;
}

/* RUN a test whose target has an allocator that needs return probes: no emulated
 * instruction settles its results. */
#define RUN_WITH_RETURN_PROBES(test)                                                     \
	do {                                                                             \
		live_allow_return_probes();                                              \
		RUN(test);                                                               \
	} while (0)

/* Until the end of this test of RUN, return probes are expected. */
void live_allow_return_probes(void);

/* A child with stdin, stdout and stderr on pipes. */
struct live_process;

/* Start argv[0] (searched in PATH), as user and group `uid` unless that is 0. When this
 * returns, its exec has succeeded or failed. Its libraries may not be mapped yet. */
struct live_process *live_start_as(const char *const argv[], uid_t uid);
struct live_process *live_start(const char *const argv[]);
/* Kill it if it still runs, and free. NULL is ignored. */
void live_destroy(struct live_process *process);

pid_t live_pid(const struct live_process *process);
/* True until it has ended. */
bool live_is_running(struct live_process *process);
void live_signal(struct live_process *process, int signal);

/* Write one line to its stdin. Adds the newline. */
void live_send(struct live_process *process, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Close our end of its stdin: it reads end-of-file. */
void live_close_stdin(struct live_process *process);
/* The next line of its stdout without the newline, owned by the caller. NULL at the end
 * of its output, or if no line came in time. */
char *live_read_line(struct live_process *process, double timeout_s);
/* The next line, parsed. NULL as for live_read_line(). Fails if the line is not JSON. */
json_t *live_read_json(struct live_process *process, double timeout_s);
/* Wait until it has written something to its stdout. Reads nothing. */
bool live_wait_stdout(const struct live_process *process, double timeout_s);
/* Close our end of its stdout. */
void live_close_stdout(struct live_process *process);

/* All that it has written to stderr so far. Borrowed until the next call. */
const char *live_stderr(struct live_process *process);
/* How many times `part` occurs in `text`. */
unsigned live_count(const char *text, const char *part);
/* `text` without its first lines that say that a process of memtrace has no seccomp
 * filter. memtrace prints them where it cannot install a filter or a listener. */
const char *live_skip_unfiltered(const char *text);
/* Wait until its stderr contains `text`. False if it ended before, or after
 * `timeout_s`. */
bool live_wait_stderr(struct live_process *process, const char *text, double timeout_s);

/* Wait for its end. Returns its exit status, or 128 + signal. If it does not end in time,
 * kills it and returns -1. */
int live_wait(struct live_process *process, double timeout_s);

/* A path in a private folder, which is removed when the test program ends. Owned by the
 * caller. */
char *live_path(const char *name);

/* CLOCK_MONOTONIC in seconds, and a pause. */
double live_now_s(void);
void live_sleep(double seconds);

/* The integer at a dotted path ("heap.totals.frees"). Fails if it is missing. */
int64_t live_int(const json_t *root, const char *path);
/* The value at a dotted path, borrowed. Fails if it is missing. */
json_t *live_get(const json_t *root, const char *path);

#endif
