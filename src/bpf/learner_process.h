/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that the miss handler knows, by slot; keeps their rules up to date when
 * their code changes. Only for learner*.c. */
#ifndef BPF_LEARNER_PROCESS_H
#define BPF_LEARNER_PROCESS_H

#include <stdint.h>

#include "bpf/learner.h"
#include "bpf/learner_code.h"
#include "bpf/rule_table.h"

struct learner_tables;

struct learner_process {
	uint64_t tgid;     /* 0: none */
	uint64_t known;    /* acknowledged value of code_changes, or LEARNER_NEVER */
	uint64_t known_ns; /* CLOCK_MONOTONIC ns since when its code is known; 0: never */
	/* code_changes when the mappings were last known; only the part that the kernel
	 * does not report is used */
	uint64_t read;
	uint64_t moves;            /* abi_moves.count at that time */
	uint64_t next_eviction_ns; /* CLOCK_MONOTONIC ns; its rules stay until then */
	uint64_t layout;           /* number of its layout (bpf/layouts.h); 0: none */
	uint64_t shown;            /* images_version() + 1 of that layout; 0: none */
	uint64_t next_show_ns;     /* CLOCK_MONOTONIC ns; no layout is made before then */
};

#define LEARNER_NEVER UINT64_MAX

struct learner_processes {
	const struct learner_maps *maps; /* borrowed, as is `rules` */
	struct rule_table *rules;
	struct abi_moves *moves; /* mapped; borrowed; sizes.process_slots elements */
	struct learner_process *by_slot; /* sizes.process_slots elements */
	struct learner_code code;
	struct learner_tables *tables; /* borrowed */
	uint64_t doubtful; /* times that walks may have used rules of replaced code */
	uint32_t looked;   /* slot that learner_processes_look_over() checked last */
	uint64_t next_eviction_ns; /* CLOCK_MONOTONIC ns; no process's turn before then */
};

/* Keeps all pointers. `tables` may be initialized later. */
struct error *
learner_processes_init(struct learner_processes *processes,
		       const struct learner_maps *maps, struct rule_table *rules,
		       struct learner_tables *tables, struct abi_moves *moves)
	__attribute__((warn_unused_result));
void learner_processes_deinit(struct learner_processes *processes);

/* The code of a slot's process, as of now. If the probes have seen it change, rules that
 * no longer hold are removed and the change is acknowledged. Returns NULL if the code
 * cannot be determined. */
struct process_code *learner_processes_get(struct learner_processes *processes,
					   uint32_t slot);

/* Is the slot's process still the same, and has none of its code changed since `at_ns`?
 * Then the current rules hold for a walk of that time. */
bool learner_processes_unchanged(const struct learner_processes *processes, uint32_t slot,
				 uint64_t at_ns);

/* Invalidate the stacks that the probes remember and the walks that are running: they may
 * depend on rules that are about to be removed. */
void learner_processes_doubt(struct learner_processes *processes, uint32_t slot);

/* Make the probes walk remembered stacks again, because better rules have been learned.
 * The existing rules still hold. */
void learner_processes_renew(struct learner_processes *processes, uint32_t slot);

/* Read the mappings again, although no change was reported; not more often than every
 * 50 ms. Returns true if there was new code. */
bool learner_processes_look_again(struct learner_processes *processes, uint32_t slot,
				  struct process_code *code);

/* As learner_processes_look_again(), but without that limit, because known code may have
 * moved. */
bool learner_processes_look(struct learner_processes *processes, uint32_t slot,
			    struct process_code *code);

/* Check some processes, in turn, for changes that were not reported. */
void learner_processes_look_over(struct learner_processes *processes);

/* Check the processes that forked after they had moved mappings, so that their next
 * children start with up-to-date code. */
void learner_processes_look_at_parents(struct learner_processes *processes);

/* Get the code and the slot of a process that has mapped further code since it was last
 * returned. Returns NULL if no further process has. Processes whose rules are in doubt
 * are left out: their next walk is a miss anyway. */
struct process_code *learner_processes_next_mapped(struct learner_processes *processes,
						   uint32_t *ret_slot);

/* Call before rules of `code` around this pc are stored: from then on the probes watch
 * for moves there. If they did not before, and something has moved since the mappings
 * were read, `code` becomes doubtful until they are read again. */
void learner_processes_cover(struct learner_processes *processes, uint32_t slot,
			     struct process_code *code, uint64_t pc);

/* Make room in a crowded rule table. Takes the process with the most rules and evicts its
 * rules of code that is unmapped or not in a file: a JIT compiler may have freed such
 * code. That takes milliseconds, so the next calls do nothing for a while. */
void learner_processes_evict(struct learner_processes *processes);

void learner_processes_forget(struct learner_processes *processes, uint32_t slot);

#endif
