// SPDX-License-Identifier: Apache-2.0
/* Numbers that memtrace gives to stacks while it can add no memory to their tables. */
#include "drain/stack_store.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <sys/resource.h>

#include "abi.h"
#include "check.h"
#include "unit/bpf/create_map.h"

#define MAX_STACKS 4096
#define DEPTH      16
/* Stacks of this depth in a part of `stack_pcs`. */
#define PCS_STACKS (ABI_PCS_BLOCK / DEPTH)

struct bench {
	struct source_sizes sizes;
	struct abi_control control;
	struct stack_maps maps;
	struct stack_tables tables;
	struct stack_store store;
	struct rlimit files; /* before the test */
};

static int create_hash(uint32_t key_bytes)
{
	return create_map((union bpf_attr){.map_type = BPF_MAP_TYPE_HASH,
					   .key_size = key_bytes,
					   .value_size = sizeof(uint32_t),
					   .max_entries = MAX_STACKS});
}

/* From now on no map can be created. */
static void stop_growing(struct bench *b)
{
	int first_free = dup(b->maps.stacks);
	struct rlimit none = {0, b->files.rlim_max};

	REQUIRE(first_free >= 0);
	close(first_free);
	none.rlim_cur = (rlim_t)first_free;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &none));
}

static void let_grow(const struct bench *b)
{
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &b->files));
}

static void bench_init(struct bench *b, uint32_t stacks_part, bool by_hash)
{
	memset(b, 0, sizeof(*b));
	b->sizes = (struct source_sizes){.max_stacks = MAX_STACKS,
					 .stack_depth = DEPTH,
					 .stack_pcs_blocks = MAX_STACKS / PCS_STACKS,
					 .stacks_part = stacks_part,
					 .stack_pcs_part = 1,
					 .stacks_ahead = 1,
					 .stack_pcs_ahead = 1,
					 .stack_buckets = {MAX_STACKS}};
	b->maps.stacks_part = create_array(sizeof(struct abi_stack_head), stacks_part, 0);
	b->maps.stack_pcs_part = create_array(ABI_PCS_BLOCK_BYTES(DEPTH), 1, 0);
	b->maps.stack_index_part =
		create_array(sizeof(struct abi_stack_bucket), MAX_STACKS, 0);
	b->maps.stacks = create_array_of_maps(b->maps.stacks_part, ABI_PARTS_MAX);
	b->maps.stack_pcs = create_array_of_maps(b->maps.stack_pcs_part, ABI_PARTS_MAX);
	b->maps.stack_index =
		create_array_of_maps(b->maps.stack_index_part, ABI_PARTS_MAX);
	stack_tables_open(&b->tables, &b->maps, &b->sizes, &b->control, by_hash);
	stack_store_init(&b->store, &b->tables, create_hash(sizeof(struct abi_stack_key)),
			 create_hash(sizeof(uint32_t)));
	REQUIRE(!getrlimit(RLIMIT_NOFILE, &b->files));
	stop_growing(b);
}

static void bench_deinit(struct bench *b)
{
	const int fds[] = {b->maps.stacks,      b->maps.stacks_part,
			   b->maps.stack_pcs,   b->maps.stack_pcs_part,
			   b->maps.stack_index, b->maps.stack_index_part,
			   b->store.numbers_fd, b->store.claims_fd};

	let_grow(b);
	stack_store_deinit(&b->store);
	stack_tables_close(&b->tables);
	for (size_t i = 0; i < sizeof(fds) / sizeof(*fds); i++)
		close(fds[i]);
}

static uint32_t store(struct bench *b, uint32_t which)
{
	uint64_t pcs[DEPTH];
	const struct stored_stack stack = {
		.family = 1, .pcs = pcs, .depth = DEPTH, .end = ABI_END_COMPLETE};

	for (uint32_t i = 0; i < DEPTH; i++)
		pcs[i] = ((uint64_t)which << 20) + i + 1;
	return stack_store_number(&b->store, &stack);
}

/* Once `there` stacks are stored, the next one finds no memory. It must not use up
 * numbers, however often it comes, and is stored when it finds memory again. */
static void check_full(uint32_t stacks_part, uint32_t there, bool by_hash)
{
	struct bench b;

	bench_init(&b, stacks_part, by_hash);
	for (uint32_t i = 0; i < there; i++)
		CHECK_INT(store(&b, i), i);
	for (int i = 0; i < 10; i++)
		CHECK_INT(store(&b, there), ABI_NO_STACK);
	CHECK_INT(b.store.refused, 10);
	CHECK_INT(b.control.stacks_used, there);
	CHECK_INT(b.control.stack_pcs_used, by_hash ? 0 : there * DEPTH);
	CHECK_INT(store(&b, 0), 0);
	let_grow(&b);
	/* It does not try for each stack. */
	usleep(150000);
	CHECK_INT(store(&b, there), there);
	CHECK_INT(store(&b, there), there);
	CHECK_INT(store(&b, there + 1), there + 1);
	bench_deinit(&b);
}

static void without_heads_no_number_is_used_up(void)
{
	check_full(256, 256, false);
	check_full(256, 256, true);
}

static void without_words_no_number_is_used_up(void)
{
	check_full(MAX_STACKS, PCS_STACKS, false);
	check_full(MAX_STACKS, PCS_STACKS, true);
}

int main(void)
{
	RUN(without_heads_no_number_is_used_up);
	RUN(without_words_no_number_is_used_up);
	return check_done();
}
