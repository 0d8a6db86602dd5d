/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the code in the target's memory with the allocator's file. */
#ifndef PLAN_SITE_TEXT_H
#define PLAN_SITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "plan/plan.h"
#include "allocator/allocator.h"
#include "process/file_names.h"
#include "code/other_code.h"
#include "code/work.h"
#include "process/proc.h"

/* Reasons for probes at a function's first instruction begin with this. */
#define SITE_FIRST "first instruction"

struct site_range {
	uint64_t file_offset;
	size_t size; /* bytes */
};

/* The code that an analysis has compared. */
struct site_checks {
	VEC(struct site_range) ranges; /* ranges that were the same, each once */
	bool has_failed;               /* something differed, or could not be recorded */
};

void site_checks_deinit(struct site_checks *checks);

/*
 * The work for one plan. A process can map its code 65,000 times, and its files can name
 * thousands of places: both together would take hours.
 */
struct text_budget {
	uint64_t spent; /* about nanoseconds, but counted: the same on every machine */
};

/* False: the work would exceed the budget. NULL: no limit. */
bool text_budget_spend(struct text_budget *budget, uint64_t cost);

/* Are return probes safe in the process? Asked only when needed, since it may take 0.1
 * s. */
struct return_question {
	const char *(*ask)(void *arg, int pid); /* plan_options.refuse_returns */
	void *arg;
	int pid; /* 0: any process that maps the file */
	bool is_asked;
	const char *refusal; /* static; NULL: they are safe */
};

/* The other processes that map the file, if the probes are for them, too. */
struct site_others {
	struct other_code *code;
	const struct other_runs *runs; /* of the file */
};

/* Find the runs of the file's code in the other processes, which `code` lists. */
struct error *site_others_find(struct other_code *code, const struct target_file *file,
			       struct site_others *ret)
	__attribute__((warn_unused_result));

/* The process that has the file mapped. Without a process, every probe is at a
 * function's first instruction. A place inside is trusted only if the target's memory
 * has the file's bytes or breakpoints of ours. */
struct site_target {
	const struct proc *proc; /* or NULL */
	const struct proc_maps *maps;
	/* Our breakpoints in the file, from plan_options.find_breakpoints(); NULL:
	 * none. */
	const struct plan_breakpoints *breakpoints;
	bool unmapped;              /* no process has the file mapped: trust the file */
	struct site_checks *checks; /* record compared ranges here; NULL: do not */
	struct return_question *returns; /* NULL: return probes are always safe */
	struct text_budget *budget;      /* NULL: no limit */
	struct work *work;               /* for the analysis of code; NULL: no limit */
	/* The probes are for all processes, so that none of these may have changed the
	 * code. NULL: for `proc` only, or these are not known yet. */
	const struct site_others *others;
};

/* Which mappings of a process are of the file. */
struct text_file {
	const struct file_names *names; /* NULL: the following say it */
	const char *path;               /* as /proc/PID/maps has it */
	uint64_t start, end; /* in the target: mappings that begin elsewhere are not */
};

struct text_file site_text_file(const struct allocator *allocator);

/* What site_text_doubt() returns, if target->others is NULL. With others it names the
 * process instead (other_code_reason()). */
#define SITE_CHANGED    "its code in memory differs from the file"
#define SITE_UNREADABLE "its code in memory cannot be read"
#define SITE_TOO_MUCH                                                                    \
	"comparing its code with the memory of the process would take too long"

/* All of these reasons begin with this. */
#define SITE_DOUBT "its code in "

static inline bool site_is_doubt(const char *reason)
{
	return !strncmp(reason, SITE_DOUBT, strlen(SITE_DOUBT)) ||
	       !strcmp(reason, SITE_TOO_MUCH);
}

/*
 * Why a breakpoint must not be put into the code of the target: a static string. NULL: it
 * may be, or the target does not map the code, or no process is given. `code` holds the
 * instructions at `file_offset`; the breakpoint is for the last one. They must be the
 * same wherever the target, and target->others, map them, except for breakpoints at the
 * beginning of an instruction.
 */
const char *site_text_doubt(const struct site_target *target,
			    const struct text_file *file, uint64_t file_offset,
			    const uint8_t *code, size_t size);

/*
 * Why a return probe is not safe in the process: a static string. NULL: it is safe, or
 * target->returns is NULL. Asks only once.
 */
const char *site_refused_return(const struct site_target *target);

/*
 * Compare `code`, the bytes at `file_offset` of the allocator's file, with the memory
 * wherever the target has mapped them. Bytes of breakpoints may differ. Returns NULL if
 * they are the same, or if no process has the file mapped yet. Otherwise returns why
 * the code cannot be trusted: a static string. With target->others the same holds for
 * these.
 */
const char *site_text_check(const struct site_target *target,
			    const struct allocator *allocator, uint64_t file_offset,
			    const uint8_t *code, size_t size);

#endif
