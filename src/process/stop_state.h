/* SPDX-License-Identifier: Apache-2.0 */
/* Is a thread stopped? As /proc/PID/status says (Documentation/filesystems/proc.rst). */
#ifndef PROCESS_STOP_STATE_H
#define PROCESS_STOP_STATE_H

#include <stdbool.h>
#include <stdint.h>

enum stop_kind {
	STOP_NONE,
	STOP_SIGNAL,   /* SIGSTOP, SIGTSTP and the like: state T */
	STOP_DEBUGGER, /* ptrace(2): state t. strace(1) stops threads for microseconds:
			  compare `switches` of two looks. */
};

struct stop_state {
	enum stop_kind kind;
	int debugger;      /* its pid; 0: none, or not of our pid namespace */
	uint64_t switches; /* how often the thread has left the processor */
};

/* What the text of a status says. A stop by this process does not count. */
struct stop_state stop_state_parse(const char *status);

/* Has the thread been stopped from the first look to the second one? */
bool stop_state_lasts(const struct stop_state *first, const struct stop_state *second);

#endif
