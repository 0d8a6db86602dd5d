/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which part of the stacks is in use. What lies below the stack pointer (on x86-64: and
 * below the 128 bytes of the red zone; psABI, section 3.2.2) was left behind by functions
 * that have returned, and may still show pointers to blocks.
 */
#ifndef REACH_STACKS_H
#define REACH_STACKS_H

#include "process/proc.h"
#include "reach/memory.h"
#include "reach/threads.h"
#include "util/error.h"

/*
 * Leave out of `regions` what lies below the stack pointers of the stopped threads, and
 * below what the part of the stack in use points to, until `deadline_ns`. Of the main
 * thread only in [stack]; of others in mappings that the C library has made for them:
 * docs/unreachable.md, "What counts as a pointer". `guard`: as in struct reach_words.
 */
struct error *reach_stacks_cut(const struct reach_threads *threads,
			       const struct proc_maps *maps, uint64_t guard,
			       uint64_t deadline_ns, struct reach_regions *regions)
	__attribute__((warn_unused_result));

/*
 * The same for a process that runs, as far as is known: from the stack pointers of
 * threads that wait in the kernel (/proc/PID/task/TID/syscall, proc_pid_syscall(5)).
 * Others are stopped one after the other for a moment, until `deadline_ns`. What is left
 * out may be in use by now.
 */
struct error *reach_stacks_guess(int pid, const struct proc_maps *maps,
				 uint64_t deadline_ns, struct reach_regions *regions)
	__attribute__((warn_unused_result));

#endif
