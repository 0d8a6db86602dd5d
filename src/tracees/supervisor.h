/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --follow-exec-of: a process that is not traced itself; every program that its
 * descendants execute is traced. Probes are planned for its files, which programs that it
 * starts are likely to map too. The tracer's probes follow its descendants
 * (tracer_await_exec()).
 */
#ifndef TRACEES_SUPERVISOR_H
#define TRACEES_SUPERVISOR_H

#include <stdbool.h>

#include "plan/plan.h"
#include "util/error.h"
#include "util/vec.h"

struct tracee;
struct tracees;

struct supervisor {
	struct tracee *process; /* owned, and not in tracees.list; NULL: none */
	bool exited;
	unsigned refused; /* lines printed about programs that cannot be traced */
};

struct plans {
	VEC(struct plan *) list;
};

/*
 * Open the process `pid` as the supervisor, and the programs that its descendants run,
 * except those left to supervisor_begin() because they cannot be opened. Appends their
 * plans to `ret`, in the order of the list of `tracees`, and then a plan for the
 * supervisor's files, if any; owned by the caller. Errors as for tracees_open(), and
 * ERROR_NOT_FOUND if neither it nor a descendant has an allocator.
 */
struct error *supervisor_open(struct tracees *tracees, int pid, struct plans *ret)
	__attribute__((warn_unused_result));

/* After tracees_start(): follow the supervisor's descendants, and take up those that have
 * come since. Does nothing without a supervisor. */
struct error *supervisor_begin(struct tracees *tracees)
	__attribute__((warn_unused_result));

/* Note the end of the supervisor. */
void supervisor_look(struct tracees *tracees);

/* Has the supervisor ended, and can no program of its descendants appear any more? True
 * without a supervisor. */
bool supervisor_is_gone(const struct tracees *tracees);

/* A program that the process `pid` runs cannot be traced because of `err`, which is
 * borrowed: say so, and follow what it executes next. Does nothing without a
 * supervisor. */
void supervisor_refuses(struct tracees *tracees, int pid, const struct error *err);

#endif
