/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random access to the records of a table in parts (part_table.h). The parts are mapped
 * in windows, which stay mapped until another one needs their place: mapping each record
 * costs more than using it, and a part as a whole would count as memtrace's resident
 * memory (bpf/mapped.h).
 */
#ifndef DRAIN_RECORD_WINDOWS_H
#define DRAIN_RECORD_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#include "drain/part_table.h"

#define RECORD_WINDOWS 32

struct record_window {
	void *mapping; /* NULL: not mapped */
	size_t bytes;
	uint32_t first; /* number of its first record */
};

struct record_windows {
	struct part_table *table; /* borrowed */
	uint32_t per_window;
	struct record_window window[RECORD_WINDOWS];
};

/* A window has `per_window` records, or fewer at the end of a part. */
void record_windows_init(struct record_windows *windows, struct part_table *table,
			 uint32_t per_window);
/* Can be called on an all-zero struct. */
void record_windows_deinit(struct record_windows *windows);

/* Map record `number` for reading and writing, until the next call. Returns NULL if its
 * part is missing or mmap() failed. */
void *record_windows_at(struct record_windows *windows, uint32_t number);

#endif
