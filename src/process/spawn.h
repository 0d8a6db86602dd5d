/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Start a program so that it can be traced from its beginning. A dynamically linked one
 * is held where its dynamic linker announces the mapped libraries to debuggers
 * (_dl_debug_state with RT_CONSISTENT, <link.h>): glibc and musl run initializers after
 * that. A static program is held at its first instruction.
 */
#ifndef PROCESS_SPAWN_H
#define PROCESS_SPAWN_H

#include <stdbool.h>
#include <sys/types.h>

#include "util/error.h"

struct elf_reader;

struct spawn {
	pid_t pid;
	struct elf_reader *elf_reader; /* borrowed */
	bool held;                     /* stopped by us until spawn_release() */
	bool reaped;                   /* `status` is the wait status of waitpid(2) */
	int status;
};

/* Exit statuses of a shell for a command that cannot be run. */
#define SPAWN_NOT_FOUND      127
#define SPAWN_NOT_EXECUTABLE 126

/*
 * Run the program `file` (NULL: argv[0]; without a slash it is looked up in PATH) with
 * our environment, working directory and terminal, and hold it. While held, the child
 * dies with us. `elf_reader` (elf/elf_reader.h) reads the dynamic linker's file; NULL:
 * the caller does. ERROR_NOT_FOUND: no such command. ERROR_PERMISSION: it may not be run.
 * ERROR_GONE: it exited before it could be held.
 */
struct error *spawn_start(const char *file, char *const argv[],
			  struct elf_reader *elf_reader, struct spawn *ret)
	__attribute__((warn_unused_result));

/* Let the program run. */
struct error *spawn_release(struct spawn *spawn) __attribute__((warn_unused_result));

/* Kill the program if it is still held, and free `spawn`. A released program runs on. */
void spawn_deinit(struct spawn *spawn);

/* Wait for the program to exit. Returns its exit status, or 128 + the signal that
 * killed it. */
int spawn_wait(struct spawn *spawn);

#endif
