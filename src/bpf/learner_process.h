/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that the learner knows, by slot, and how the rules of each follow the
 * changes of its code. Inside of learner*.c only.
 */
#ifndef BPF_LEARNER_PROCESS_H
#define BPF_LEARNER_PROCESS_H

#include <stdint.h>

#include "bpf/learner.h"
#include "bpf/learner_code.h"
#include "bpf/rule_table.h"

struct learner_tables;

struct learner_process {
	uint64_t tgid;     /* 0: none */
	uint64_t known;    /* changes that are acknowledged, or LEARNER_NEVER */
	uint64_t known_ns; /* since when its code is what is known, 0: never was */
	uint64_t read;     /* changes after which its mappings were read, of those that
			      nobody tells of, */
	uint64_t moves;    /* and abi_moves.count then */
	uint64_t next_eviction_ns; /* CLOCK_MONOTONIC: its rules stay until then */
	uint64_t layout;           /* number (bpf/layouts.h); 0: none */
	uint64_t shown;            /* images_version() + 1 of that layout; 0: none */
	uint64_t next_show_ns;     /* CLOCK_MONOTONIC: no layout is made before */
};

#define LEARNER_NEVER UINT64_MAX

struct learner_processes {
	const struct learner_maps *maps; /* borrowed, as is the table */
	struct rule_table *rules;
	struct abi_moves *moves;         /* mapped, borrowed; sizes.process_slots */
	struct learner_process *by_slot; /* as many */
	struct learner_code code;
	struct learner_tables *tables; /* borrowed */
	uint64_t doubtful; /* walks that may have used rules of code that was gone */
	uint32_t looked;   /* the slot that was looked over last */
	uint64_t next_eviction_ns; /* CLOCK_MONOTONIC: none is made before */
};

/* Keeps the pointers. `tables` may be initialized later. */
struct error *
learner_processes_init(struct learner_processes *processes,
		       const struct learner_maps *maps, struct rule_table *rules,
		       struct learner_tables *tables, struct abi_moves *moves)
	__attribute__((warn_unused_result));
void learner_processes_deinit(struct learner_processes *processes);

/*
 * The code of a slot's process, as of now. Should the probes have seen it change, rules
 * that do not hold any more are taken out and the change is acknowledged. NULL when
 * nothing can be known of it.
 */
struct process_code *learner_processes_get(struct learner_processes *processes,
					   uint32_t slot);

/* Is the slot's process still the same, and has no code of it changed since `at_ns`? Then
 * the rules that are known hold for a walk of that time. */
bool learner_processes_unchanged(const struct learner_processes *processes, uint32_t slot,
				 uint64_t at_ns);

/* Let stacks that are remembered, and walks that are under way, come to nothing: they may
 * be by rules that are about to go. */
void learner_processes_doubt(struct learner_processes *processes, uint32_t slot);

/* Let stacks that are remembered be walked anew: better rules have been learned. Those
 * that there were still hold. */
void learner_processes_renew(struct learner_processes *processes, uint32_t slot);

/* The mappings are read again, though nobody told of a change; true when there was one.
 */
bool learner_processes_look_again(struct learner_processes *processes, uint32_t slot,
				  struct process_code *code);

/* The same at once, as code that was learned of may have moved. */
bool learner_processes_look(struct learner_processes *processes, uint32_t slot,
			    struct process_code *code);

/* Look for changes that nobody noticed: at some processes each time, in turn. */
void learner_processes_look_over(struct learner_processes *processes);

/* At those that forked after they had moved something: their next children begin with
 * what is known of them. */
void learner_processes_look_at_parents(struct learner_processes *processes);

/* The code of one of the processes that have mapped further code since they were returned
 * last, and its slot; NULL: there is none. Processes whose rules are in doubt are left
 * out: their next walk is handed over anyway. */
struct process_code *learner_processes_next_mapped(struct learner_processes *processes,
						   uint32_t *ret_slot);

/* Rules of `code` around this pc are to be learned: from here on the probes look for
 * moves there. If they did not before, and something has moved since the mappings were
 * read, `code` is doubtful until they are read again. */
void learner_processes_cover(struct learner_processes *processes, uint32_t slot,
			     struct process_code *code, uint64_t pc);

/*
 * Make room in a crowded rule table. Takes the process with the most rules, and evicts
 * its rules of code that is not mapped any more or is in no file: a JIT compiler may have
 * freed such code. That takes milliseconds, so the next calls do nothing for a while.
 */
void learner_processes_evict(struct learner_processes *processes);

void learner_processes_forget(struct learner_processes *processes, uint32_t slot);

#endif
