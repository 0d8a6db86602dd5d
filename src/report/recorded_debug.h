/* SPDX-License-Identifier: Apache-2.0 */
/* Names and lines of a stored snapshot that are completed from debug files. */
#ifndef REPORT_RECORDED_DEBUG_H
#define REPORT_RECORDED_DEBUG_H

#include "snapshot/snapshot.h"
#include "symbol/debug_store.h"
#include "symbol/symbolizer.h"

/*
 * A symbolizer for one process of the snapshot: it answers as `recorded` does, which it
 * owns, also on failure (NULL: no names were recorded), and completes what has no name or
 * no line from the debug file with the build-id of its module. The snapshot and the store
 * must outlive it. Without `with_lines` it finds no lines.
 */
struct error *report_debug_symbolizer(const struct snapshot *snap, uint32_t process,
				      struct symbolizer *recorded,
				      struct debug_store *store, bool with_lines,
				      struct symbolizer **ret)
	__attribute__((warn_unused_result));

#endif
