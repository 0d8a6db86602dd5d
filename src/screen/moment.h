/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the screen shows at one time: a snapshot, the report of it with every call path,
 * and the causes. A moment is made once, by any thread, and read by the thread of the
 * screen alone. The lists below that are filled on demand belong to that thread. Moments
 * of one run share what did not change: the base stays until the last of them has gone.
 */
#ifndef SCREEN_MOMENT_H
#define SCREEN_MOMENT_H

#include <stdbool.h>
#include <stdint.h>

#include "causes/verdict.h"
#include "output/snapshot_file.h"
#include "report/groups.h"
#include "report/report.h"
#include "snapshot/merge.h"
#include "util/error.h"
#include "util/vec.h"

/* One call path of a section. */
struct moment_path {
	const struct report_row *row;
	/* A hash of the names of its frames. It is equal in all moments of a run, and
	 * also in another run of the same program. */
	uint64_t key;
	uint32_t first_step, step_count; /* in moment_section.steps */
};

#define MOMENT_NO_PATH UINT32_MAX

/* One class of memory. */
struct moment_section {
	const struct report_section *section;
	const struct causes *causes;
	VEC(struct moment_path) paths; /* in the order of the report's rows */
	/* By stack of the snapshot, and last for blocks without a stack: the index in
	 * `paths`; MOMENT_NO_PATH: none. */
	uint32_t *by_stack;
	/* The functions of each path, innermost first, as groups_path() says. Indexes of
	 * groups.list. Empty until moment_find_steps(). */
	VEC(uint32_t) steps;
	bool has_steps;
};

struct shared_steps; /* screen/moment_steps.h */

struct moment {
	int uses; /* as a base, and 1 until moment_destroy(); of several threads */
	/* The moment whose frames and causes this one uses; NULL: it has its own. */
	struct moment *base;
	size_t path_count, fresh_count; /* call paths: all, and those not of the base */
	bool is_apart; /* it shares so little with `base` that the next moment should be
			  made without one */
	struct snapshot_file file;
	struct snapshot_merge *merge; /* `made` depends on it; NULL: no merge */
	struct snapshot_made made;
	struct report_history *history;
	struct report *report; /* all call paths, also those that hold nothing now */
	struct report held;    /* the same without those; a view of `report` */
	struct judgement judgement;
	struct moment_section sections[BLOCK_CLASS_COUNT];
	size_t section_count;
	/* By report_frame.index. */
	uint64_t *frame_keys;
	struct groups groups;
	struct shared_steps
		*shared_steps; /* of a base; of the thread that makes moments */
	bool has_groups;
};

/* How moments are made. */
struct moment_options {
	const struct report_options *report; /* borrowed; its `top` is ignored */
	bool is_split;   /* --group-by process: call paths of each process on their own */
	bool with_lines; /* not with --no-lines */
	struct debug_store *store; /* of --debug-dir; NULL: none */
	bool with_steps;           /* find the steps of each section */
	/* An earlier moment of the same run, made with these options and without a base,
	 * whose frames and causes are used where nothing has changed; NULL: none. */
	struct moment *base;
};

/*
 * Read the snapshot of `file`, which snapshot_file_open() has opened, or whose `in` and
 * `size_bytes` the caller has set, and make a moment of it. Takes ownership of `file`,
 * also after an error. The caller calls moment_destroy() on *ret. Fails as
 * snapshot_file_load() does, and if memory is out.
 */
struct error *moment_create(struct snapshot_file *file,
			    const struct moment_options *options, struct moment **ret)
	__attribute__((warn_unused_result));
/* Keep the moment as a base, also after moment_destroy(), until moment_release(). Returns
 * `moment`. */
struct moment *moment_keep(struct moment *moment);
void moment_release(struct moment *moment); /* NULL does nothing */
/* The moment is not shown any more. NULL does nothing. */
void moment_destroy(struct moment *moment);

/* The path of a row of the report or of its causes; MOMENT_NO_PATH: none. */
uint32_t moment_path_of(const struct moment *moment, size_t section,
			const struct report_row *row);

/* Fill the steps of a section, if that was not done. False: memory is out. */
bool moment_find_steps(struct moment *moment, size_t section)
	__attribute__((warn_unused_result));

/* A hash of a group's texts, for the same use as moment_path.key. */
uint64_t moment_group_key(const struct moment *moment, uint32_t group);

/* Index of the frame that a call path is named after: the innermost visible one that is
 * not in an allocation function. If all visible ones are: the outermost. If no frame is
 * visible: the number of frames. */
size_t moment_leaf(const struct report_row *row);

#endif
