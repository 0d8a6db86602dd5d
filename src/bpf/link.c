// SPDX-License-Identifier: Apache-2.0
#include "bpf/link.h"

#include <linux/bpf.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "bpf/late_close.h"
#include "bpf/shield.h"
#include "bpf/syscall.h"
#include "bpf/mm_locks.h"
#include "util/cleanup.h"

#define UPROBE_MULTI_RETURN 1 /* BPF_F_UPROBE_MULTI_RETURN */

/* struct link_create of union bpf_attr, with the members of include/uapi/linux/bpf.h as
 * of 6.6. The kernel accepts a shorter struct; in a longer one it requires the unknown
 * rest to be zero. */
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

/* A link to be created. `result` is its descriptor or -errno. */
struct creation {
	struct link_create attr;
	int result;
};

static void create(void *arg, size_t i)
{
	struct creation *creation = arg;

	(void)i;
	creation->result =
		sys_bpf(BPF_LINK_CREATE, &creation->attr, sizeof(creation->attr));
}

static int link_create(const struct link_create *attr)
{
	struct creation creation = {.attr = *attr};

	shield_run(1, create, &creation);
	return creation.result;
}

int link_uprobe_multi(int program, uint32_t attach_type, const char *path,
		      const uint64_t offsets[], const uint64_t ref_ctrs[],
		      const uint64_t cookies[], size_t count, bool is_return, int pid)
{
	const struct link_create attr = {
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

	return link_create(&attr);
}

int link_perf_event(int program, int event, uint64_t cookie)
{
	const struct link_create attr = {
		.program = (uint32_t)program,
		.target = (uint32_t)event,
		.attach_type = ATTACH_TYPE_PERF_EVENT,
		.perf_event = {.cookie = cookie},
	};

	return link_create(&attr);
}

struct closing {
	const int *fds;
	size_t count;
};

/* Close every SHIELD_MAX-th descriptor from index `first` on. */
static void close_some(void *arg, size_t first)
{
	const struct closing *c = arg;

	for (size_t i = first; i < c->count; i += SHIELD_MAX)
		syscall(SYS_close, c->fds[i]);
}

/* Static: any thread may be the first to notice. */
static void (*warn)(int pid);

void link_warn_late(void (*new_warn)(int pid))
{
	__atomic_store_n(&warn, new_warn, __ATOMIC_SEQ_CST);
}

static void say_late(int pid)
{
	void (*once)(int) = __atomic_exchange_n(&warn, NULL, __ATOMIC_SEQ_CST);

	if (once)
		once(pid);
}

/* Leave the links to another process if some process holds its lock. */
static bool close_later(const int fds[], size_t count)
{
	int held = count ? mm_locks_find_held(MM_LOCKS_REMOVE_NS) : 0;

	if (!held || !late_close(fds, count))
		return false;
	say_late(held);
	return true;
}

void link_close_all(const int fds[], size_t count)
{
	struct closing closing = {fds, count};

	if (!close_later(fds, count))
		shield_run(count < SHIELD_MAX ? count : SHIELD_MAX, close_some, &closing);
}

/* What link_close_begin() has begun. Static, like the table of descriptors. */
static struct begun {
	struct shield *shield; /* NULL: nothing */
	struct closing closing;
	int fds[SHIELD_MAX];
} begun;

void link_close_begin(const int fds[], size_t count)
{
	if (begun.shield || !count || count > SHIELD_MAX) {
		link_close_all(fds, count);
		return;
	}
	if (close_later(fds, count))
		return;
	memcpy(begun.fds, fds, count * sizeof(*fds));
	begun.closing = (struct closing){begun.fds, count};
	begun.shield = shield_start(count, close_some, &begun.closing);
	if (!begun.shield)
		link_close_all(fds, count);
}

void link_close_wait(void)
{
	if (begun.shield)
		shield_wait(take(begun.shield));
}
