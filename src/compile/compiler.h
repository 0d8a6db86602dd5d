/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compiles a source and loads the result into the kernel. libbcc (60 MB with LLVM) runs
 * in a child process, which ends after it has passed on the programs: memtrace itself
 * stays small, and an abort() inside LLVM does not kill it. If an earlier run has cached
 * the code, no child is started.
 */
#ifndef COMPILE_COMPILER_H
#define COMPILE_COMPILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/cache.h"
#include "bpf/code_load.h"
#include "compile/compiler_process.h"
#include "compile/headers.h"
#include "compile/source.h"
#include "util/error.h"

struct compiler;

/*
 * Take the code from the cache, or start to compile it; does not wait. `source` may be
 * destroyed afterwards. `headers` are unpacked if necessary, and must exist until
 * compiler_wait() returns; the cache must live as long as the compiler. `anew`: compile
 * even if the cache has the code. `pool`: processes that are already there to compile;
 * may be NULL.
 */
struct error *compiler_start(const struct source *source, struct headers *headers,
			     struct cache *cache, bool anew, struct compiler_pool *pool,
			     struct compiler **ret) __attribute__((warn_unused_result));

/* Wait for the compilation. The output of libbcc and clang is the error's detail. With
 * `maps_of`, programs use that compiler's maps of the same names instead of their own; it
 * must then live as long as this one. */
struct error *compiler_wait(struct compiler *compiler, const struct compiler *maps_of)
	__attribute__((warn_unused_result));

/* Did the code come from the cache? */
bool compiler_had_code(const struct compiler *compiler);

/* Cache the code, after the kernel has accepted it. */
void compiler_keep(const struct compiler *compiler);

/* Remove the code from the cache, after the kernel has refused it: other runs compile it
 * again. */
void compiler_drop(const struct compiler *compiler);

/* The descriptor of the map `name`, or -1 if it does not exist. The compiler owns and
 * closes it. */
int compiler_map(const struct compiler *compiler, const char *name);

/* The error for a map that must exist and does not. */
struct error *compiler_lacks_map(const char *name);

/* Load the program `name`. The caller owns the descriptor *ret. The error's detail is the
 * end of the verifier's log. */
struct error *compiler_load(struct compiler *compiler, const char *name,
			    struct program_kind kind, int *ret)
	__attribute__((warn_unused_result));

void compiler_destroy(struct compiler *compiler);

#endif
