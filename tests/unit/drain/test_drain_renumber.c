// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

#include "drain/drain_blocks.h"
#include "bpf/mapped.h"

#define BUCKETS 64

/* A stack with an odd number is not resolved yet. */
static uint32_t stack_of(void *arg, uint32_t stack)
{
	unsigned *asked = arg;

	++*asked;
	return stack & 1 ? ABI_NO_STACK : (stack & ~ABI_MISS_STACK_BIT) / 2;
}

/* A memfd replaces the BPF map of live blocks. */
static struct live_table table_of(struct abi_control *control)
{
	return (struct live_table){
		.control = control,
		.first_buckets = BUCKETS,
		.generations = 1,
		.part = {memfd_create("live", MFD_CLOEXEC)},
		.known = 1,
	};
}

static void renumbers(void)
{
	const size_t bytes = BUCKETS * sizeof(struct abi_live_bucket);
	unsigned asked = 0;
	const struct drain_resolver resolver = {NULL, stack_of, &asked};
	struct abi_control control = {0};
	struct live_table live = table_of(&control);
	int fd = live.part[0];
	struct abi_live_bucket *b;
	struct error *err;

	CHECK_INT(ftruncate(fd, (off_t)bytes), 0);
	b = mapped_open(fd, bytes);
	CHECK(b);
	b[0].key[0] = 5000;
	b[0].entry[0] = (struct abi_live_entry){10, ABI_MISS_STACK(84), 1, 2};
	b[0].key[1] = 5001;
	b[0].entry[1] = (struct abi_live_entry){11, ABI_MISS_STACK(85), 3, 4};
	b[7].key[7] = 5002;
	b[7].entry[7] = (struct abi_live_entry){12, 86, 5, 6};
	b[BUCKETS - 1].key[7] = 5003;
	b[BUCKETS - 1].entry[7] = (struct abi_live_entry){13, ABI_NO_STACK, 7, 8};
	b[BUCKETS - 1].key[6] = 5004;
	b[BUCKETS - 1].entry[6] = (struct abi_live_entry){14, ABI_MISS_STACK(2), 9, 10};
	/* A freed block, and one that is not complete yet. */
	b[9].entry[3].stack = ABI_MISS_STACK(4);
	b[9].key[4] = ABI_LIVE_CLAIMED;
	b[9].entry[4].stack = ABI_MISS_STACK(6);

	err = drain_renumber(&live, &resolver);
	CHECK(!err);
	CHECK_INT(asked, 3);
	CHECK_INT(b[0].entry[0].stack, 42);
	CHECK_INT(b[0].entry[0].size_bytes, 10);
	CHECK_INT(b[0].entry[0].thread, 1);
	CHECK_INT(b[0].entry[0].tick, 2);
	CHECK_INT(b[0].entry[1].stack, ABI_MISS_STACK(85));
	CHECK_INT(b[7].entry[7].stack, 86);
	CHECK_INT(b[BUCKETS - 1].entry[7].stack, ABI_NO_STACK);
	CHECK_INT(b[BUCKETS - 1].entry[6].stack, 1);
	CHECK_INT(b[9].entry[3].stack, ABI_MISS_STACK(4));
	CHECK_INT(b[9].entry[4].stack, ABI_MISS_STACK(6));
	mapped_close(b, bytes);
	close(fd);
}

/* Pending calls may have blocks, too. */
static void asks_between_snapshots(void)
{
	const size_t bytes = ABI_PENDING_SLOTS * sizeof(struct abi_pending);
	struct abi_control control = {0};
	struct live_table live = table_of(&control);
	unsigned asked = 0;
	const struct drain_resolver resolver = {NULL, stack_of, &asked};
	const struct drain_maps maps = {
		.live = &live,
		.pending = memfd_create("pending", MFD_CLOEXEC),
		.live_spill = -1,
		.pending_spill = -1,
	};
	struct abi_live_bucket *b;
	struct abi_pending *p;
	struct error *err;

	CHECK_INT(ftruncate(live.part[0], BUCKETS * sizeof(*b)), 0);
	CHECK_INT(ftruncate(maps.pending, (off_t)bytes), 0);
	b = mapped_open(live.part[0], BUCKETS * sizeof(*b));
	p = mapped_open(maps.pending, bytes);
	REQUIRE(b && p);
	b[3].key[1] = 5000;
	b[3].entry[1].stack = ABI_MISS_STACK(84);
	p[1] = (struct abi_pending){.owner = 7, .flags = ABI_PENDING_HAS_OLD};
	p[1].old.stack = ABI_MISS_STACK(2);
	/* No call, and a call without an old block. */
	p[2] = (struct abi_pending){.flags = ABI_PENDING_HAS_OLD};
	p[3] = (struct abi_pending){.owner = 8};

	err = drain_ask_stacks(&maps, &resolver);
	CHECK(!err);
	CHECK_INT(asked, 2);
	CHECK_INT(b[3].entry[1].stack, 42);
	CHECK_INT(p[1].old.stack, ABI_MISS_STACK(2));
	mapped_close(b, BUCKETS * sizeof(*b));
	mapped_close(p, bytes);
	close(live.part[0]);
	close(maps.pending);
}

int main(void)
{
	RUN(renumbers);
	RUN(asks_between_snapshots);
	return check_done();
}
