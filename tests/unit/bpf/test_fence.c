// SPDX-License-Identifier: Apache-2.0
/* Waiting for running BPF programs: afterwards, a program that takes some milliseconds
 * has ended. */
#include "check.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/features.h"
#include "bpf/fence.h"
#include "bpf/mapped.h"
#include "bpf/syscall.h"
#include "unit/bpf/slow_program.h"
#include "util/clock.h"

#define FENCE_MAX_NS UINT64_C(1000000000)

static int create_marks(void)
{
	union bpf_attr attr = {.map_type = BPF_MAP_TYPE_ARRAY,
			       .key_size = 4,
			       .value_size = sizeof(struct marks),
			       .max_entries = 1,
			       .map_flags = BPF_F_MMAPABLE};

	return sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
}

/* Sets `begun`, runs ROUNDS rounds, sets `done`. */
static int load_slow_program(int map)
{
	const struct bpf_insn insns[] = {
		MAP(BPF_REG_7, BPF_PSEUDO_MAP_VALUE, map),
		STORE(BPF_DW, BPF_REG_7, 0, 1),
		MILLISECONDS_GO_BY,
		STORE(BPF_DW, BPF_REG_7, 8, 1),
		SET(BPF_REG_0, 0),
		{.code = BPF_JMP | BPF_EXIT},
	};

	return kernel_load(BPF_PROG_TYPE_SOCKET_FILTER, insns,
			   sizeof(insns) / sizeof(*insns), 0);
}

/* Runs the program in another thread and waits for the fence, after which it must have
 * ended. False if it had ended before, as on a busy machine. */
static bool waits_once(const struct fence *fence, int program, struct marks *marks)
{
	uint32_t fd = (uint32_t)program;
	pthread_t thread;
	bool was_running;

	*marks = (struct marks){0};
	REQUIRE(!pthread_create(&thread, NULL, slow_program_run, &fd));
	while (!read_mark(&marks->begun))
		;
	was_running = !read_mark(&marks->done);
	if (was_running) {
		CHECK(fence_wait(fence));
		CHECK(read_mark(&marks->done));
	}
	pthread_join(thread, NULL);
	return was_running;
}

static void programs_have_ended(void)
{
	int map = create_marks(), program;
	struct marks *marks;
	struct fence fence;
	unsigned seen = 0;

	if (map == -EPERM)
		check_skip("no BPF without privileges");
	REQUIRE(map >= 0);
	marks = mapped_open(map, sizeof(*marks));
	program = load_slow_program(map);
	REQUIRE(marks && program >= 0);
	fence_open(&fence);
	for (int i = 0; i < TRIES && seen < 10; i++)
		seen += waits_once(&fence, program, marks);
	CHECK(seen > 0);
	fence_close(&fence);
	mapped_close(marks, sizeof(*marks));
	close(program);
	close(map);
}

static void takes_not_long(void)
{
	struct fence fence;
	uint64_t begun_ns;

	fence_open(&fence);
	begun_ns = clock_now_ns();
	for (int i = 0; i < 10; i++)
		CHECK(fence_wait(&fence));
	printf("a fence takes %" PRIu64 " us\n", (clock_now_ns() - begun_ns) / 10000);
	CHECK(clock_now_ns() - begun_ns < 10 * FENCE_MAX_NS);
	fence_close(&fence);
}

/* Without the maps, the fence reports that it cannot wait. */
static void fails_without_maps(void)
{
	const struct fence fence = {.outer = -1, .inner = -1};

	CHECK(!fence_wait(&fence));
}

int main(void)
{
	RUN(programs_have_ended);
	RUN(takes_not_long);
	RUN(fails_without_maps);
	return check_done();
}
