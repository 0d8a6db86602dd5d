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

#include "util/error.h"
#include "util/vec.h"

/* One program at one place. */
struct attach_probe {
	const char *path;     /* of the file, as we can open it; borrowed */
	const char *function; /* for messages; borrowed */
	uint64_t offset;      /* in the file, bytes */
	int program;          /* descriptor */
	uint64_t cookie;
	bool is_return;
	bool is_session; /* entry and return in one */
};

struct attachment {
	const struct attach_ops *ops;
	VEC(int) fds; /* in the order in which they are to be closed */
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
	/* Take all probes away; returns at once or nearly so. */
	void (*detach)(struct attachment *self);
};

extern const struct attach_ops attach_uprobe_multi; /* attach_multi.c */
extern const struct attach_ops attach_perf_event;   /* attach_perf.c */

#endif
