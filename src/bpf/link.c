// SPDX-License-Identifier: Apache-2.0
#include "bpf/link.h"

#include <linux/bpf.h>
#include <pthread.h>
#include <unistd.h>

#include "bpf/syscall.h"

#define MAX_THREADS         64

#define UPROBE_MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

/* struct link_create of union bpf_attr, with the members of include/uapi/linux/bpf.h
 * as of 6.6 (the kernel takes a shorter one and requires the rest of a longer one to be
 * zero). */
struct link_create {
	uint32_t program, target, attach_type, flags;
	union {
		struct {
			uint64_t cookie;
		} perf_event;
		struct {
			uint64_t path, offsets, ref_ctr_offsets, cookies;
			uint32_t count, flags, pid, reserved;
		} uprobe_multi;
	};
};

int link_uprobe_multi(int program, uint32_t attach_type, const char *path,
		      const uint64_t offsets[], const uint64_t ref_ctrs[],
		      const uint64_t cookies[], size_t count, bool is_return, int pid)
{
	struct link_create attr = {
		.program = (uint32_t)program,
		.attach_type = attach_type,
		.uprobe_multi = {.path = (uint64_t)(uintptr_t)path,
				 .offsets = (uint64_t)(uintptr_t)offsets,
				 .ref_ctr_offsets = (uint64_t)(uintptr_t)ref_ctrs,
				 .cookies = (uint64_t)(uintptr_t)cookies,
				 .count = (uint32_t)count,
				 .flags = is_return ? UPROBE_MULTI_RETURN : 0,
				 .pid = (uint32_t)pid},
	};

	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

int link_perf_event(int program, int event, uint64_t cookie)
{
	struct link_create attr = {
		.program = (uint32_t)program,
		.target = (uint32_t)event,
		.attach_type = ATTACH_TYPE_PERF_EVENT,
		.perf_event = {.cookie = cookie},
	};

	return sys_bpf(BPF_LINK_CREATE, &attr, sizeof(attr));
}

/* Every MAX_THREADS-th of the links. */
struct closing {
	const int *fds;
	size_t first, count;
};

static void *close_some(void *arg)
{
	const struct closing *c = arg;

	for (size_t i = c->first; i < c->count; i += MAX_THREADS)
		close(c->fds[i]);
	return NULL;
}

void link_close_all(const int fds[], size_t count)
{
	struct closing closings[MAX_THREADS];
	pthread_t threads[MAX_THREADS];
	size_t started = 0;

	for (size_t i = 0; i < MAX_THREADS && i < count; i++) {
		closings[i] = (struct closing){fds, i, count};
		if (pthread_create(&threads[started], NULL, close_some, &closings[i]) ==
		    0)
			started++;
		else
			close_some(&closings[i]);
	}
	while (started-- > 0)
		pthread_join(threads[started], NULL);
}
