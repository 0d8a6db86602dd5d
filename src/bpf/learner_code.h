/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of the traced processes through time, as the learner needs it: read once from
 * /proc/PID/maps, from then on kept up by what the kernel tells of forks, execs and
 * mappings of code. A walk that is ended later finds the code of its own time, also when
 * its process is gone. Where any process may come to be traced, what is told of each is
 * noted from its exec on, and looked at when it is asked for. Inside of learner*.c only.
 */
#ifndef BPF_LEARNER_CODE_H
#define BPF_LEARNER_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "bpf/source.h"
#include "target/watch.h"
#include "unwind/images.h"
#include "util/vec.h"

#define CODE_BUCKETS 1024

struct code_event;

/* The code of one process. */
struct process_code {
	struct process_code *next; /* in its bucket */
	int pid;
	struct images *images;
	uint32_t slot;         /* that it has at present, or CODE_NO_SLOT */
	bool must_read;        /* something was not told */
	uint64_t next_look_ns; /* its mappings are not read before */
	uint64_t ended_ns;     /* the last exec */
	uint64_t exited_ns;    /* 0: it has not, as far as was told */
	bool is_noted; /* nobody has asked for it: `noted` is not in `images` yet */
	VEC(struct code_event) noted;
};

#define CODE_NO_SLOT UINT32_MAX

/* Code of slot's process at [start, end) has given way to other code. `tag` is the
 * highest that the old one was found under. */
typedef void code_replaced_fn(void *arg, uint32_t slot, uint64_t start, uint64_t end,
			      uint64_t tag);

struct learner_code {
	struct image_store *store;
	struct watch *watch; /* NULL: mappings have to be read again and again */
	/* SCOPE_FORKS: children of processes that are known are of interest; SCOPE_ALL:
	 * and so are all others from their exec on. */
	enum trace_scope scope;
	code_replaced_fn *on_replaced;
	/* What new code of a slot's process is tagged with. */
	uint64_t (*tag)(void *arg, uint32_t slot);
	void *arg;
	struct process_code *buckets[CODE_BUCKETS];
	size_t count, noted_count;
	VEC(struct code_event) events; /* read, and not yet in order of time */
};

struct error *learner_code_init(struct learner_code *code)
	__attribute__((warn_unused_result));
void learner_code_deinit(struct learner_code *code);

/* Take in what the kernel has told up to now. */
void learner_code_catch_up(struct learner_code *code);

/* The code of a process, or NULL when nothing is known of it and nothing can be read any
 * more. `is_alive`: the pid is still that of the process; `has_changed`: its code may be
 * other than it was the last time. */
struct process_code *learner_code_of(struct learner_code *code, int pid, uint32_t slot,
				     bool is_alive, bool has_changed);

/* Read the mappings of a process that is alive once more, though nobody told of a
 * change; not too often. True when code was found that was not known. */
bool learner_code_look_again(struct learner_code *code, struct process_code *process);

/* No walk comes any more that is older than this, or of a process that had no slot and
 * exited before. */
void learner_code_prune(struct learner_code *code, uint64_t before_ns);

void learner_code_forget(struct learner_code *code, int pid);

#endif
