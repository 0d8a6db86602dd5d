/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of BPF programs that run for some milliseconds, and a way to run them: for tests
 * of what happens meanwhile. */
#ifndef TESTS_SLOW_PROGRAM_H
#define TESTS_SLOW_PROGRAM_H

#include <stdint.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"

/* The verifier follows each round, up to a million instructions. */
#define ROUNDS      60000
#define TRIES       1000
#define HELPER_TIME 5 /* BPF_FUNC_ktime_get_ns */

/* A program sets `begun` at its start and `done` at its end. */
struct marks {
	uint64_t begun, done;
};

#define SET(to, value)                                                                   \
	{                                                                                \
		.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = (to), .imm = (value)     \
	}
#define CALL(helper)                                                                     \
	{                                                                                \
		.code = BPF_JMP | BPF_CALL, .imm = (helper)                              \
	}
#define STORE(size, at, offset, value)                                                   \
	{                                                                                \
		.code = BPF_ST | BPF_MEM | (size), .dst_reg = (at), .off = (offset),     \
		.imm = (value)                                                           \
	}
#define MAP(to, kind, fd)                                                                \
	{.code = BPF_LD | BPF_IMM | BPF_DW,                                              \
	 .dst_reg = (to),                                                                \
	 .src_reg = (kind),                                                              \
	 .imm = (fd)},                                                                   \
	{                                                                                \
		0                                                                        \
	}

/* A loop of ROUNDS rounds, each with three helper calls. Six instructions. */
#define MILLISECONDS_GO_BY                                                               \
	SET(BPF_REG_6, 0), CALL(HELPER_TIME), CALL(HELPER_TIME), CALL(HELPER_TIME),      \
		{.code = BPF_ALU64 | BPF_ADD | BPF_K, .dst_reg = BPF_REG_6, .imm = 1},   \
	{                                                                                \
		.code = BPF_JMP | BPF_JLT | BPF_K, .dst_reg = BPF_REG_6, .off = -5,      \
		.imm = ROUNDS                                                            \
	}

/* For pthread_create(3): runs the program with the descriptor *arg once. */
static inline void *slow_program_run(void *arg)
{
	char packet[64] = {0};
	union bpf_attr attr = {.test = {.prog_fd = *(const uint32_t *)arg,
					.data_in = (uint64_t)(uintptr_t)packet,
					.data_size_in = sizeof(packet)}};

	sys_bpf(BPF_PROG_TEST_RUN, &attr, sizeof(attr));
	return NULL;
}

static inline uint64_t read_mark(const uint64_t *mark)
{
	return __atomic_load_n(mark, __ATOMIC_SEQ_CST);
}

#endif
