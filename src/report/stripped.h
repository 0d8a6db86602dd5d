/* SPDX-License-Identifier: Apache-2.0 */
/* Files whose functions have no names in a report, because their symbols were removed. */
#ifndef REPORT_STRIPPED_H
#define REPORT_STRIPPED_H

#include "report/report.h"
#include "util/vec.h"

struct stripped_file {
	const char *path;                       /* raw bytes */
	const char *build_id;                   /* lower-case hex; NULL: unknown */
	const struct snapshot_process *process; /* one that maps it; NULL: unknown */
	uint64_t frames;                        /* without a name, in all rows */
};

typedef VEC(struct stripped_file) stripped_files;

/* Fill `ret`, which is empty, with the files of the report's frames that have no name,
 * most frames first. The texts are borrowed from the report. Mappings without a file, as
 * JIT compilers make them, do not count. Fails only when out of memory. */
struct error *report_find_stripped(const struct report *report, stripped_files *ret)
	__attribute__((warn_unused_result));

#endif
