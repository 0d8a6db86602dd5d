/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data that is saved in a snapshot in addition to what was traced: the names of frames,
 * so that another machine can show them without the original files, and the previous
 * report's numbers, which growth is measured against.
 */
#ifndef REPORT_RECORDED_H
#define REPORT_RECORDED_H

#include "report/report.h"

/*
 * Fill snap->names with every frame of every stack that holds blocks or has allocated.
 * `frames` has a cache for each process; NULL: no names. Frames that no report has shown
 * yet are looked up now, which may take long; `progress` (may be NULL) is called
 * meanwhile.
 */
struct error *report_record_names(struct snapshot *snap,
				  struct frame_cache *const frames[],
				  void (*progress)(void *arg, const char *phase),
				  void *arg) __attribute__((warn_unused_result));

struct name_book; /* report/name_book.h */

/*
 * The same as report_record_names(), many times faster if most frames are in `book`,
 * which gets the others. Names of frames that earlier snapshots had may be there, too.
 * `snap` has no names yet.
 */
struct error *report_record_kept_names(struct snapshot *snap,
				       struct frame_cache *const frames[],
				       struct name_book *book)
	__attribute__((warn_unused_result));

/*
 * Make `ret` a view of `snap`, a snapshot from a file, with the names and lines that
 * `frames` have now instead of the recorded ones; for snapshot_write(). It shares
 * everything else. The caller calls report_renamed_deinit(), also after an error.
 */
struct error *report_rename(const struct snapshot *snap,
			    struct frame_cache *const frames[], struct snapshot *ret)
	__attribute__((warn_unused_result));
void report_renamed_deinit(struct snapshot *renamed);

/* Store in `snap` the numbers of the run's last report and the cause of the next report,
 * which is the report of `snap`. */
struct error *report_record_before(struct snapshot *snap,
				   const struct report_history *history,
				   enum report_cause cause)
	__attribute__((warn_unused_result));

/* Create a symbolizer from the recorded names of one process of the snapshot. The
 * snapshot must outlive it. Without `with_lines` it finds no source lines. *ret is NULL
 * if the process has no recorded names. */
struct error *report_recorded_symbolizer(const struct snapshot *snap, uint32_t process,
					 bool with_lines, struct symbolizer **ret)
	__attribute__((warn_unused_result));

/* Create the recorded history, for building the report of `snap`. */
struct error *report_recorded_history(const struct snapshot *snap,
				      struct report_history **ret)
	__attribute__((warn_unused_result));

/* The recorded cause; REPORT_STOPPED if it is not known. */
enum report_cause report_recorded_cause(const struct snapshot *snap);

#endif
