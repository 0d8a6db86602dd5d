/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Return probes change the target's stack, which some programs do not survive. Where that
 * is certain or likely they are refused; where it is possible there is a warning.
 */
#ifndef CLI_RETURN_PROBES_H
#define CLI_RETURN_PROBES_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "bpf/check_verdict.h"
#include "bpf/trampoline.h"
#include "cli/tracee.h"
#include "plan/plan.h"
#include "target/proc.h"

/* What a run knows of the kernel's return trampoline. */
struct return_probes {
	bool is_wide;    /* probes are in all processes that map a file */
	const int *pids; /* processes that are traced together; borrowed */
	size_t pid_count;
	bool has_tested_seccomp, has_tested_shadow_stack, has_tested_dispatch;
	enum trampoline_verdict seccomp, shadow_stack, dispatch; /* once it was tested */
	int dispatch_program;       /* of dispatch_open(); 0: not opened yet */
	const char *others_refusal; /* of any of `pids`; NULL: none */
	uint64_t others_read_ns;    /* when that was found, CLOCK_MONOTONIC; 0: never */
	bool any_uses_dispatch;     /* any process of the machine */
	uint64_t all_read_ns;       /* when that was found */
};

/*
 * Why the process `pid` might not survive a return probe: a static string. NULL: it has
 * no thread that is confined (target/confinement.h) or uses syscall user dispatch
 * (bpf/dispatch.h), or this kernel lets its trampoline pass. A `pid` of 0, and any with
 * is_wide, stands for all processes: some of them are taken to be confined, and those
 * that there are now are asked for syscall user dispatch, at most twice a second. Tests
 * the kernel when that first matters. `self` is the struct return_probes.
 */
const char *return_probes_refuse(void *self, int pid);

/*
 * The same, where all processes of `pids` have probes at the same places: the kernel puts
 * its trampoline into each process that comes to a breakpoint, if any tracer has a return
 * probe there (handler_chain(), kernel/events/uprobes.c). Looks at the other processes at
 * most twice a second.
 */
const char *return_probes_refuse_together(void *self, int pid);

/* Close what return_probes_refuse() keeps open. */
void return_probes_deinit(struct return_probes *self);

/*
 * Why a return probe may break a program that has mapped `maps`: a static string, half a
 * sentence. `proc` as of runtime_of(). NULL: no reason is known.
 */
const char *return_probes_risk(const struct proc_maps *maps, const struct proc *proc);

/* The user asked for return probes in this process: warn if they may break it. */
void return_probes_warn(const struct tracee *tracee, FILE *out);

/* Say, for --dry-run, that the process `pid` (0: all) would not be traced, if its plan
 * has return probes that are refused. `bodies` as for plan_print(). */
void return_probes_say_unsafe(struct return_probes *self, const struct plan *plan,
			      int pid, bool bodies, FILE *out);

/* Say why the process has no return probes, if it could have had some. Name the functions
 * of the plan that have one all the same, and why; with `bodies` as for plan_print(). */
void return_probes_say(const struct plan *plan, bool bodies, FILE *out);

/* Say how the check of a function's probes ended: a warning when they are wrong, and with
 * `verbose` also how many calls agreed. */
void return_probes_say_verdict(const struct check_verdict *verdict, bool verbose,
			       FILE *out);

#endif
