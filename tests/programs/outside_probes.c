// SPDX-License-Identifier: Apache-2.0
/*
 * The probes of outside.c, in libbcc's dialect of C: one where each function begins, and
 * a return probe.
 */
#include <uapi/linux/ptrace.h>

#include "outside.h"

struct block {
	u64 address;
	u64 tgid;
};

struct arguments {
	u64 size;
	u64 old;      /* the block that is being resized */
	u64 old_size; /* its size */
	u64 result;   /* where the block's address will be; 0: it is returned */
	u64 known;    /* the block `old` was counted */
};

BPF_HASH(blocks, struct block, u64, OUTSIDE_BLOCKS);
BPF_HASH(calls, struct outside_call, struct arguments, OUTSIDE_CALLS);
/* The last block of each thread that was counted since it entered a function that may
 * call another one. Threads that have exited make room for new ones. */
BPF_TABLE("lru_hash", u32, u64, counted, OUTSIDE_CALLS);
BPF_HASH(processes, u32, struct outside_sums, OUTSIDE_PROCESSES);

static struct outside_sums *sums_of(u32 tgid)
{
	struct outside_sums zero = {};

	return processes.lookup_or_try_init(&tgid, &zero);
}

/* The first three arguments. */
struct passed {
	u64 first, second, third;
};

/* The empty assembly keeps the compiler from reading them later, at an address that it
 * computes: the verifier refuses that. */
static struct passed passed_by(struct pt_regs *ctx)
{
	u64 first = PT_REGS_PARM1(ctx), second = PT_REGS_PARM2(ctx),
	    third = PT_REGS_PARM3(ctx);

	asm volatile("" : "+r"(first), "+r"(second), "+r"(third));
	return (struct passed){first, second, third};
}

static u64 argument(struct passed passed, u32 n)
{
	return n == 1 ? passed.first : n == 2 ? passed.second : n == 3 ? passed.third : 0;
}

int on_entry(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx), id = bpf_get_current_pid_tgid();
	struct outside_sums *sums = sums_of(id >> 32);
	struct passed passed = passed_by(ctx);
	struct arguments arguments = {};
	struct block old = {argument(passed, OUTSIDE_OLD(cookie)), id >> 32};

	if (!sums)
		return 0;
	/* Before the call: another thread may get the address at once. */
	u64 *size = old.address ? blocks.lookup(&old) : 0;
	if (size) {
		arguments.known = 1;
		arguments.old_size = *size;
		blocks.delete(&old);
		__sync_fetch_and_add(&sums->frees, 1);
		__sync_fetch_and_add(&sums->freed_bytes, arguments.old_size);
	}
	if (!OUTSIDE_SIZE(cookie))
		return 0;

	struct outside_call call = {(u32)id, (u32)cookie, PT_REGS_SP(ctx)};
	if (cookie & OUTSIDE_CALLER)
		counted.delete(&call.tid);
	arguments.size = argument(passed, OUTSIDE_SIZE(cookie));
	if (OUTSIDE_FACTOR(cookie))
		arguments.size *= argument(passed, OUTSIDE_FACTOR(cookie));
	arguments.old = old.address;
	arguments.result = argument(passed, OUTSIDE_RESULT(cookie));
	if (calls.update(&call, &arguments))
		__sync_fetch_and_add(&sums->overflow, 1);
	return 0;
}

int on_return(struct pt_regs *ctx)
{
	u64 cookie = bpf_get_attach_cookie(ctx), id = bpf_get_current_pid_tgid();
	struct outside_sums *sums = sums_of(id >> 32);
	/* The return address is off the stack. */
	struct outside_call call = {(u32)id, (u32)cookie, PT_REGS_SP(ctx) - 8};
	struct arguments *arguments = calls.lookup(&call);
	struct block block = {PT_REGS_RC(ctx), id >> 32};

	if (!sums || !arguments)
		return 0;
	u64 size = arguments->size, old_size = arguments->old_size;
	struct block old = {arguments->old, id >> 32};
	u64 known = arguments->known, result = arguments->result;
	calls.delete(&call);
	if (result) {
		u64 error = (u32)block.address;

		block.address = 0;
		if (!error)
			bpf_probe_read_user(&block.address, 8, (void *)result);
	}
	if (!block.address) {
		if (!size && old.address)
			return 0; /* realloc() has freed the block */
		__sync_fetch_and_add(&sums->failures, 1);
		if (known) {
			/* The block is still there. */
			blocks.update(&old, &old_size);
			__sync_fetch_and_add(&sums->frees, -1);
			__sync_fetch_and_add(&sums->freed_bytes, -old_size);
		}
		return 0;
	}
	u64 *inner = cookie & OUTSIDE_CALLER ? counted.lookup(&call.tid) : 0;
	if (inner && *inner == block.address)
		return 0;
	u64 *replaced = blocks.lookup(&block);
	if (replaced) {
		__sync_fetch_and_add(&sums->replaced, 1);
		__sync_fetch_and_add(&sums->replaced_bytes, *replaced);
	}
	if (blocks.update(&block, &size) || counted.update(&call.tid, &block.address))
		__sync_fetch_and_add(&sums->overflow, 1);
	__sync_fetch_and_add(&sums->allocations, 1);
	__sync_fetch_and_add(&sums->allocated_bytes, size);
	return 0;
}
