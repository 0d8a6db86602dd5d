/* SPDX-License-Identifier: Apache-2.0 */
/* Return probes change the target's stack, which some programs do not survive. */
#ifndef CLI_RETURN_PROBES_H
#define CLI_RETURN_PROBES_H

#include <stdbool.h>
#include <stdio.h>

#include "bpf/check_verdict.h"
#include "cli/tracee.h"
#include "plan/plan.h"
#include "target/proc.h"

/*
 * Why a return probe may break a program that has mapped `maps`: a static string, half a
 * sentence. NULL: no reason is known. `is_filtered`: proc_is_filtered() of the process.
 */
const char *return_probes_risk(const struct proc_maps *maps, bool is_filtered);

/* The user asked for return probes in this process: warn if they may break it. */
void return_probes_warn(const struct tracee *tracee, FILE *out);

/* Name the functions of the plan that have a return probe all the same, and why; with
 * `bodies` as for plan_print(). */
void return_probes_say(const struct plan *plan, bool bodies, FILE *out);

/* Say how the check of a function's probes ended: a warning when they are wrong, and with
 * `verbose` also how many calls agreed. */
void return_probes_say_verdict(const struct check_verdict *verdict, bool verbose,
			       FILE *out);

#endif
