/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Safety of return probes. They change the target's stack, and some programs do not
 * survive that. memtrace refuses them where that is certain or likely, and warns where it
 * is possible.
 */
#ifndef TRACEES_RETURN_PROBES_H
#define TRACEES_RETURN_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "attach/check_verdict.h"
#include "attach/trampoline.h"
#include "tracees/tracee.h"
#include "plan/plan.h"
#include "process/proc.h"

/* Results of the run's tests of the kernel's return trampoline. */
struct return_probes {
	bool is_wide;    /* probes hit all processes that map a file */
	const int *pids; /* the processes traced together; borrowed */
	size_t pid_count;
	bool has_tested_seccomp, has_tested_shadow_stack, has_tested_dispatch;
	enum trampoline_verdict seccomp, shadow_stack, dispatch; /* valid once tested */
	int dispatch_program;       /* BPF program of dispatch_open(); 0: not opened
				       yet */
	const char *others_refusal; /* why one of `pids` is refused; NULL: none is */
	uint64_t others_read_ns;    /* when others_refusal was determined,
				       CLOCK_MONOTONIC; 0: never */
	bool any_uses_dispatch;     /* a process of the machine uses syscall user
				       dispatch */
	uint64_t all_read_ns;       /* when any_uses_dispatch was determined,
				       CLOCK_MONOTONIC; 0: never */
};

/*
 * Why the process `pid` might not survive a return probe: a static string. NULL: return
 * probes are safe. If `pid` is 0 or is_wide is set, the answer is for all processes: some
 * are assumed to be confined, and all are checked for syscall user dispatch, at most
 * twice a second. docs/probes.md, "Processes without return probes". Tests the kernel
 * when the result first matters. `self` is the struct return_probes.
 */
const char *return_probes_refuse(void *self, int pid);

/*
 * The same if all of `pids` have probes at the same places. At a breakpoint the kernel
 * inserts its trampoline into every process that hits it, if any tracer has a return
 * probe there (handler_chain(), kernel/events/uprobes.c). Checks the other processes at
 * most twice a second.
 */
const char *return_probes_refuse_together(void *self, int pid);

/* Close the BPF program that return_probes_refuse() opened. */
void return_probes_deinit(struct return_probes *self);

/*
 * Why a return probe may break a program that has mapped `maps`: a static string, half a
 * sentence. NULL: no reason is known. `proc` as for runtime_of().
 */
const char *return_probes_risk(const struct proc_maps *maps, const struct proc *proc);

/* The user asked for return probes in this process: print a warning if they may break
 * it. */
void return_probes_warn(const struct tracee *tracee);

/* For --dry-run: print that the process `pid` (0: all) would not be traced, if its plan
 * has return probes that are refused. `bodies` as for plan_print(). */
void return_probes_say_unsafe(struct return_probes *self, const struct plan *plan,
			      int pid, bool bodies, FILE *out);

/* Print why the process has no return probes, if the plan could have used some. Also name
 * the functions of the plan that still have one, and why. `bodies` as for
 * plan_print(). */
void return_probes_say(const struct plan *plan, bool bodies);

/* Print how the check of a function's probes ended: a warning if they are wrong; with
 * `verbose` also how many calls agreed. */
void return_probes_say_verdict(const struct check_verdict *verdict, bool verbose);

#endif
