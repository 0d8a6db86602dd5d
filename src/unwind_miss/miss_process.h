/* SPDX-License-Identifier: Apache-2.0 */
/* The processes that the miss handler knows, by slot; keeps their rules up to date when
 * their code changes. Private to unwind_miss/. */
#ifndef UNWIND_MISS_MISS_PROCESS_H
#define UNWIND_MISS_MISS_PROCESS_H

#include <stdint.h>

#include "unwind_miss/miss_shared.h"
#include "unwind_miss/layouts.h"
#include "unwind_miss/miss_code.h"
#include "unwind_miss/rule_table.h"
#include "unwind_miss/unwind_tables.h"

struct miss_process {
	uint64_t tgid;  /* 0: none */
	uint64_t known; /* acknowledged value of code_changes, or MISS_HANDLER_NEVER */
	/* CLOCK_MONOTONIC ns since when its code has not changed; 0: not known */
	uint64_t known_ns;
	/* code_changes when the mappings were last known; only the part that the kernel
	 * does not report is used */
	uint64_t read;
	uint64_t moves;            /* abi_moves.count at that time */
	uint64_t next_eviction_ns; /* CLOCK_MONOTONIC ns; its rules stay until then */
	uint64_t layout;       /* number of its layout (unwind_miss/layouts.h); 0: none */
	uint64_t shown;        /* images_version() + 1 of that layout; 0: none */
	uint64_t next_show_ns; /* CLOCK_MONOTONIC ns; no layout is made before then */
};

#define MISS_HANDLER_NEVER UINT64_MAX

struct miss_processes {
	const struct miss_maps *maps; /* borrowed, as is `rules` */
	struct rule_table *rules;
	struct abi_moves *moves;      /* mapped; borrowed; sizes.process_slots elements */
	struct miss_process *by_slot; /* sizes.process_slots elements */
	struct miss_code code;
	/* Whole files' rules and the layouts of processes; both borrowed. */
	struct unwind_tables *files;
	struct layouts *layouts;
	uint64_t doubtful; /* times that walks may have used rules of replaced code */
	uint32_t looked;   /* slot that miss_processes_look_over() checked last */
	uint64_t next_eviction_ns; /* CLOCK_MONOTONIC ns; no process's turn before then */
};

/* Keeps all pointers. `files` and `layouts` may be initialized later. */
struct error *miss_processes_init(struct miss_processes *processes,
				  const struct miss_maps *maps, struct rule_table *rules,
				  struct unwind_tables *files, struct layouts *layouts,
				  struct abi_moves *moves)
	__attribute__((warn_unused_result));
void miss_processes_deinit(struct miss_processes *processes);

/* The code of a slot's process, as of now. If the probes have seen it change, rules that
 * no longer hold are removed and the change is acknowledged. Returns NULL if the code
 * cannot be determined. */
struct process_code *miss_processes_get(struct miss_processes *processes, uint32_t slot);

/* Is the slot's process still the same, and has none of its code changed since `at_ns`?
 * Then the current rules hold for a walk of that time. */
bool miss_processes_unchanged(const struct miss_processes *processes, uint32_t slot,
			      uint64_t at_ns);

/* Set the layout that the probes use (unwind_miss/layouts.h; 0: none), and release the
 * previous one. */
void miss_processes_set_layout(struct miss_processes *processes, uint32_t slot,
			       uint64_t number);

/* Invalidate the stacks that the probes remember and the walks that are running: they may
 * depend on rules that are about to be removed. */
void miss_processes_doubt(struct miss_processes *processes, uint32_t slot);

/* Make the probes walk remembered stacks again, because better rules have been found. The
 * existing rules still hold. */
void miss_processes_renew(struct miss_processes *processes, uint32_t slot);

/* Read the mappings again, although no change was reported; not more often than every
 * 50 ms. Returns true if there was new code. */
bool miss_processes_look_again(struct miss_processes *processes, uint32_t slot,
			       struct process_code *code);

/* As miss_processes_look_again(), but without that limit, because known code may have
 * moved. */
bool miss_processes_look(struct miss_processes *processes, uint32_t slot,
			 struct process_code *code);

/* Check some processes, in turn, for changes that were not reported. */
void miss_processes_look_over(struct miss_processes *processes);

/* Check the processes that forked after they had moved mappings, so that their next
 * children start with up-to-date code. */
void miss_processes_look_at_parents(struct miss_processes *processes);

/* Get the code and the slot of a process that has mapped further code since it was last
 * returned. Returns NULL if no further process has. Processes whose rules are in doubt
 * are left out: their next walk is a miss anyway. */
struct process_code *miss_processes_next_mapped(struct miss_processes *processes,
						uint32_t *ret_slot);

/* Call before rules of `code` around this pc are stored: from then on the probes watch
 * for moves there. If they did not before, and something has moved since the mappings
 * were read, `code` becomes doubtful until they are read again. */
void miss_processes_cover(struct miss_processes *processes, uint32_t slot,
			  struct process_code *code, uint64_t pc);

/* Make room in a crowded rule table. Takes the process with the most rules and evicts its
 * rules of code that is unmapped or not in a file: a JIT compiler may have freed such
 * code. That takes milliseconds, so the next calls do nothing for a while. */
void miss_processes_evict(struct miss_processes *processes);

void miss_processes_remove(struct miss_processes *processes, uint32_t slot);

#endif
