/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs onto probe sites. Two mechanisms stand behind one ops table: uprobe_multi
 * links (6.6), and perf events everywhere else.
 */
#ifndef BPF_ATTACH_H
#define BPF_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "util/error.h"
#include "util/vec.h"

/* One program at one place. */
struct attach_probe {
	const char *path;     /* of the file, as we can open it; borrowed */
	const char *module;   /* the same, for messages; borrowed */
	const char *function; /* for messages; borrowed */
	uint64_t file; /* its number (bpf/file_numbers.h); 0: stays until the process ends
			*/
	uint64_t offset;  /* in the file, bytes */
	uint64_t ref_ctr; /* file offset of a counter of tracers, 0: none */
	int program;      /* descriptor */
	uint64_t cookie;
	bool is_return;
	bool is_session; /* entry and return in one */
	/* The process may have chosen the place (allocator.has_targets_names): it is
	 * refused where only a probe in all processes would do. */
	bool is_private;
	/* Probes of a lower rank are attached first. Probes that share program, file and
	 * rank are attached by one system call, if the kernel supports that. */
	unsigned rank;
};

/* A link or an event. */
struct attached {
	int fd;
	int pid;       /* 0: for all processes */
	uint64_t file; /* as of attach_probe */
};

/* Where there are probes for one process. */
struct attached_place {
	int pid;
	uint64_t number; /* attach_probe.file */
	int file;        /* O_PATH; -1: it could not be opened */
	bool owns_file;
	bool is_private;
	uint64_t offset, ref_ctr; /* as those of the probe */
	int hold;                 /* an event that keeps the breakpoint there, or -1 */
};

struct attachment {
	const struct attach_ops *ops;
	VEC(struct attached) list; /* in the order in which they are to be closed */
	VEC(struct attached_place) places; /* attach_hold.h */
	/* Breakpoints for one process are in all processes that map the same files. */
	bool is_wide;
};

struct attach_ops {
	const char *name;
	uint32_t attach_type; /* what the programs must be loaded with, but sessions */
	/*
	 * Attach more probes, for the process `pid` or for all (0). None of them stays
	 * attached on failure.
	 */
	struct error *(*attach)(struct attachment *self, int pid,
				const struct attach_probe probes[], size_t count,
				bool cookies) __attribute__((warn_unused_result));
	/*
	 * Is the probe `at` for a task that is no more? The kernel gives the probes of a
	 * process to its main thread's task: when another thread calls execve(2), that
	 * task ends, and the probes with it, while the process lives on
	 * (de_thread() of fs/exec.c).
	 */
	bool (*is_dead)(const struct attached *at);
	/*
	 * The first thread of the process `pid` has ended while others go on: have its
	 * probes stay where they are and, in files that are mapped again, come back.
	 * NULL: they end with that thread, as is_dead() says of them then.
	 */
	struct error *(*hold)(struct attachment *self, int pid);
	/* Take away the probes of one process. */
	void (*detach_process)(struct attachment *self, int pid);
	/* Take all probes away; returns at once or nearly so. */
	void (*detach)(struct attachment *self);
};

/* Put those of the process `pid` last, each part in its order; the number of others. For
 * attach_*.c. */
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

/*
 * Move what is attached to the file with this number, for the process `pid` or for all
 * (0), to `to`, which has the same ops, and is to be detached by the caller. False, and
 * nothing is moved: memory is out.
 */
bool attachment_take_file(struct attachment *self, int pid, uint64_t file,
			  struct attachment *to); /* attach_hold.c */

extern const struct attach_ops attach_uprobe_multi; /* attach_multi.c */
extern const struct attach_ops attach_perf_event;   /* attach_perf.c */

#endif
