/* SPDX-License-Identifier: Apache-2.0 */
/* Programs that keep most of their objects where no allocator's functions are called: a
 * report of theirs is right, and not what was looked for. */
#ifndef CLI_OWN_HEAPS_H
#define CLI_OWN_HEAPS_H

#include <stdio.h>

#include "cli/tracee.h"
#include "target/proc.h"

/*
 * What the process has in a heap of its own, judging by what it has mapped, as half a
 * sentence; NULL: nothing that is known. Static. Go names its mappings
 * (runtime/set_vma_name_linux.go, Go 1.25; PR_SET_VMA_ANON_NAME of prctl(2)).
 */
const char *own_heap_of(const struct proc_maps *maps);

/* Say so of the process, if it has one. */
void own_heap_say(const struct tracee *tracee, FILE *out);

#endif
