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

/* Does the frame have a symbol or a module? False for NULL. */
bool frame_is_known(const struct frame *frame);

/*
 * Give the frame of a return address: from the symbols of the process, or if they do not
 * know it, from those of another process that maps the same file. *ret is NULL or has no
 * name if neither knows it. It is borrowed as frame_cache_get() says. The address in a
 * frame of another process is that process's. Fails only when memory is out.
 */
struct error *lenders_name(struct lenders *lenders, uint32_t process, uint64_t address,
			   const struct frame **ret) __attribute__((warn_unused_result));

#endif
