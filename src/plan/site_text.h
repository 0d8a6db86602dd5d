/* SPDX-License-Identifier: Apache-2.0 */
/* Is the code in the target's memory the one that the allocator's file has? */
#ifndef PLAN_SITE_TEXT_H
#define PLAN_SITE_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/plan.h"
#include "target/allocator.h"
#include "target/proc.h"

/* The reasons of probes on a function's first instruction begin with this. */
#define SITE_FIRST "first instruction"

struct site_range {
	uint64_t file_offset;
	size_t size; /* bytes */
};

/* What an analysis has compared. */
struct site_checks {
	VEC(struct site_range) ranges; /* each once; what was the same */
	bool has_failed; /* something was not the same, or could not be noted */
};

void site_checks_deinit(struct site_checks *checks);

/* Are return probes safe in the process? Asked when it matters, as it may take 0.1 s. */
struct return_question {
	const char *(*ask)(void *arg, int pid); /* plan_options.refuse_returns */
	void *arg;
	int pid; /* 0: any process that maps the file */
	bool is_asked;
	const char *refusal; /* static; NULL: they are safe */
};

/* Who has the file mapped. Without, every probe sits on a function's first instruction:
 * a place inside is trusted only where the target's memory has the file's bytes, or
 * breakpoints of ours. */
struct site_target {
	const struct proc *proc; /* or NULL */
	const struct proc_maps *maps;
	/* In the file that is placed, plan_options.find_breakpoints(); NULL: none. */
	const struct plan_breakpoints *breakpoints;
	bool unmapped;                   /* no process has it mapped: trust the file */
	struct site_checks *checks;      /* to note down what is compared; NULL: do not */
	struct return_question *returns; /* NULL: return probes are always safe */
};

/*
 * Why a return probe is not safe in the process: a static string. NULL: it is safe, or
 * target->returns is NULL. Asks for the answer once.
 */
const char *site_refused_return(const struct site_target *target);

/*
 * Compare `code`, the bytes at `file_offset` of the allocator's file, with the memory
 * wherever the target has mapped them. The byte of a breakpoint may differ. Returns NULL
 * if they are the same, or if nobody has the file mapped yet. Otherwise returns why the
 * code cannot be trusted: a static string.
 */
const char *site_text_check(const struct site_target *target,
			    const struct allocator *allocator, uint64_t file_offset,
			    const uint8_t *code, size_t size);

#endif
