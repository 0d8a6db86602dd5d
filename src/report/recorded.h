/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names that travel with a snapshot, so that another machine shows the same frames
 * without the files that they came from, and what growth is counted from.
 */
#ifndef REPORT_RECORDED_H
#define REPORT_RECORDED_H

#include "report/report.h"

/*
 * Fill snap->names from `frames`, a cache for each process or NULL, with every frame of
 * every stack that holds blocks or was allocated from. Frames that no report has shown
 * yet are looked up now, which may take long: `progress` (may be NULL) is told.
 */
struct error *report_record_names(struct snapshot *snap,
				  struct frame_cache *const frames[],
				  void (*progress)(void *arg, const char *phase),
				  void *arg) __attribute__((warn_unused_result));

/* Remember in `snap` what the last report of this run said, and why the next one, which
 * is that of `snap`, is made. */
struct error *report_record_before(struct snapshot *snap,
				   const struct report_history *history,
				   enum report_cause cause)
	__attribute__((warn_unused_result));

/* A symbolizer with the recorded names of one of the snapshot's processes, which must
 * outlive it; without `with_lines` it finds no source frames. NULL in *ret when the
 * process has none. */
struct error *report_recorded_symbolizer(const struct snapshot *snap, uint32_t process,
					 bool with_lines, struct symbolizer **ret)
	__attribute__((warn_unused_result));

/* The history that was recorded, for the report of `snap`. */
struct error *report_recorded_history(const struct snapshot *snap,
				      struct report_history **ret)
	__attribute__((warn_unused_result));

/* The cause that was recorded; REPORT_STOPPED when it is not known. */
enum report_cause report_recorded_cause(const struct snapshot *snap);

#endif
