/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic linker of a process, and the function that it calls when it maps a
 * library. */
#ifndef PROCESS_LINKER_H
#define PROCESS_LINKER_H

#include <stdint.h>
#include <sys/types.h>

#include "process/proc.h"
#include "util/error.h"

/* The auxiliary vector that the kernel gave the program (getauxval(3)). A missing entry
 * is 0. All are 0 if the process has exited. */
struct auxv {
	uint64_t linker_base; /* AT_BASE; 0: statically linked */
	uint64_t phdr, phnum;
};
void auxv_read(pid_t pid, struct auxv *ret);

/* Both glibc and musl call this empty function before and after each change of what is
 * mapped, for debuggers (<link.h>, struct r_debug). */
#define LINKER_NOTICE "_dl_debug_state"

/* The code mapping of the C library, found by the file names of glibc and musl (whose
 * library is also its linker). In a static program, the program's code. NULL: not
 * mapped, or not yet. Borrowed. */
const struct proc_mapping *linker_find_libc(const struct proc_maps *maps,
					    const struct auxv *auxv);

#endif
