/* SPDX-License-Identifier: Apache-2.0 */
/* The dynamic linker of a process, and where it tells of what it maps. */
#ifndef TARGET_LINKER_H
#define TARGET_LINKER_H

#include <stdint.h>
#include <sys/types.h>

#include "target/proc.h"
#include "util/error.h"

/* What the kernel told the program (getauxval(3)); 0 for what it did not, and for all of
 * a process that is gone. */
struct auxv {
	uint64_t linker_base; /* AT_BASE; 0: statically linked */
	uint64_t phdr, phnum;
};
void auxv_read(pid_t pid, struct auxv *ret);

/* Both glibc and musl call this empty function before and after each change of what is
 * mapped, for debuggers (<link.h>, struct r_debug). */
#define LINKER_NOTICE "_dl_debug_state"

/* The C library's code, by the names that glibc and musl have; musl is its own linker. In
 * a static program it is the program. NULL: it is not there, or not yet. Borrowed. */
const struct proc_mapping *linker_find_libc(const struct proc_maps *maps,
					    const struct auxv *auxv);

#endif
