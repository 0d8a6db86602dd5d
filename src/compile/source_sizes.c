// SPDX-License-Identifier: Apache-2.0
#include "compile/source_sizes.h"

#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <bpf/libbpf.h>

#include "abi.h"
#include "abi_walk.h"
#include "traffic_record.h"

/* Slots with --pid, some 700 bytes each. In a table that is nearly full a process may
 * find no free slot (abi.h), so there are more slots than users name processes. */
#define FEW_PROCESSES 1024
#define PROCESSES_MAX 32768

/* Buckets of four rules. 1 MiB is enough for a compiler (21,000 call sites); further
 * rules go to the spill map. Several processes get more. */
#define FEW_RULE_BUCKETS  16384
#define MANY_RULE_BUCKETS 65536

/* Address-space layouts that can exist at the same time. Each takes 16 KiB. */
#define LAYOUTS 2048

/* Words that are being claimed at the same time (probes/claim.c): slots of processes, and
 * without atomics all words. */
#define FEW_CLAIMS  256
#define MANY_CLAIMS 4096

/* Slots per thread. With three quarters of the slots free, the few slots that a thread
 * can use are hardly ever all taken. */
#define THREAD_ROOM 4

_Static_assert(PROCESSES_MAX - 1 <= ABI_RULE_SLOT(UINT64_MAX), "it fits a rule's key");

static uint32_t power_of_two_from(uint64_t n)
{
	uint32_t p = 1;

	while (p < n && p < 1u << 31)
		p *= 2;
	return p;
}

/* PROC_PID_INIT_INO, include/linux/proc_ns.h */
#define INITIAL_PID_NAMESPACE 0xEFFFFFFCu

void pid_namespace_read(struct pid_namespace *ret)
{
	struct stat st;

	*ret = (struct pid_namespace){0};
	if (stat("/proc/self/ns/pid", &st) || st.st_ino == INITIAL_PID_NAMESPACE)
		return;
	ret->device = (uint64_t)major(st.st_dev) << 20 | minor(st.st_dev);
	ret->inode = st.st_ino;
}

static void compute_thread_sizes(const struct source_run *o, struct source_sizes *ret)
{
	if (!o->traffic)
		return;
	ret->thread_slots = power_of_two_from(o->config->max_threads * THREAD_ROOM);
	ret->thread_record_bytes =
		(uint32_t)(sizeof(struct abi_thread) +
			   (o->config->temporary_threshold + 1) * sizeof(uint64_t));
}

/* The stack_pcs map has room for max_stacks stacks of this depth, or for FEW_STACKS of
 * the largest depth if that is more. Builds by make, which have the most stacks, have 14
 * frames on average, LibreOffice 35. */
#define USUAL_DEPTH 16
#define FEW_STACKS  4096

static uint32_t stack_pcs_blocks(const struct source_run *run)
{
	uint64_t stacks = run->max_stacks, depth = run->stack_depth;
	uint64_t few = stacks < FEW_STACKS || run->no_atomics ? stacks : FEW_STACKS;
	uint64_t words = few * depth;

	/* Without atomics each stack has room for the largest depth
	 * (probes/hashes/stack_number.c). */
	if (!run->no_atomics && depth > USUAL_DEPTH)
		depth = USUAL_DEPTH;
	if (words < stacks * depth)
		words = stacks * depth;
	return (uint32_t)((words + ABI_PCS_BLOCK - 1) / ABI_PCS_BLOCK);
}

/* Parts of `stacks` and `stack_pcs` that a run begins with: 96 KiB, and 532 KiB for
 * 4,000 stacks of the usual depth. They must suffice until memtrace, which other
 * processes may delay, has added parts. Tables with many parts have larger ones. */
#define FEW_HEADS      4096
#define FEW_PCS_BLOCKS 8
/* Without atomics each stack has the largest depth: 4 MiB for 4,000 stacks. */
#define FEW_DEEP_BLOCKS 64

/* Buckets in the first two parts of the index: 256 KiB and 8 MiB. */
#define FEW_STACK_BUCKETS    4096
#define MEDIUM_STACK_BUCKETS 131073

/* Room ahead of the stacks that there are, in elements. Two processors that make nothing
 * but new stacks use it up in some 10 ms. */
#define HEADS_AHEAD      8192
#define PCS_BLOCKS_AHEAD 32

static uint32_t part_of(uint32_t elements, uint32_t few)
{
	uint32_t least = power_of_two_from(source_parts(elements, ABI_PARTS_MAX));

	return least > few ? least : few;
}

static void compute_parts(const struct source_run *run, struct source_sizes *ret)
{
	bool small = run->small_parts;
	uint32_t few_blocks = run->no_atomics ? FEW_DEEP_BLOCKS : FEW_PCS_BLOCKS;

	ret->stacks_part = part_of(ret->max_stacks, small ? 1 : FEW_HEADS);
	ret->stack_pcs_part = part_of(ret->stack_pcs_blocks, small ? 1 : few_blocks);
	ret->stacks_ahead = small ? 1 : source_parts(HEADS_AHEAD, ret->stacks_part);
	ret->stack_pcs_ahead =
		small ? 1 : source_parts(PCS_BLOCKS_AHEAD, ret->stack_pcs_part);
}

/* A stack goes to its first bucket if possible, since two processors may insert the same
 * stack. So no bucket overflows until the index is some 25 % full. */
static void compute_index(const struct source_run *run, struct source_sizes *ret)
{
	const uint32_t parts[] = {run->small_parts ? 64 : FEW_STACK_BUCKETS,
				  run->small_parts ? 1024 : MEDIUM_STACK_BUCKETS};
	uint32_t all = (uint32_t)(run->max_stacks * 4 / ABI_STACK_WAYS + 1), i = 0;

	for (; i < ABI_INDEX_PARTS - 1 && parts[i] < all; i++)
		ret->stack_buckets[i] = parts[i];
	ret->stack_buckets[i] = all;
}

/* Buckets of the first generation of `live`, at most: 6 MiB, 130,000 blocks until the
 * next one. */
#define FIRST_BUCKETS 32768

/* Entries of live_spill, at most. It takes the blocks that come while a generation is
 * added: 32,768 entries are 25 ms of two processors that only allocate. */
#define SPILL_MAX 32768

/* A half of the journal takes 160 KiB at first. */
#define FEW_JOURNAL_ENTRIES 4096

/* Choose the smallest number of generations that has room for all blocks with at most
 * FIRST_BUCKETS in the first one. */
static void compute_live_sizes(const struct source_run *run, struct source_sizes *ret)
{
	uint64_t blocks = run->max_allocations, spill = blocks / 128 + 64;
	uint64_t buckets = (blocks * 10 / 7 + ABI_LIVE_WAYS - 1) / ABI_LIVE_WAYS;
	uint32_t g = 1;

	while (g < ABI_LIVE_GENERATIONS && ABI_LIVE_BEFORE(FIRST_BUCKETS, g) < buckets)
		g++;
	if (run->live_generations)
		g = run->live_generations;
	ret->live_generations = g;
	ret->live_buckets =
		(uint32_t)((buckets + ABI_LIVE_BEFORE(1, g) - 1) / ABI_LIVE_BEFORE(1, g));
	ret->journal_entries = run->small_parts ? 16 : FEW_JOURNAL_ENTRIES;
	ret->live_spill = (uint32_t)(spill < SPILL_MAX ? spill : SPILL_MAX);
}

void source_sizes_compute(const struct source_run *run, struct source_sizes *ret)
{
	int cpus = libbpf_num_possible_cpus();

	/*
	 * With two choices of buckets of eight, and insertion into the emptier one, a
	 * table is 70 % full before the first overflow.
	 */
	*ret = (struct source_sizes){
		.cpu_slots = power_of_two_from(cpus > 0 ? (uint64_t)cpus : 1),
		.process_slots = run->scope == SCOPE_PROCESSES
					 ? FEW_PROCESSES
					 : power_of_two_from(run->config->max_processes),
		.pending_spill = ABI_PENDING_SPILL,
		.max_stacks = (uint32_t)run->max_stacks,
		.stack_depth = run->stack_depth,
		.stack_pcs_blocks = stack_pcs_blocks(run),
		.rule_buckets = run->scope == SCOPE_PROCESSES ? FEW_RULE_BUCKETS
							      : MANY_RULE_BUCKETS,
		.unwind_pages = (uint32_t)(run->config->unwind_memory_bytes /
					   ABI_UNWIND_PAGE_BYTES),
		.layouts = LAYOUTS,
		.claims = FEW_CLAIMS,
	};
	compute_parts(run, ret);
	compute_index(run, ret);
	compute_live_sizes(run, ret);
	if (run->no_atomics) {
		ret->live_buckets = ret->live_generations = 0;
		memset(ret->stack_buckets, 0, sizeof(ret->stack_buckets));
		ret->live_spill = (uint32_t)run->max_allocations;
		ret->pending_spill = ABI_PENDING_ALL;
		ret->claims = MANY_CLAIMS;
	}
	compute_thread_sizes(run, ret);
}
