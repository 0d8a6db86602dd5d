/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that compiles one source with libbcc. Loading libbcc with LLVM takes about
 * 0.1 s, which does not depend on what is compiled: a process that is started early does
 * it while memtrace plans the probes, and others are its copies.
 */
#ifndef COMPILE_COMPILER_PROCESS_H
#define COMPILE_COMPILER_PROCESS_H

#include <stddef.h>
#include <sys/types.h>

#include "compile/headers.h"
#include "compile/source.h"
#include "util/error.h"

struct compiler_process {
	pid_t pid;  /* 0: none, or not known before MESSAGE_STARTED */
	int socket; /* for struct message (compile/compiler_child.h); -1: none */
	int log_fd; /* a memory file with all its output; -1: none */
};

#define COMPILER_PROCESS_NONE ((struct compiler_process){.socket = -1, .log_fd = -1})

/* Start a process that loads libbcc and waits for a request. On error *ret is
 * COMPILER_PROCESS_NONE. */
struct error *compiler_process_start(struct compiler_process *ret)
	__attribute__((warn_unused_result));

/* Ask the process to compile `source`. Does not wait for it. `headers` must have been
 * unpacked (headers_unpack()), and must exist until the process has answered. */
struct error *compiler_process_ask(const struct compiler_process *process,
				   const struct source *source,
				   const struct headers *headers)
	__attribute__((warn_unused_result));

/* End the process. The log stays open until compiler_process_deinit(). */
void compiler_process_end(struct compiler_process *process);
void compiler_process_deinit(struct compiler_process *process);

/* Processes that are started before it is known what they will compile: at most one for
 * each source of a run. All zero: none. */
#define COMPILER_POOL_MAX 2

struct compiler_pool {
	struct compiler_process processes[COMPILER_POOL_MAX];
	size_t count;
};

/* Start `count` processes, at most COMPILER_POOL_MAX. If that fails the pool is empty:
 * compiler_start() then starts one itself and reports the error. */
void compiler_pool_init(struct compiler_pool *pool, size_t count);
void compiler_pool_deinit(struct compiler_pool *pool);

/* Take a process out of the pool, which the caller then owns; start one if the pool is
 * empty or NULL, or if the process has failed. Waits until the process has loaded libbcc.
 */
struct error *compiler_pool_take(struct compiler_pool *pool, struct compiler_process *ret)
	__attribute__((warn_unused_result));

#endif
