/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program started to be traced: stopped once its libraries are mapped and before any
 * of their code, or its own, has run, so that probes can be put in place first.
 */
#ifndef TARGET_SPAWN_H
#define TARGET_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct elf_reader;

struct spawn {
	pid_t pid;
	struct elf_reader *elf_reader; /* borrowed */
	bool held;                     /* stopped by us, waits for spawn_release() */
	bool reaped;                   /* `status` is what waitpid(2) gave */
	int status;
};

/* What a shell would return for a command that cannot be run. */
#define SPAWN_NOT_FOUND      127
#define SPAWN_NOT_EXECUTABLE 126

/*
 * Run the program `file` with `argv`, our environment, working directory and terminal,
 * and hold it. A file without a slash is looked up in PATH; NULL stands for argv[0]. The
 * child dies with us as long as it is held. The error's code is ERROR_NOT_FOUND when
 * there is no such command, ERROR_PERMISSION when it may not be run, ERROR_GONE when it
 * ended before it could be held.
 *
 * A dynamically linked program is held where its dynamic linker announces the mapped
 * libraries to debuggers (_dl_debug_state with RT_CONSISTENT, <link.h>): glibc and musl
 * run initializers after that. A static one is held at its first instruction. Its dynamic
 * linker is read by `elf_reader` (target/elf_reader.h), NULL: by ourselves.
 */
struct error *spawn_start(const char *file, char *const argv[],
			  struct elf_reader *elf_reader, struct spawn *ret)
	__attribute__((warn_unused_result));

/* Let it go. */
struct error *spawn_release(struct spawn *spawn) __attribute__((warn_unused_result));

/* Kill it if it is still held, and forget it. A released program runs on. */
void spawn_deinit(struct spawn *spawn);

/* Wait for its end; its exit status, or 128 + the signal that killed it. */
int spawn_wait(struct spawn *spawn);

#endif
