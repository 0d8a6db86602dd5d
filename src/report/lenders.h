/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for code of a process that was gone before its symbols could be read: those that
 * another process has for the same file. Private to report/.
 */
#ifndef REPORT_LENDERS_H
#define REPORT_LENDERS_H

#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "util/error.h"
#include "util/hashmap.h"
#include "util/vec.h"

/* So many processes are asked about a file. */
#define LENDERS_MAX 4

struct lender {
	const struct snapshot_module *modules[LENDERS_MAX];
	uint32_t processes[LENDERS_MAX];
	unsigned count;
};

/* Two modules with the same build-id are the same file. A file without one is asked for
 * in no other process. */
struct lenders {
	const struct snapshot *snap;
	struct frame_cache *const *caches; /* by process; NULL: it has no names */
	struct hashmap by_build_id;        /* hash: index into `list` */
	VEC(struct lender) list;
	bool is_filled;
};

/* Nothing is looked at before the first question. All is borrowed. */
void lenders_init(struct lenders *lenders, const struct snapshot *snap,
		  struct frame_cache *const caches[]);
void lenders_deinit(struct lenders *lenders);

/* Is there a name in it? NULL: there is no frame. */
bool frame_is_known(const struct frame *frame);

/*
 * The frame of the return address `address` of a process, by its own symbols, else by
 * those of another process that maps the same file; *ret is NULL or a frame without a
 * name when neither has any. Borrowed as of frame_cache_get(); a lent one has the other
 * process's address. Fails only when memory is out.
 */
struct error *lenders_name(struct lenders *lenders, uint32_t process, uint64_t address,
			   const struct frame **ret) __attribute__((warn_unused_result));

#endif
