/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The processes that the learner knows, each with the unwind information of its code, and
 * how that follows the changes of its code. Inside of learner*.c only.
 */
#ifndef BPF_LEARNER_PROCESS_H
#define BPF_LEARNER_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/learner.h"
#include "bpf/rule_table.h"
#include "target/proc.h"
#include "unwind/images.h"
#include "util/vec.h"

/* From which number of changes on the images had which generation. */
struct learner_epoch {
	uint64_t changes, generation;
};

#define LEARNER_NEVER UINT64_MAX

struct learner_process {
	uint32_t slot;
	uint64_t tgid;
	struct proc *proc;
	struct images *images;     /* NULL: not read, or closed again */
	uint64_t known;            /* changes that are acknowledged, or LEARNER_NEVER */
	uint64_t known_generation; /* of the images then */
	VEC(struct learner_epoch) epochs;
	uint64_t used;         /* a number that grows, for closing the oldest */
	uint64_t next_look_ns; /* CLOCK_MONOTONIC: not before */
	bool was_closed;       /* rules may be there that nobody has watched over */
};

struct learner_processes {
	VEC(struct learner_process *) list;
	uint64_t uses;
};

void learner_processes_deinit(struct learner_processes *processes);

/*
 * The process of a slot. When `as_of` is the number of its last change of code, its
 * images are read again and the change acknowledged, after rules that do not hold any
 * more are taken out; what is older cannot be read any more. NULL when nothing can be
 * known of it.
 */
struct learner_process *learner_processes_get(struct learner_processes *processes,
					      const struct learner_maps *maps,
					      struct rule_table *rules, uint32_t slot,
					      uint64_t as_of);

void learner_processes_forget(struct learner_processes *processes, uint32_t slot);

/* Read the mappings again, though nobody told of a change; not too often. True when there
 * was one. */
bool learner_process_look_again(struct learner_process *process,
				const struct learner_maps *maps,
				struct rule_table *rules);

/* The generation that the images had when the process's code had changed this often;
 * false: that is not known. */
bool learner_process_generation(const struct learner_process *process, uint64_t changes,
				uint64_t *ret);

#endif
