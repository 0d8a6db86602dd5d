/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runtimes of languages: which of them keep their objects in a heap of their own, where
 * no allocator's functions are called, and what names the code that their compilers make
 * while the program runs. One table has all of it (runtimes.c).
 */
#ifndef CLI_RUNTIMES_H
#define CLI_RUNTIMES_H

#include <stdbool.h>
#include <stdio.h>

#include "cli/tracee.h"
#include "report/report.h"
#include "target/proc.h"

struct runtime {
	const char *heap; /* half a sentence: what is in its own heap; NULL: nothing */
	const char *use;  /* what shows these objects; NULL: nothing that is known */
	const char *jit; /* what makes frames in its code whole or named; NULL: nothing */
	bool is_go;
};

/*
 * The runtime in a process, by the names of the files and of the memory that it has
 * mapped, and by sections and symbols of its executable. The latter needs `proc`; NULL:
 * they are not looked at. Go names its mappings (runtime/set_vma_name_linux.go, Go 1.25;
 * PR_SET_VMA_ANON_NAME of prctl(2)). NULL: none that is known. Static.
 */
const struct runtime *runtime_of(const struct proc_maps *maps, const struct proc *proc);

/* The runtime that an executable has, by its sections and symbols. `fd` is taken. NULL:
 * none that is known, or it is no ELF file that can be read. Static. */
const struct runtime *runtime_of_elf(int fd);

/* Say what the process keeps in a heap of its own, if anything. */
void runtime_say_heap(const struct tracee *tracee, FILE *out);

/* Say for each process of `report`, once, what would name the frames in code that its
 * runtime has made, if some have no name or end a stack. `tracees` are those of the
 * processes. */
void runtime_say_jit(struct tracee *const tracees[], size_t count,
		     const struct report *report, FILE *out);

#endif
