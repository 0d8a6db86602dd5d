/* SPDX-License-Identifier: Apache-2.0 */
/* Attaches programs to probe sites. One ops table hides two mechanisms: uprobe_multi
 * links (6.6), and perf events on older kernels. */
#ifndef ATTACH_ATTACH_H
#define ATTACH_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/error.h"
#include "util/vec.h"

struct other_code;

/* One program at one place of a file. */
struct attach_probe {
	const char *path;     /* a path that memtrace can open; borrowed */
	const char *module;   /* the file's name for messages; borrowed */
	const char *function; /* for messages; borrowed */
	/* file number (bpf/file_numbers.h); 0: the probe stays until the process ends */
	uint64_t file;
	uint64_t offset;  /* in the file, bytes */
	uint64_t ref_ctr; /* file offset of a reference counter, 0: none */
	int program;      /* descriptor */
	uint64_t cookie;
	bool is_return;
	bool is_session; /* entry and return probe in one */
	/* The traced process may have chosen the place (allocator.has_targets_names). The
	 * probe is refused if it would have to be in all processes. */
	bool is_private;
	/* How much code in front of the probe leads to it, bytes. In all processes that
	 * get the probe it must be the file's, as must the probe's instruction. */
	uint32_t before;
	/* Probes of a lower rank are attached first. Probes with the same program, file
	 * and rank are attached by one system call if the kernel supports that. */
	unsigned rank;
};

/* A link or a perf event. */
struct attached {
	int fd;
	int pid;       /* 0: for all processes */
	uint64_t file; /* attach_probe.file */
};

/* A place that has a probe for one process. */
struct attached_place {
	int pid;
	uint64_t number; /* attach_probe.file */
	int file;        /* O_PATH descriptor; -1: the file could not be opened */
	bool owns_file;
	bool is_private; /* this and the following as in attach_probe */
	uint32_t before;
	uint64_t offset, ref_ctr;
	int hold; /* a perf event that keeps the breakpoint set, or -1 */
};

struct attachment {
	const struct attach_ops *ops;
	VEC(struct attached) list;         /* to be closed in this order */
	VEC(struct attached_place) places; /* attach_hold.h */
	/* Breakpoints meant for one process are in all processes that map the same
	 * files. */
	bool is_wide;
	/* To find the processes for attach_wide.h; borrowed; NULL: their code is not
	 * compared. */
	struct other_code *others;
	/* attachment_may_set() has found a process that holds its lock. */
	bool was_held;
	/* detach() may return before the kernel has removed the probes: the caller waits
	 * with link_close_wait(). */
	bool is_last;
};

struct attach_ops {
	const char *name;
	uint32_t attach_type; /* to load programs with, except session programs */
	/* Attach more probes, for the process `pid` or for all (0). On failure none of
	 * them stays attached. `cookies`: the kernel supports attach cookies. */
	struct error *(*attach)(struct attachment *self, int pid,
				const struct attach_probe probes[], size_t count,
				bool cookies) __attribute__((warn_unused_result));
	/*
	 * Was the probe `at` for a task that has ended? The kernel ties the probes of a
	 * process to the task of its main thread. When another thread calls execve(2),
	 * that task ends and so do its probes, while the process lives on (de_thread() of
	 * fs/exec.c).
	 */
	bool (*is_dead)(const struct attached *at);
	/* The main thread of the process `pid` has exited while others go on: keep its
	 * probes in place, and set them in files that are mapped again. NULL: the probes
	 * end with the main thread, and is_dead() then returns true for them. */
	struct error *(*hold)(struct attachment *self, int pid);
	/* Remove the probes of one process. */
	void (*detach_process)(struct attachment *self, int pid);
	/* Remove all probes; returns almost at once. */
	void (*detach)(struct attachment *self);
};

/* Move the entries of the process `pid` to the end of the list; both parts keep their
 * order. Returns the number of other entries. For attach_*.c. */
static inline size_t attachment_sort_out(struct attachment *self, int pid)
{
	size_t others = 0;

	for (size_t i = 0; i < self->list.len; i++) {
		const struct attached at = self->list.data[i];

		if (at.pid == pid)
			continue;
		memmove(&self->list.data[others + 1], &self->list.data[others],
			(i - others) * sizeof(at));
		self->list.data[others++] = at;
	}
	return others;
}

/* Look whether a process holds its mmap_lock (bpf/mm_locks.h): no probe must be set
 * then. If the last look has found one, this one takes less time. For attach_*.c. */
struct error *attachment_may_set(struct attachment *self)
	__attribute__((warn_unused_result)); /* attach_hold.c */

/* Move the probes in the file with this number, for the process `pid` or for all (0),
 * from `self` to `to`. `to` has the same ops, and the caller must detach it. On failure
 * (no memory) nothing is moved and false is returned. */
bool attachment_take_file(struct attachment *self, int pid, uint64_t file,
			  struct attachment *to); /* attach_hold.c */

extern const struct attach_ops attach_uprobe_multi; /* attach_multi.c */
extern const struct attach_ops attach_perf_event;   /* attach_perf.c */

#endif
