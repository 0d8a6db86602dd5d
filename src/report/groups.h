/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frames of a report by function, module, source file or line. Frames with the same
 * texts belong to one group, in all processes: overloads and instances of a template are
 * one function, since they have one short name (frames/short_name.h). With
 * REPORT_FORM_FULL they are several, with their full names.
 */
#ifndef REPORT_GROUPS_H
#define REPORT_GROUPS_H

#include "report/report.h"
#include "util/hashmap.h"
#include "util/strbuf.h"
#include "util/string_table.h"
#include "util/vec.h"

enum group_kind {
	GROUP_CODE,      /* frames */
	GROUP_GAP,       /* the placeholder for missing frames */
	GROUP_END,       /* why a stack ends early, or has no frames; see `row` */
	GROUP_PROCESS,   /* the process of `row` */
	GROUP_ALLOCATOR, /* the allocator of `row` */
	GROUP_THREAD,    /* the thread `tid` */
};

struct group {
	enum group_kind kind;
	/* For GROUP_CODE: indexes of the texts. STRING_NONE: unknown, or the rows are not
	 * grouped by it. Use group_name() and so on. */
	uint32_t name, module, file;
	unsigned line;                /* in `file`; 0: unknown */
	const struct report_row *row; /* the first row that has it */
	uint32_t tid;                 /* of GROUP_THREAD */
};

typedef VEC(uint32_t) group_path;

struct groups {
	enum report_group by;
	VEC(struct group) list;
	struct string_table texts;
	struct hashmap functions, places, codes, others; /* pairs of numbers -> number */
	struct hashmap
		threads;    /* by REPORT_GROUP_THREAD: tid -> index of snapshot.threads */
	uint32_t *by_frame; /* by report_frame.index; UINT32_MAX: not grouped yet */
	bool full_names;    /* groups differ by full names, not by short ones */
	unsigned char *kinds; /* enum code_kind, by report_frame.index */
	struct strbuf scratch;
};

/* Prepare for the rows of `report`, without a group yet. REPORT_GROUP_PATH and
 * REPORT_GROUP_PROCESS stand for REPORT_GROUP_FUNCTION. The caller calls groups_deinit(),
 * also after false. False: memory is out. */
bool groups_init(struct groups *ret, const struct report *report, enum report_group by)
	__attribute__((warn_unused_result));
void groups_deinit(struct groups *groups);

/* Go on with the rows of another report, which has the same frames below index `known`.
 * False: memory is out. */
bool groups_extend(struct groups *groups, size_t known, size_t frame_count)
	__attribute__((warn_unused_result));

/* Copy list and texts to `ret`, which is empty, and to be read only. The caller calls
 * groups_deinit(), also after false. False: memory is out. */
bool groups_copy(const struct groups *groups, struct groups *ret)
	__attribute__((warn_unused_result));

/*
 * Replace `ret` by the groups of a row's frames, innermost first, without hidden frames
 * and the allocation functions at the inner end (CODE_ALLOCATOR; if all are such, it has
 * the outermost one). `with_notes`: with placeholders for missing frames, and GROUP_END
 * behind an incomplete stack. A row without frames has one GROUP_END. REPORT_GROUP_CALLER
 * and _ALLOCATOR: only one group. False: memory is out.
 */
bool groups_path(struct groups *groups, const struct report_row *row, bool with_notes,
		 group_path *ret) __attribute__((warn_unused_result));

/* The group of the row's process. False: memory is out. */
bool groups_process(struct groups *groups, const struct report_row *row, uint32_t *ret)
	__attribute__((warn_unused_result));

/* The group of the thread `tid`, which allocated blocks of the row. False: memory is
 * out. */
bool groups_thread(struct groups *groups, const struct report_row *row, uint32_t tid,
		   uint32_t *ret) __attribute__((warn_unused_result));

/* The thread of a GROUP_THREAD; NULL: the snapshot does not have it. Borrowed from the
 * snapshot. */
const struct snapshot_thread *group_thread(const struct report *report,
					   const struct groups *groups,
					   const struct group *group);

/* Are flat and cumulative sizes the same, since a block has only one group? */
bool report_group_is_single(enum report_group by);

/* The name, the path of the module and the path of the source file; NULL: unknown.
 * Borrowed until the next call of groups_path(). */
const char *group_name(const struct groups *groups, const struct group *group);
const char *group_module(const struct groups *groups, const struct group *group);
const char *group_file(const struct groups *groups, const struct group *group);

#endif
