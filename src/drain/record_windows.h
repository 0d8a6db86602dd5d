/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random access to the records of an mmapable BPF array. The array is mapped in windows,
 * which stay mapped until another one needs their place: mapping each record costs more
 * than using it, and the array as a whole would count as memtrace's resident memory
 * (bpf/mapped.h).
 */
#ifndef DRAIN_RECORD_WINDOWS_H
#define DRAIN_RECORD_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_WINDOWS 32

struct record_window {
	void *mapping; /* NULL: not mapped */
	size_t bytes;
	uint32_t number; /* number of its first record / per_window */
};

struct record_windows {
	int fd; /* borrowed */
	uint32_t record_bytes, count, per_window;
	struct record_window window[RECORD_WINDOWS];
};

/* Initialize for the array `fd` of `count` records of `record_bytes` each (a multiple of
 * 8). A window has `per_window` records. */
void record_windows_init(struct record_windows *windows, int fd, uint32_t record_bytes,
			 uint32_t count, uint32_t per_window);
/* Can be called on an all-zero struct. */
void record_windows_deinit(struct record_windows *windows);

/* Map record `number` for reading and writing, until the next call. Returns NULL if the
 * number is too large or mmap() failed. */
void *record_windows_at(struct record_windows *windows, uint32_t number);

#endif
