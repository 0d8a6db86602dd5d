/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes for the live tests: start a program with pipes, talk to it in lines, wait
 * for it. Every wait is bounded. What a test cannot do without ends the program with a
 * message (live_fail); children die with it.
 */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* End the test program: status 1, the message on stderr. */
void live_fail(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));

/*
 * Skips the whole program (status 77) when not root. Mounts tracefs when it is not
 * there. Root without working BPF is a failure, not a skip.
 *
 * From here on every process that the test starts is watched for return probes, and so is
 * the test's own: a test of RUN fails if anything returned through the kernel's
 * trampoline (trampoline.h) before it started a program with an option that needs return
 * probes (docs/probes.md).
 */
void live_require_root(void);

/* RUN a test whose target has an allocator that needs return probes: no emulated
 * instruction settles a result. */
#define RUN_WITH_RETURN_PROBES(test)                                                     \
	do {                                                                             \
		live_allow_return_probes();                                              \
		RUN(test);                                                               \
	} while (0)

/* From now on, until the end of the test of RUN, return probes are expected. */
void live_allow_return_probes(void);

/* A child with stdin, stdout and stderr on pipes. */
struct live_process;

/* Start argv[0] (searched in PATH), as user and group `uid` when that is not 0; its exec
 * has succeeded, or failed, when this returns; it may not be mapped yet. */
struct live_process *live_start_as(const char *const argv[], uid_t uid);
struct live_process *live_start(const char *const argv[]);
/* Kill it when it still runs, and free. NULL is fine. */
void live_destroy(struct live_process *process);

pid_t live_pid(const struct live_process *process);
/* True while it runs. */
bool live_is_running(struct live_process *process);
void live_signal(struct live_process *process, int signal);

/* Write one line to its stdin; the newline is added. */
void live_send(struct live_process *process, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Close our end of its stdin: it reads the end of the file. */
void live_close_stdin(struct live_process *process);
/* The next line of its stdout without newline, owned by the caller; NULL at the end of
 * the output or when none came in time. */
char *live_read_line(struct live_process *process, double timeout_s);
/* The next line, parsed; NULL like live_read_line(). A line that is not JSON fails. */
json_t *live_read_json(struct live_process *process, double timeout_s);
/* Wait until it has written something to its stdout, of which nothing is read. */
bool live_wait_stdout(const struct live_process *process, double timeout_s);
/* Close our end of its stdout. */
void live_close_stdout(struct live_process *process);

/* Everything it wrote to stderr so far. Borrowed until the next call. */
const char *live_stderr(struct live_process *process);
/* How often `part` is in `text`. */
unsigned live_count(const char *text, const char *part);
/* What follows the lines that say that no process is confined: memtrace runs where the
 * test permits no seccomp filter, or has a listener of its own. */
const char *live_skip_privileges(const char *text);
/* Wait until stderr contains `text`; false when it ended or time passed before. */
bool live_wait_stderr(struct live_process *process, const char *text, double timeout_s);

/* Wait for its end: exit status, or 128 + signal. It is killed, and -1 returned, when
 * it does not end in time. */
int live_wait(struct live_process *process, double timeout_s);

/* A path in a private folder that goes away with the test program. Owned by the caller.
 */
char *live_path(const char *name);

/* Seconds on a monotonic clock, and a pause. */
double live_now_s(void);
void live_sleep(double seconds);

/* The integer at a dotted path ("heap.totals.frees"); a missing one fails. */
int64_t live_int(const json_t *root, const char *path);
/* The value at a dotted path, borrowed; a missing one fails. */
json_t *live_get(const json_t *root, const char *path);

#endif
