// SPDX-License-Identifier: Apache-2.0
/* The ring of misses is replaced while programs write to it. No record may be lost, and
 * they must arrive in order. */
#include "unwind_miss/miss_ring.h"

#include <errno.h>
#include <pthread.h>
#include <unistd.h>

#include <linux/bpf.h>
#include <sys/resource.h>

#include "check.h"
#include "unit/bpf/create_map.h"
#include "bpf/features.h"
#include "unit/bpf/slow_program.h"

#define HELPER_LOOKUP         1   /* BPF_FUNC_map_lookup_elem */
#define HELPER_RINGBUF_OUTPUT 130 /* BPF_FUNC_ringbuf_output */
#define QUIET_NS              UINT64_C(5000000000)
#define START_NS              UINT64_C(1000000000)

struct bench {
	int outer, numbers, program;
	struct miss_ring ring;
	uint64_t next; /* the record that is expected */
};

/* What the program has sent, and how many of these records found no room. */
struct sent {
	uint64_t count, lost;
};

#define LOAD(to, at, offset)                                                             \
	{                                                                                \
		.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = (to), .src_reg = (at),    \
		.off = (offset)                                                          \
	}
#define KEEP(at, offset, from)                                                           \
	{                                                                                \
		.code = BPF_STX | BPF_MEM | BPF_DW, .dst_reg = (at), .src_reg = (from),  \
		.off = (offset)                                                          \
	}
#define ADD(to, value)                                                                   \
	{                                                                                \
		.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = (to), .imm = (value)     \
	}
#define COPY(to, from)                                                                   \
	{                                                                                \
		.code = BPF_ALU64 | BPF_MOV | BPF_X, .dst_reg = (to), .src_reg = (from)  \
	}
#define JUMP(condition, distance)                                                        \
	{                                                                                \
		.code = BPF_JMP | (condition) | BPF_K, .dst_reg = BPF_REG_0,             \
		.off = (distance)                                                        \
	}

/* Sends the number of the record, as the probes do (probes/unwind/miss.c). */
static int load_sender(const struct bench *b)
{
	const struct bpf_insn insns[] = {
		MAP(BPF_REG_7, BPF_PSEUDO_MAP_VALUE, b->numbers),
		LOAD(BPF_REG_2, BPF_REG_7, 0),
		KEEP(BPF_REG_10, -16, BPF_REG_2),
		ADD(BPF_REG_2, 1),
		KEEP(BPF_REG_7, 0, BPF_REG_2),
		STORE(BPF_W, BPF_REG_10, -4, 0),
		COPY(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -4),
		MAP(BPF_REG_1, BPF_PSEUDO_MAP_FD, b->outer),
		CALL(HELPER_LOOKUP),
		JUMP(BPF_JEQ, 7),
		COPY(BPF_REG_1, BPF_REG_0),
		COPY(BPF_REG_2, BPF_REG_10),
		ADD(BPF_REG_2, -16),
		SET(BPF_REG_3, 8),
		SET(BPF_REG_4, 0),
		CALL(HELPER_RINGBUF_OUTPUT),
		JUMP(BPF_JEQ, 3),
		LOAD(BPF_REG_1, BPF_REG_7, 8),
		ADD(BPF_REG_1, 1),
		KEEP(BPF_REG_7, 8, BPF_REG_1),
		SET(BPF_REG_0, 0),
		{.code = BPF_JMP | BPF_EXIT},
	};

	return kernel_load(BPF_PROG_TYPE_SOCKET_FILTER, insns,
			   sizeof(insns) / sizeof(*insns), 0);
}

static struct sent sent(const struct bench *b)
{
	uint32_t zero = 0;
	struct sent ret;

	REQUIRE(!sys_bpf_element(BPF_MAP_LOOKUP_ELEM, b->numbers, &zero, &ret));
	return ret;
}

static uint64_t lost;
static uint64_t received;

static int on_record(void *arg, void *data, size_t size)
{
	struct bench *b = arg;
	uint64_t number = *(const uint64_t *)data;

	REQUIRE(size == sizeof(number));
	/* Records without room are left out. */
	REQUIRE(number >= b->next);
	b->next = number + 1;
	/* The handler ends each batch so. */
	return ++received % 512 ? 0 : -EAGAIN;
}

static void bench_init(struct bench *b)
{
	int page = create_map((union bpf_attr){.map_type = BPF_MAP_TYPE_RINGBUF,
					       .max_entries = (uint32_t)getpagesize()});

	*b = (struct bench){
		.outer = create_array_of_maps(page, 1),
		.numbers = create_map((union bpf_attr){.map_type = BPF_MAP_TYPE_ARRAY,
						       .key_size = sizeof(uint32_t),
						       .value_size = sizeof(struct sent),
						       .max_entries = 1}),
	};
	close(page);
	b->program = load_sender(b);
	REQUIRE(b->program >= 0);
	received = 0;
	REQUIRE(!miss_ring_open(&b->ring, b->outer, 0, MISS_RING_BYTES, &lost, on_record,
				b));
	miss_ring_begin(&b->ring);
	REQUIRE(!miss_ring_wait(&b->ring));
}

static void bench_deinit(struct bench *b)
{
	miss_ring_close(&b->ring);
	close(b->program);
	close(b->numbers);
	close(b->outer);
}

static void send(const struct bench *b, uint32_t times)
{
	char packet[64] = {0};
	union bpf_attr attr = {.test = {.prog_fd = (uint32_t)b->program,
					.repeat = times,
					.data_in = (uint64_t)(uintptr_t)packet,
					.data_size_in = sizeof(packet)}};

	REQUIRE(!sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr)));
}

/* One miss with a whole copy of a stack. */
#define WALK_BYTES 65800

/* A large ring becomes small after a quiet time, and a small one large at once. What is
 * in the old ring is received. */
static void its_size_follows_the_records(void)
{
	static const struct {
		uint64_t after_ns;
		bool will_be_busy;
		size_t bytes;
		uint64_t lost;
		bool is_large;
	} cases[] = {
		{0, false, 0, 0, true},
		{QUIET_NS, false, 1, 0, true},
		{1, true, 0, 0, true},
		{QUIET_NS - 1, false, 1, 0, true},
		{1, false, WALK_BYTES, 0, true},
		{QUIET_NS, false, 1, 0, true},
		{1, false, 1, 0, false},
		{1, false, 1, 0, false},
		{1, false, WALK_BYTES, 0, true},
		{QUIET_NS, false, 0, 0, true},
		{QUIET_NS / 2, false, 0, 0, false},
		{1, true, 0, 0, true},
		{2 * QUIET_NS, false, 0, 0, false},
		/* A record found no room. */
		{1, false, 0, 1, true},
		{QUIET_NS, false, 0, 1, true},
		{1, false, 0, 1, false},
	};
	uint64_t now_ns = START_NS;
	struct bench b;

	bench_init(&b);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		send(&b, 100);
		now_ns += cases[i].after_ns;
		lost = cases[i].lost;
		CHECK_INT(miss_ring_has_lost(&b.ring), i && lost != cases[i - 1].lost);
		miss_ring_fit(&b.ring, cases[i].will_be_busy, cases[i].bytes, now_ns);
		if ((b.ring.bytes == MISS_RING_BYTES) != cases[i].is_large)
			CHECK_FAIL("case %zu", i);
	}
	while (ring_consume(b.ring.ring))
		;
	CHECK_INT(received, 100 * sizeof(cases) / sizeof(*cases));
	CHECK_INT(sent(&b).lost, 0);
	bench_deinit(&b);
}

static void without_unwind_tables_it_stays_large(void)
{
	struct bench b;

	bench_init(&b);
	b.ring.stays_large = true;
	miss_ring_fit(&b.ring, false, 0, START_NS);
	miss_ring_fit(&b.ring, false, 0, START_NS + 2 * QUIET_NS);
	CHECK_INT(b.ring.bytes, MISS_RING_BYTES);
	b.ring.stays_large = false;
	miss_ring_fit(&b.ring, false, 0, START_NS + 2 * QUIET_NS);
	CHECK(b.ring.bytes < MISS_RING_BYTES);
	bench_deinit(&b);
}

struct sender {
	const struct bench *bench;
	bool stop;
};

static void *keep_sending(void *arg)
{
	struct sender *s = arg;

	while (!__atomic_load_n(&s->stop, __ATOMIC_SEQ_CST)) {
		send(s->bench, 50);
		usleep(100);
	}
	return NULL;
}

static void none_is_lost_while_it_is_replaced(void)
{
	uint64_t now_ns = START_NS;
	pthread_t thread;
	struct bench b;

	bench_init(&b);

	struct sender sender = {.bench = &b};

	REQUIRE(!pthread_create(&thread, NULL, keep_sending, &sender));
	for (int i = 0; i < 20; i++) {
		now_ns += 2 * QUIET_NS;
		miss_ring_fit(&b.ring, i % 2, 0, now_ns);
		CHECK_INT(b.ring.bytes == MISS_RING_BYTES, i % 2 || !i);
		for (int times = 0; times < 20; times++)
			(void)ring_consume(b.ring.ring);
	}
	__atomic_store_n(&sender.stop, true, __ATOMIC_SEQ_CST);
	pthread_join(thread, NULL);
	while (ring_consume(b.ring.ring))
		;
	printf("%llu records\n", (unsigned long long)received);
	CHECK(received > 1000);
	CHECK_INT(received + sent(&b).lost, sent(&b).count);
	CHECK_INT(sent(&b).lost, 0);
	bench_deinit(&b);
}

/* The address space of this process, bytes. */
static rlim_t address_space(void)
{
	unsigned long pages = 0;
	FILE *file = fopen("/proc/self/statm", "re");

	REQUIRE(file && fscanf(file, "%lu", &pages) == 1);
	fclose(file);
	return (rlim_t)pages * (rlim_t)getpagesize();
}

/* Without memory for a large ring a smaller one is used. It becomes large when there is
 * memory and it is needed. */
static void a_smaller_one_is_better_than_none(void)
{
	struct rlimit before, little;
	struct bench b;

	REQUIRE(!getrlimit(RLIMIT_AS, &before));
	little = before;
	/* A ring is mapped twice. */
	little.rlim_cur = address_space() + MISS_RING_BYTES;
	REQUIRE(!setrlimit(RLIMIT_AS, &little));
	bench_init(&b);
	CHECK_INT(b.ring.bytes, MISS_RING_BYTES / 4);
	CHECK_INT(b.ring.first_bytes, MISS_RING_BYTES / 4);
	send(&b, 100);
	miss_ring_fit(&b.ring, true, 0, START_NS);
	CHECK_INT(b.ring.bytes, MISS_RING_BYTES / 4);
	REQUIRE(!setrlimit(RLIMIT_AS, &before));
	miss_ring_fit(&b.ring, true, 0, 2 * START_NS);
	CHECK_INT(b.ring.bytes, MISS_RING_BYTES);
	while (ring_consume(b.ring.ring))
		;
	CHECK_INT(received, 100);
	bench_deinit(&b);

	/* Not even for the smallest one. */
	little.rlim_cur = address_space() + MISS_RING_BYTES / 16;
	REQUIRE(!setrlimit(RLIMIT_AS, &little));

	struct miss_ring none;
	struct error *err =
		miss_ring_open(&none, -1, 0, MISS_RING_BYTES, &lost, on_record, NULL);

	REQUIRE(!setrlimit(RLIMIT_AS, &before));
	CHECK(err);
	error_destroy(err);
	miss_ring_close(&none);
}

int main(void)
{
	RUN(a_smaller_one_is_better_than_none);
	RUN(its_size_follows_the_records);
	RUN(without_unwind_tables_it_stays_large);
	RUN(none_is_lost_while_it_is_replaced);
	return check_done();
}
