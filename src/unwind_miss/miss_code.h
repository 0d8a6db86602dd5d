/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The code of the traced processes over time, for the miss handler: read once from
 * /proc/PID/maps, then updated by the kernel's reports of forks, execs and mappings of
 * code. So a late walk uses the code of the time when it began, even if its process has
 * exited. System-wide, the reports for a process are evaluated only if it is asked for.
 * Private to unwind_miss/.
 */
#ifndef UNWIND_MISS_MISS_CODE_H
#define UNWIND_MISS_MISS_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "compile/source.h"
#include "process/watch.h"
#include "unwind/images.h"
#include "util/budget.h"
#include "util/vec.h"

#define CODE_BUCKETS 1024

struct code_event;

/* The code of one process. */
struct process_code {
	struct process_code *next; /* next in its bucket */
	int pid;
	struct images *images;
	uint32_t slot;   /* current slot, or CODE_NO_SLOT */
	bool must_read;  /* reports are incomplete: the mappings must be read */
	bool is_reading; /* the mappings are being read */
	/* code that has rules may have moved since the mappings were read */
	bool is_doubtful;
	/* CLOCK_MONOTONIC ns before its mappings were last read; 0: never */
	uint64_t read_ns;
	uint64_t moves; /* miss_code.moves() at that time */
	/* miss_code_look_again() does nothing before this time; CLOCK_MONOTONIC ns */
	uint64_t next_look_ns;
	/* the mappings could not be read; the next try is not before this time,
	 * CLOCK_MONOTONIC ns */
	uint64_t next_read_ns;
	struct budget reading; /* time spent reading its mappings */
	/* when its code last changed, CLOCK_MONOTONIC ns; 0: not since the first reading
	 */
	uint64_t changed_ns;
	uint64_t ended_ns;  /* last exec, CLOCK_MONOTONIC ns; 0 = none seen */
	uint64_t exited_ns; /* exit, CLOCK_MONOTONIC ns; 0 = none seen */
	bool is_mapped;     /* it is in miss_code.mapped */
	/* it was never asked for: `noted` has the reports, which are not in `images`
	 * yet */
	bool is_noted;
	VEC(struct code_event) noted;
};

#define CODE_NO_SLOT UINT32_MAX

/* Code of a slot's process was replaced by other code. */
struct code_replaced {
	uint64_t start, end; /* where: addresses */
	uint64_t tag;        /* highest tag of the old code */
	/* CLOCK_MONOTONIC ns since when the old code was there, and the new code is */
	uint64_t was_ns, is_ns;
	/* found by reading the mappings: no change was reported */
	bool is_found;
};
typedef void code_replaced_fn(void *arg, uint32_t slot, const struct code_replaced *what);

/* What the probes report about changes of a process's code since the last reading. */
struct code_change {
	bool is_any;
	bool is_unreported; /* the kernel may not have reported it: read the mappings */
	bool is_moved; /* some changes were moves, which the kernel does not report */
	/* When it happened, CLOCK_MONOTONIC ns: after after_ns; the new code is there
	 * since since_ns. 0: unknown. */
	uint64_t after_ns, since_ns;
};

struct miss_code {
	struct image_store *store;
	struct watch *watch; /* NULL: mappings must be read again and again */
	/* SCOPE_FORKS: follow the children of known processes. SCOPE_ALL: also follow all
	 * other processes from their exec on. */
	enum trace_scope scope;
	code_replaced_fn *on_replaced;
	/* Called instead of on_replaced() if the slot of the process is unknown. May be
	 * NULL. */
	void (*on_replaced_unmet)(void *arg, int pid);
	/* The tag for new code of a slot's process. */
	uint64_t (*tag)(void *arg, uint32_t slot);
	/* How often the process may have moved anything onto something else by mremap();
	 * 0 before the first time. */
	uint64_t (*moves)(void *arg, int pid);
	void *arg;
	struct process_code *buckets[CODE_BUCKETS];
	size_t count, noted_count;
	/* pids that had moved something when they forked; for the caller */
	VEC(int) parents;
	VEC(int) mapped; /* pids that have mapped further code; for the caller */
};

/* `closed` and `arg` are passed to image_store_create(). */
struct error *miss_code_init(struct miss_code *code, image_closed_fn *closed, void *arg)
	__attribute__((warn_unused_result));
void miss_code_deinit(struct miss_code *code);

/* Apply all reports of the kernel so far. */
void miss_code_catch_up(struct miss_code *code);

/* Get a process that has mapped further code since it was last returned. Returns NULL if
 * no further process has. */
struct process_code *miss_code_next_mapped(struct miss_code *code);

/* The code of a process. Returns NULL if nothing is known about it and its mappings
 * cannot be read any more. `is_alive`: the pid still belongs to the process. */
struct process_code *miss_code_of(struct miss_code *code, int pid, uint32_t slot,
				  bool is_alive, const struct code_change *change);

/* May anything have moved since the mappings of the process were read? */
bool miss_code_may_have_moved(const struct miss_code *code,
			      const struct process_code *process);

/* Read the mappings of a live process again, although no change was reported. Returns
 * true if unknown code was found. */
bool miss_code_look(struct miss_code *code, struct process_code *process);

/* As miss_code_look(), for a pc in unknown code; not too often. */
bool miss_code_look_again(struct miss_code *code, struct process_code *process);

/* Drop old code: no later walk is older than `before_ns`, or of a process without a slot
 * that exited before then. */
void miss_code_prune(struct miss_code *code, uint64_t before_ns);

/* Read what the process `pid` maps now. The caller passes *ret to proc_maps_deinit().
 * Returns the errors of proc_open() and proc_read_maps(). */
struct error *miss_code_mappings(int pid, struct proc_maps *ret)
	__attribute__((warn_unused_result));

void miss_code_remove(struct miss_code *code, int pid);

#endif
