/* SPDX-License-Identifier: Apache-2.0 */
/* How the sizes of blocks are spread, in classes that are powers of two wide. */
#ifndef REPORT_HISTOGRAM_H
#define REPORT_HISTOGRAM_H

#include "report/report.h"

/* Class 0 is for blocks of no bytes; class k > 0 for 2^(k-1) to 2^k - 1 bytes. */
#define HISTOGRAM_CLASSES SNAPSHOT_BUCKETS

/* The class of a block of that size. */
size_t histogram_class(uint64_t size_bytes);

/* The smallest and the largest size of a class. */
uint64_t histogram_min_bytes(size_t class);
uint64_t histogram_max_bytes(size_t class);

#endif
