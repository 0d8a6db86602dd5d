/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the memory of a target for a scan: all of it, or block by block. Pages that were
 * never written are not read. Memory that vanishes or cannot be read is skipped.
 */
#ifndef REACH_MEMORY_H
#define REACH_MEMORY_H

#include <stdbool.h>
#include <stdint.h>

#include "process/live_thread.h"
#include "process/proc.h"
#include "reach/marks.h"
#include "util/error.h"
#include "util/vec.h"

/* A range of addresses that is scanned. */
struct reach_region {
	uint64_t start, end; /* end exclusive */
	/* Read only pages that the process has in its page table: of private memory, and
	 * of hugetlbfs, where reading a hole would take a huge page. Others hold no
	 * pointer that was written here. */
	bool only_present;
	/* Private memory that cannot be written now. Pages that come from a file were
	 * never written. */
	bool is_read_only;
	/* It is mapped from a device or something else that is not a regular file. The
	 * kernel may refuse to read such memory. */
	bool is_device;
	/* The heap that brk(2) sets. */
	bool is_heap;
	/* It may have data of the program, or of its C library, in pages that have
	 * blocks. */
	bool has_roots;
};

struct reach_regions {
	VEC(struct reach_region) list; /* in ascending order */
};

struct reach_memory {
	struct live_thread live; /* through it the memory is read */
	int pagemap;             /* pages_open() */
	char *buffer;
	uint64_t deadline_ns; /* CLOCK_MONOTONIC: give up then; 0: never */
	bool is_late;         /* it was given up, or the kernel lacked memory: the marks
				 are not complete */
	bool is_gone;         /* the process has exited: likewise */
	bool is_denied;       /* `is_gone`, because the kernel refuses to read from it */
	uint64_t read_bytes;
	/* Called now and then, with `read_bytes`; may be NULL. */
	void (*progress)(void *arg, uint64_t read_bytes);
	void *progress_arg;
};

/* Open the memory of the process `pid`, which the caller may trace (ptrace(2)).
 * ERROR_GONE: it has exited. */
struct error *reach_memory_open(int pid, struct reach_memory *ret)
	__attribute__((warn_unused_result));
void reach_memory_close(struct reach_memory *memory);

/* The regions of `maps` that may hold pointers to blocks. `tid` is a thread of the
 * process that has memory. */
struct error *reach_regions_init(const struct proc_maps *maps, int tid,
				 struct reach_regions *ret)
	__attribute__((warn_unused_result));
void reach_regions_deinit(struct reach_regions *regions);

/* Leave out the addresses from `start` to `end`, end exclusive. */
struct error *reach_regions_cut(struct reach_regions *regions, uint64_t start,
				uint64_t end) __attribute__((warn_unused_result));

/* A second descriptor of the same memory, for another thread. It must not outlive the
 * first one. False: memory is out. */
bool reach_memory_share(const struct reach_memory *memory, struct reach_memory *ret)
	__attribute__((warn_unused_result));
void reach_memory_unshare(struct reach_memory *memory);

/* Sweep one region. */
void reach_memory_sweep_region(struct reach_memory *memory,
			       const struct reach_region *region,
			       struct reach_marks *marks);

/* Sweep the regions (reach_marks_sweep()). */
void reach_memory_sweep(struct reach_memory *memory, const struct reach_regions *regions,
			struct reach_marks *marks);

/* Scan the blocks of marks->todo, and those that they reach, until none is left. */
void reach_memory_flood(struct reach_memory *memory, struct reach_marks *marks);

/* Scan one block as `level`. */
void reach_memory_scan_block(struct reach_memory *memory, struct reach_marks *marks,
			     uint32_t block, enum reach_level level);

#endif
