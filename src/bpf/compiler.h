/* SPDX-License-Identifier: Apache-2.0 */
/*
 * libbcc in a process of its own. The child loads libbcc (60 MB with LLVM), compiles,
 * and hands the maps' and later the programs' descriptors over a socket: memtrace
 * itself stays small, and no abort() inside LLVM takes it down. The child lives until
 * compiler_destroy(), since attaching may have to ask for other programs.
 */
#ifndef BPF_COMPILER_H
#define BPF_COMPILER_H

#include <stddef.h>
#include <stdint.h>

#include "bpf/headers.h"
#include "bpf/source.h"
#include "util/error.h"

struct compiler;

/* Begin to compile; does not wait. The child has a copy of `source`; the files of
 * `headers` are to stay until compiler_wait() returns. */
struct error *compiler_start(const struct source *source, const struct headers *headers,
			     struct compiler **ret) __attribute__((warn_unused_result));

/*
 * Wait for the compilation. What libbcc and clang printed is the error's detail. With
 * `maps_of` the programs are loaded with the maps of that compiler, which has compiled,
 * and may be without its child, in place of their own of the same names.
 */
struct error *compiler_wait(struct compiler *compiler, const struct compiler *maps_of)
	__attribute__((warn_unused_result));

/* A descriptor of the map `name`, owned by the compiler (closed by its destroy), or -1
 * when there is no such map. */
int compiler_map(const struct compiler *compiler, const char *name);

/* What programs are loaded as. */
struct program_kind {
	uint32_t type;        /* enum bpf_prog_type */
	uint32_t attach_type; /* expected; 0: none */
};

/*
 * Load the programs `names` (count of them, at most COMPILER_MAX_PROGRAMS). Descriptors
 * in ret[], owned by the caller. The verifier's last lines are the error's detail.
 */
#define COMPILER_MAX_PROGRAMS 64
struct error *compiler_load(struct compiler *compiler, const char *const names[],
			    size_t count, struct program_kind kind, int ret[])
	__attribute__((warn_unused_result));

/* End the child. The maps live on as long as their descriptors do. */
void compiler_release_child(struct compiler *compiler);
void compiler_destroy(struct compiler *compiler);

#endif
