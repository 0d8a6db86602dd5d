/* SPDX-License-Identifier: Apache-2.0 */
/* Return probes change the target's stack, which some programs do not survive. */
#ifndef CLI_RETURN_PROBES_H
#define CLI_RETURN_PROBES_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/tracee.h"
#include "plan/plan.h"
#include "target/proc.h"

/*
 * Why a return probe may break a program that has mapped `maps`, as half a sentence;
 * NULL: no reason is known. `is_filtered` is that of proc_is_filtered(). Static.
 */
const char *return_probes_risk(const struct proc_maps *maps, bool is_filtered);

/* Warn of a process in which return probes were asked for. */
void return_probes_warn(const struct tracee *tracee, FILE *out);

/* Name the functions of the plan that have a return probe all the same, and why; with
 * `bodies` as for plan_print(). */
void return_probes_say(const struct plan *plan, bool bodies, FILE *out);

#endif
