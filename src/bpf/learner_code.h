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
#include "util/budget.h"
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
	bool is_reading;       /* that is being read */
	bool is_doubtful;      /* it may have moved since then, in parts that count */
	uint64_t read_ns;      /* before its mappings were read the last time, */
	uint64_t moves;        /* and what the probes said then (struct learner_code) */
	uint64_t next_look_ns; /* no pc is looked for in them before, */
	uint64_t next_read_ns; /* nor are they read: they could not be */
	struct budget reading; /* what reading them took */
	uint64_t ended_ns;     /* the last exec */
	uint64_t exited_ns;    /* 0: it has not, as far as was told */
	bool is_mapped;        /* in learner_code.mapped */
	bool is_noted; /* nobody has asked for it: `noted` is not in `images` yet */
	VEC(struct code_event) noted;
};

#define CODE_NO_SLOT UINT32_MAX

/* Code of a slot's process has given way to other code. */
struct code_replaced {
	uint64_t start, end;    /* where */
	uint64_t tag;           /* the highest that the old one was found under */
	uint64_t was_ns, is_ns; /* since when there was the old one, and is the new one */
	bool is_found; /* only by looking: nobody said that there was any change */
};
typedef void code_replaced_fn(void *arg, uint32_t slot, const struct code_replaced *what);

/* What the probes say of a process's code since it was looked at. */
struct code_change {
	bool is_any;
	bool is_untold; /* the kernel need not have told what: it has to be read */
	bool is_moved;  /* and certainly has not told all of it */
	/* When that was, if known: after the first, and what there is now since the
	 * second. 0: not known. */
	uint64_t after_ns, since_ns;
};

struct learner_code {
	struct image_store *store;
	struct watch *watch; /* NULL: mappings have to be read again and again */
	/* SCOPE_FORKS: children of processes that are known are of interest; SCOPE_ALL:
	 * and so are all others from their exec on. */
	enum trace_scope scope;
	code_replaced_fn *on_replaced;
	/* Called instead when the slot of the process is not known; may be NULL. */
	void (*on_replaced_unmet)(void *arg, int pid);
	/* What new code of a slot's process is tagged with. */
	uint64_t (*tag)(void *arg, uint32_t slot);
	/* How often anything may have moved onto something else by mremap in a process; 0
	 * before it ever did. */
	uint64_t (*moves)(void *arg, int pid);
	void *arg;
	struct process_code *buckets[CODE_BUCKETS];
	size_t count, noted_count;
	VEC(int) parents; /* that had moved something when they forked: for the caller */
	VEC(int) mapped;  /* that have mapped further code: the same */
};

/* `closed` and `arg` are for image_store_create(). */
struct error *learner_code_init(struct learner_code *code, image_closed_fn *closed,
				void *arg) __attribute__((warn_unused_result));
void learner_code_deinit(struct learner_code *code);

/* Take in what the kernel has told up to now. */
void learner_code_catch_up(struct learner_code *code);

/* One of those that have mapped further code since they were returned last, or NULL:
 * there is none. */
struct process_code *learner_code_next_mapped(struct learner_code *code);

/* The code of a process, or NULL when nothing is known of it and nothing can be read any
 * more. `is_alive`: the pid is still that of the process. */
struct process_code *learner_code_of(struct learner_code *code, int pid, uint32_t slot,
				     bool is_alive, const struct code_change *change);

/* May something have moved since the mappings of the process were read? */
bool learner_code_may_have_moved(const struct learner_code *code,
				 const struct process_code *process);

/* Read the mappings of a process that is alive once more, though nobody told of a change.
 * True when code was found that was not known. */
bool learner_code_look(struct learner_code *code, struct process_code *process);

/* The same because there is a pc of which nothing is known; not too often. */
bool learner_code_look_again(struct learner_code *code, struct process_code *process);

/* No walk comes any more that is older than this, or of a process that had no slot and
 * exited before. */
void learner_code_prune(struct learner_code *code, uint64_t before_ns);

/* What the process `pid` maps now, to be given to proc_maps_deinit(). Errors are those of
 * proc_open() and proc_read_maps(). */
struct error *learner_code_mappings(int pid, struct proc_maps *ret)
	__attribute__((warn_unused_result));

void learner_code_forget(struct learner_code *code, int pid);

#endif
