/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms of block sizes, with classes that are powers of two. */
#ifndef REPORT_HISTOGRAM_H
#define REPORT_HISTOGRAM_H

#include "report/report.h"

/* Class 0: blocks of 0 bytes. Class k > 0: blocks of 2^(k-1) to 2^k - 1 bytes. */
#define HISTOGRAM_CLASSES SNAPSHOT_BUCKETS

/* The class of a block of this size. */
size_t histogram_class(uint64_t size_bytes);

/* The smallest and the largest size in a class. */
uint64_t histogram_min_bytes(size_t class);
uint64_t histogram_max_bytes(size_t class);

#endif
