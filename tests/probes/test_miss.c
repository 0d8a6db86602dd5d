// SPDX-License-Identifier: Apache-2.0
/*
 * Stacks that the probes could not unwind: what they send to memtrace (unwind/miss.c,
 * compiled for the host), and the copies that memtrace makes of it
 * (src/drain/stack_pages.c).
 */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "probes/host.h"

#include "abi_walk.h"
#include "drain/stack_pages.h"
#include "util/cleanup.h"

#define CPU_SLOTS   2
#define STACK_DEPTH 127
#define WALK_EXACT  0
#define WALK_LEAF   95
#define WALK_ROOT   32

#define REG_PC(ctx) ((u64)(ctx)->ip)
#define REG_SP(ctx) ((u64)(ctx)->sp)
#define REG_FP(ctx) ((u64)(ctx)->bp)

struct tracee {
	struct abi_control *ctl;
	u64 caller;
	u32 slot;
};

struct walk {
	struct unwind_regs {
		u64 pc, sp, bp;
	} regs, left;
	u64 inside, interrupted, leading;
	u32 depth, end, gap;
};

#define walk_gap(w) ((w)->gap)

static u64 launder(u64 *at, u64 value)
{
	*at = value;
	return value;
}

#define launder_by(word, value) (value)
#define loop_goes_on()          1
#define ROUND(at, value)        launder((at), (value))
#define SEND_BYTES(bytes, most) (bytes)
#include "loop.c"
#undef barrier_var
#define barrier_var(value) (void)(value)

/* --- the machine ---------------------------------------------------------------------
 */

#define RING_BYTES (512 << 10) /* of the smaller ring */

struct ring {
	u64 used, records;
	u64 taken; /* by others, after the query */
	bool is_gone;
};

static struct {
	struct abi_control control;
	u64 counts[ABI_COUNTER_COUNT];
	u64 start_stack, thread; /* where the stacks of the threads end */
	u64 hole;                /* the page with this address cannot be read */
	struct ring ring[ABI_MISS_RINGS];
	struct stack_pages pages;
	/* the last walk that came */
	const struct stack_room *room;
	struct abi_miss walk;
} host;

static void count(enum abi_counter which, u64 n)
{
	host.counts[which] += n;
}

static struct host_context context;

#define OFFSET_MM_START_STACK      1
#define OFFSET_TASK_MM             2
#define OFFSET_TASK_FSBASE         3

#define current_task()             NULL
#define kernel_pointer(in, offset) ((void)(in), NULL)
#define kernel_number(in, offset)                                                        \
	((void)(in), (offset) == OFFSET_TASK_FSBASE ? host.thread : host.start_stack)

#define BPF_RB_AVAIL_DATA 0
#define BPF_RB_RING_SIZE  1

static u64 bpf_ringbuf_query(const void *ring, u64 what)
{
	return what == BPF_RB_RING_SIZE ? RING_BYTES : ((const struct ring *)ring)->used;
}

static int bpf_ringbuf_output(void *at, const void *data, u64 size, u64 flags)
{
	struct ring *ring = at;
	const struct abi_miss *walk;
	const struct stack_room *room;

	(void)flags;
	if (ring->used + ring->taken + size > RING_BYTES)
		return -1;
	ring->used += size;
	ring->records++;
	walk = stack_pages_take(&host.pages, data, size, &room);
	if (walk) {
		host.room = room;
		memcpy(&host.walk, walk, size);
	}
	return 0;
}

static int read_user(void *ret, size_t size, const void *from)
{
	return (u64)(uintptr_t)from == host.hole ? -1
						 : bpf_probe_read_user(ret, size, from);
}

#define bpf_probe_read_user read_user

static struct abi_miss_room rooms[CPU_SLOTS * ABI_MISS_ROOMS];
static u64 sites[ABI_MISS_SITES];

static void *room_at(const short_key *at)
{
	return &rooms[*at];
}

static u64 *site_at(const short_key *at)
{
	return &sites[*at];
}

static void *ring_at(const short_key *at)
{
	return host.ring[*at].is_gone ? NULL : &host.ring[*at];
}

static const struct {
	void *(*lookup)(const short_key *at);
} miss_rooms = {room_at}, misses = {ring_at};
static const struct {
	u64 *(*lookup)(const short_key *at);
} miss_sites = {site_at};

#define claim_word(word, value) (*(word) ? 0 : (*(word) = (value), 1))

#include "unwind/miss_room.c"
#include "arrays/miss_number.c"
#include "loops/miss_far.c"
#include "offsets/stack_ends.c"
#include "offsets/no_return_instances.c"
#include "unwind/miss.c"

/* --- the tests --------------------------------------------------------------------- */

#define PAGE  ABI_MISS_PAGE_BYTES
#define PAGES 80

static struct tracee tracee = {.ctl = &host.control, .caller = 7, .slot = 3};
/* The stack of the thread, and its copy as memtrace has it. */
static _Alignas(PAGE) uint8_t stack[PAGES * PAGE];
static uint8_t copy[ABI_MISS_ALL_PAGES][PAGE];
static struct abi_scratch scratch;

static void begin(void)
{
	stack_pages_deinit(&host.pages);
	memset(&host, 0, sizeof(host));
	memset(rooms, 0, sizeof(rooms));
	memset(sites, 0, sizeof(sites));
	REQUIRE(!stack_pages_init(&host.pages, CPU_SLOTS));
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i * 131 + i / PAGE);
	context = (struct host_context){.memory_start = (uintptr_t)stack,
					.memory_end = (uintptr_t)(stack + sizeof(stack))};
	host_now = &context;
	host.start_stack = (uintptr_t)stack + sizeof(stack) - 100;
}

/* Hands over a walk at `depth` bytes before the end of the stack that lacks the rule of
 * `pc`. Returns its number. */
static u32 send_miss(size_t depth, u64 pc)
{
	u64 sp = (uintptr_t)stack + sizeof(stack) - depth;
	struct pt_regs regs = {.sp = sp, .ip = pc};
	const struct walk walk = {.regs = {.pc = pc, .sp = sp}};

	host.room = NULL;
	return miss_send(&tracee, &regs, &walk, &scratch, 1);
}

/* The number of bytes of the stack, from the stack pointer on, that memtrace has
 * right. */
static size_t right_bytes(void)
{
	uint64_t present = host.walk.present, at = host.walk.sp - host.walk.base, n = 0;
	size_t count = stack_room_copy(host.room, &host.walk, copy);
	const uint8_t *is = (const uint8_t *)(uintptr_t)host.walk.base;

	for (; at < count * PAGE && present >> at / PAGE & 1; at++, n++)
		if (copy[at / PAGE][at % PAGE] != is[at])
			break;
	return n;
}

/* The number of pages after the first 16 that memtrace has. */
static int far_pages(void)
{
	return __builtin_popcountll(host.walk.present >> ABI_MISS_PAGES);
}

/* Empties both rings, as the miss handler does. */
static void drain(void)
{
	for (int i = 0; i < ABI_MISS_RINGS; i++)
		host.ring[i].used = host.ring[i].records = 0;
}

static void a_small_stack_is_copied(void)
{
	begin();
	CHECK_INT(send_miss(10000, 0x1000), ABI_MISS_STACK(0));
	REQUIRE(host.room);
	CHECK_INT(right_bytes(), 10000);
	CHECK_INT(far_pages(), 0);
	CHECK_INT(host.walk.process, 3);
	CHECK_INT(host.control.misses, 1);
}

/* Up to 64 pages are copied, counted from the page of the stack pointer on. */
static void a_deep_stack_is_copied(void)
{
	begin();
	send_miss(30 * PAGE - 5, 0x1000);
	REQUIRE(host.room);
	CHECK_INT(right_bytes(), 30 * PAGE - 5);
	CHECK_INT(far_pages(), 30 - ABI_MISS_PAGES);
	begin();
	send_miss(70 * PAGE - 1000, 0x1000);
	REQUIRE(host.room);
	CHECK_INT(far_pages(), ABI_MISS_ALL_PAGES - ABI_MISS_PAGES);
	CHECK_INT(right_bytes(), ABI_MISS_ALL_PAGES * PAGE - 1000);
}

/* Pages beyond the first 16 are sent again only if they have changed. */
static void far_pages_are_sent_once(void)
{
	begin();
	send_miss(30 * PAGE - 5, 0x1000);
	drain();
	stack[sizeof(stack) - 200] ^= 1;
	send_miss(30 * PAGE - 5, 0x1000);
	/* It went to the other ring, whose rooms know nothing of it. */
	CHECK_INT(host.ring[ABI_MISS_RING].records, 30 - ABI_MISS_PAGES + 1);
	drain();
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(host.ring[ABI_MISS_RING].records, 1);
	CHECK_INT(right_bytes(), 30 * PAGE - 5);
	drain();
	stack[sizeof(stack) - 200] ^= 1;
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(host.ring[ABI_MISS_RING].records, 2);
	CHECK_INT(right_bytes(), 30 * PAGE - 5);
	/* Another stack at the same place in the room. */
	drain();
	send_miss(29 * PAGE - 5, 0x1000);
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(right_bytes(), 30 * PAGE - 5);
}

/* One process could make a page that has the hash of another one's. */
static void far_pages_are_of_one_process(void)
{
	begin();
	send_miss(30 * PAGE - 5, 0x1000);
	drain();
	tracee.slot = 4;
	send_miss(30 * PAGE - 5, 0x1000);
	tracee.slot = 3;
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 30 - ABI_MISS_PAGES + 1);
	CHECK_INT(right_bytes(), 30 * PAGE - 5);
}

/* If the end of the stack is not known, or much of the ring is full, only 16 pages are
 * copied. A page that was never touched cannot be read. */
static void far_pages_are_left_out(void)
{
	begin();
	host.start_stack = (uintptr_t)stack;
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(far_pages(), 0);
	CHECK_INT(right_bytes(), ABI_MISS_PAGES * PAGE - 5);

	begin();
	host.start_stack = 0;
	host.thread = (uintptr_t)stack + sizeof(stack) - 3 * PAGE;
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(far_pages(), 30 - ABI_MISS_PAGES - 2);

	begin();
	host.ring[ABI_MISS_RING_FIRST].used = RING_BYTES / 4 + 1;
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(far_pages(), 0);

	begin();
	context.memory_end -= 4 * PAGE;
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(far_pages(), 30 - ABI_MISS_PAGES - 4);
	CHECK_INT(right_bytes(), 26 * PAGE - 5);

	begin();
	host.hole = (uintptr_t)stack + (PAGES - 10) * PAGE;
	send_miss(30 * PAGE - 5, 0x1000);
	CHECK_INT(far_pages(), 30 - ABI_MISS_PAGES - 1);
	CHECK(!(host.walk.present >> 20 & 1) && host.walk.present >> 21 & 1);
	CHECK_INT(right_bytes(), 20 * PAGE - 5);
}

/* A far page that found no room is sent with the next walk. */
static void a_far_page_without_room_comes_later(void)
{
	begin();
	host.ring[ABI_MISS_RING_FIRST].taken = RING_BYTES - 9 * PAGE;
	send_miss(60 * PAGE, 0x1000);
	CHECK(!host.room);
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 8);
	CHECK_INT(host.counts[ABI_WALKS_LOST], 1);
	drain();
	host.ring[ABI_MISS_RING_FIRST].taken = 0;
	memset(sites, 0, sizeof(sites));
	send_miss(60 * PAGE, 0x1000);
	REQUIRE(host.room);
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 60 - ABI_MISS_PAGES - 8 + 1);
	CHECK_INT(right_bytes(), 60 * PAGE);
}

/* The first walk of a while that lacks a rule goes to a ring of its own. */
static void the_first_of_a_site_is_first(void)
{
	begin();
	send_miss(1000, 0x1000);
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 1);
	CHECK_INT(ABI_MISS_ROOM_RING(host.walk.room), ABI_MISS_RING_FIRST);
	for (int i = 0; i < 9; i++)
		send_miss(1000, 0x1000);
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 1);
	CHECK_INT(host.ring[ABI_MISS_RING].records, 9);
	CHECK_INT(ABI_MISS_ROOM_RING(host.walk.room), ABI_MISS_RING);
	send_miss(1000, 0x2000);
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 2);
	/* The same place in another process. */
	tracee.slot = 4;
	send_miss(1000, 0x1000);
	tracee.slot = 3;
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 3);
	host_ns += UINT64_C(2) << ABI_MISS_SITES_SHIFT;
	send_miss(1000, 0x1000);
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 4);
	/* That ring is half full, or not there yet. */
	host.ring[ABI_MISS_RING_FIRST].used = RING_BYTES / 2 + 8;
	send_miss(1000, 0x3000);
	CHECK_INT(host.ring[ABI_MISS_RING].records, 10);
	host.ring[ABI_MISS_RING_FIRST].is_gone = true;
	send_miss(1000, 0x4000);
	CHECK_INT(host.ring[ABI_MISS_RING].records, 11);
	CHECK_INT(host.counts[ABI_WALKS_LOST], 0);
}

/* If a ring's rooms are taken, a walk takes one of the other ring's. */
static void rooms_that_are_taken(void)
{
	begin();
	rooms[2].owner = rooms[3].owner = 99;
	send_miss(1000, 0x1000);
	CHECK_INT(host.ring[ABI_MISS_RING].records, 1);
	rooms[0].owner = rooms[1].owner = 99;
	rooms[2].owner = 0;
	send_miss(1000, 0x1000);
	CHECK_INT(host.ring[ABI_MISS_RING_FIRST].records, 1);
	rooms[2].owner = 99;
	CHECK_INT(send_miss(1000, 0x1000), ABI_NO_STACK);
	CHECK_INT(host.counts[ABI_WALKS_LOST], 1);
}

int main(void)
{
	RUN(a_small_stack_is_copied);
	RUN(a_deep_stack_is_copied);
	RUN(far_pages_are_sent_once);
	RUN(far_pages_are_of_one_process);
	RUN(far_pages_are_left_out);
	RUN(a_far_page_without_room_comes_later);
	RUN(the_first_of_a_site_is_first);
	RUN(rooms_that_are_taken);
	stack_pages_deinit(&host.pages);
	return check_done();
}
