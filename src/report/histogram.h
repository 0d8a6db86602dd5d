/* SPDX-License-Identifier: Apache-2.0 */
/* How the sizes of blocks are spread, in classes that are powers of two wide. */
#ifndef REPORT_HISTOGRAM_H
#define REPORT_HISTOGRAM_H

#include "report/report.h"

/* Class 0 is for blocks of no bytes; class k > 0 for 2^(k-1) to 2^k - 1 bytes. */
#define HISTOGRAM_CLASSES SNAPSHOT_BUCKETS

struct histogram {
	uint64_t blocks[HISTOGRAM_CLASSES]; /* estimated, where they were sampled */
};

/* The class of a block of that size. */
size_t histogram_class(uint64_t size_bytes);

/* The smallest and the largest size of a class. */
uint64_t histogram_min_bytes(size_t class);
uint64_t histogram_max_bytes(size_t class);

/* Sort the outstanding blocks behind `row` into classes. Their list is there in reports
 * with show_blocks; in others all classes are empty. */
struct histogram histogram_of_row(const struct report *report,
				  const struct report_section *section,
				  const struct report_row *row);

#endif
