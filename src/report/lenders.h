/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names code of a process that exited before its symbols could be read, by the symbols of
 * another process that maps the same file. Private to report/.
 */
#ifndef REPORT_LENDERS_H
#define REPORT_LENDERS_H

#include "snapshot/snapshot.h"
#include "symbol/cache.h"
#include "util/error.h"
#include "util/hashmap.h"
#include "util/vec.h"

/* At most this many processes are tried for a file. */
#define LENDERS_MAX 4

struct lender {
	const struct snapshot_module *modules[LENDERS_MAX];
	uint32_t processes[LENDERS_MAX];
	unsigned count;
};

/* Modules with the same build-id are the same file. A file without a build-id is not
 * looked up in other processes. */
struct lenders {
	const struct snapshot *snap;
	struct frame_cache *const *caches; /* one for each process; NULL: it has no
					      names */
	struct hashmap by_build_id;        /* hash of the build-id -> index into `list` */
	VEC(struct lender) list;
	bool is_filled;
};

/* Nothing is read before the first lookup. All arguments are borrowed. */
void lenders_init(struct lenders *lenders, const struct snapshot *snap,
		  struct frame_cache *const caches[]);
void lenders_deinit(struct lenders *lenders);

/* Does the frame have a symbol or a module? Returns false for NULL. */
bool frame_is_known(const struct frame *frame);

/*
 * Find the frame of a return address in the symbols of the process or, if they do not
 * know it, in the symbols of another process that maps the same file. *ret is NULL or has
 * no name if neither knows it. It is borrowed, as with frame_cache_get(). In a frame from
 * another process, the address is that process's. Fails only if memory is out.
 */
struct error *lenders_name(struct lenders *lenders, uint32_t process, uint64_t address,
			   const struct frame **ret) __attribute__((warn_unused_result));

#endif
