/* SPDX-License-Identifier: Apache-2.0 */
/* For tests of allocators: finds those of a process. */
#ifndef TESTS_UNIT_ALLOCATOR_ALLOCATOR_FIND_H
#define TESTS_UNIT_ALLOCATOR_ALLOCATOR_FIND_H

#include "check.h"

#include "allocator/allocator.h"
#include "unit/elf/elf_builder.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

DEFINE_CLEANUP(struct proc *, proc_close);

static const struct built_symbol malloc_and_free[] = {
	{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
	{"free", STB_GLOBAL, STT_FUNC, 1, 0x210, false},
};

static inline struct error *find_with(const struct child *child,
				      const struct allocator_options *options,
				      struct allocators *ret)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps;

	REQUIRE(!proc_open(child->pid, &proc));
	REQUIRE(!proc_read_maps(proc, &maps));

	struct error *err = allocators_find(proc, &maps, options, ret);

	proc_maps_deinit(&maps);
	return err;
}

#endif
