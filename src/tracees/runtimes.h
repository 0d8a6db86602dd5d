/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Language runtimes: which of them keep objects in their own heap, where no allocator
 * functions are called, and which setting gives names to their JIT-compiled code. All
 * facts are in one table (runtimes.c).
 */
#ifndef TRACEES_RUNTIMES_H
#define TRACEES_RUNTIMES_H

#include <stdbool.h>

#include "tracees/tracee.h"
#include "report/report.h"
#include "process/proc.h"

struct runtime {
	const char *heap; /* half a sentence: what lies in the runtime's own heap; NULL:
			     nothing */
	const char *use;  /* which tool shows these objects; NULL: none known */
	const char *jit;  /* what makes frames in JIT-compiled code named or unwindable;
			     NULL: nothing */
	bool is_go;
};

/*
 * Recognize the runtime of a process by the names of the files and memory areas that it
 * has mapped, and by the sections and symbols of its executable. NULL: no known runtime.
 * Static. The executable is read only if `proc` is not NULL. Go names its mappings
 * (runtime/set_vma_name_linux.go, Go 1.25; PR_SET_VMA_ANON_NAME of prctl(2)).
 */
const struct runtime *runtime_of(const struct proc_maps *maps, const struct proc *proc);

/* Recognize the runtime of an executable by its sections and symbols. Takes ownership of
 * `fd`. NULL: no known runtime, or not a readable ELF file. Static. */
const struct runtime *runtime_of_elf(int fd);

/* Print what the process keeps in a heap of its own, if anything. */
void runtime_say_heap(const struct tracee *tracee);

/* For each process of `report`: if frames in JIT-compiled code have no names or end a
 * stack, print once what would name them. `tracees` are these processes. */
void runtime_say_jit(struct tracee *const tracees[], size_t count,
		     const struct report *report);

#endif
