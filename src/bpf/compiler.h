/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From a source to code in the kernel. libbcc (60 MB with LLVM) runs in a child process,
 * which ends when it has handed over the programs: memtrace itself stays small, and no
 * abort() inside LLVM takes it down. For code that an earlier run has compiled, and that
 * the cache has kept, no child is started.
 */
#ifndef BPF_COMPILER_H
#define BPF_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/cache.h"
#include "bpf/code_load.h"
#include "bpf/headers.h"
#include "bpf/source.h"
#include "util/error.h"

struct compiler;

/*
 * Take the code from the cache, or else begin to compile; does not wait. `source` is not
 * needed afterwards. `headers` are unpacked when they are needed, and are to stay until
 * compiler_wait() returns; the cache is to live as long as the compiler. `anew`: compile,
 * even if the cache has the code.
 */
struct error *compiler_start(const struct source *source, struct headers *headers,
			     const struct cache *cache, bool anew, struct compiler **ret)
	__attribute__((warn_unused_result));

/*
 * Wait for the compilation. What libbcc and clang printed is the error's detail. With
 * `maps_of` the programs are loaded with the maps of that compiler, which has to live as
 * long, in place of their own of the same names.
 */
struct error *compiler_wait(struct compiler *compiler, const struct compiler *maps_of)
	__attribute__((warn_unused_result));

/* Did the code come from the cache? */
bool compiler_had_code(const struct compiler *compiler);

/* The kernel has taken what was compiled: keep it for other runs. */
void compiler_keep(const struct compiler *compiler);

/* The kernel has refused it: compile it anew in other runs, too. */
void compiler_drop(const struct compiler *compiler);

/* A descriptor of the map `name`, owned by the compiler (closed by its destroy), or -1
 * when there is no such map. */
int compiler_map(const struct compiler *compiler, const char *name);

/* Load the programs `names` (count of them). Descriptors in ret[], owned by the caller.
 * The verifier's last lines are the error's detail. */
struct error *compiler_load(struct compiler *compiler, const char *const names[],
			    size_t count, struct program_kind kind, int ret[])
	__attribute__((warn_unused_result));

void compiler_destroy(struct compiler *compiler);

#endif
