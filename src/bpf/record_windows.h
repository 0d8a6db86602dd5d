/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single records of an mmapable BPF array, in any order. The array is mapped in windows
 * that stay mapped until another one needs their place: mapping one per record costs
 * more than what is done with it, and the array as a whole would count as resident
 * memory of ours (see bpf/mapped.h).
 */
#ifndef BPF_RECORD_WINDOWS_H
#define BPF_RECORD_WINDOWS_H

#include <stddef.h>
#include <stdint.h>

#define RECORD_WINDOWS 32

struct record_window {
	void *mapping; /* NULL: none */
	size_t bytes;
	uint32_t number; /* of its first record, / per_window */
};

struct record_windows {
	int fd; /* borrowed */
	uint32_t record_bytes, count, per_window;
	struct record_window window[RECORD_WINDOWS];
};

/* For the array `fd` of `count` records of `record_bytes` each (a multiple of 8), of
 * which `per_window` are mapped at once. */
void record_windows_init(struct record_windows *windows, int fd, uint32_t record_bytes,
			 uint32_t count, uint32_t per_window);
/* Fine on what is all zeros. */
void record_windows_deinit(struct record_windows *windows);

/* Record `number`, mapped for reading and writing until the next call. NULL: the number
 * is too large, or the record could not be mapped. */
void *record_windows_at(struct record_windows *windows, uint32_t number);

#endif
