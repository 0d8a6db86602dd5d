/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of allocation functions: what each is called, what its arguments mean and
 * what a call does to the accounting.
 */
#ifndef TARGET_ALLOCATOR_H
#define TARGET_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/proc.h"
#include "util/error.h"

/* What a call means to the accounting. The numbers are shared with probes/abi.h. */
enum alloc_effect {
	EFFECT_ALLOC = 1,     /* returns a new block, or NULL */
	EFFECT_ALLOC_OUT = 2, /* returns 0 and stores the block through an argument */
	EFFECT_REALLOC = 3,   /* takes an old block, returns a new one, or NULL */
	EFFECT_FREE = 4,      /* takes an old block */
	EFFECT_MAP = 5,       /* returns a new mapping, or MAP_FAILED */
	EFFECT_UNMAP = 6,     /* takes a range */
	EFFECT_REMAP = 7,     /* mremap */
};

#define ARG_NONE 0xff

/* One function. Argument numbers count from 0; ARG_NONE when there is none. */
struct alloc_function {
	const char *name;
	enum alloc_effect effect;
	uint8_t size_arg;  /* the size, or the length of a mapping */
	uint8_t count_arg; /* multiplied with the size */
	uint8_t old_arg;   /* the old block or the address of a range */
	uint8_t out_arg;   /* where EFFECT_ALLOC_OUT stores the block */
	bool required;     /* without it tracing makes no sense: malloc and free */
	bool mapping;      /* traced with --mappings only */
};

/* The functions of libc, ended by a NULL name. Static. */
extern const struct alloc_function alloc_libc_functions[];

/* The file that holds the target's allocator. */
struct allocator {
	char *module_path;     /* as the target names it, for people */
	char *open_path;       /* as we can open it (proc_mapping_path) */
	uint64_t module_start; /* lowest address at which it is mapped */
	/* From its first to its last executable mapping, addresses in the target. */
	uint64_t text_start, text_end;
};

/*
 * Find the allocator among the target's executable mappings: with `library`, the file
 * of that path (or that base name); else the executable when it defines malloc and free
 * itself, else libc (also ld-musl). ERROR_NOT_FOUND says what was searched and names
 * --lib.
 */
struct error *allocator_find(const struct proc *proc, const struct proc_maps *maps,
			     const char *library, struct allocator *ret)
	__attribute__((warn_unused_result));
void allocator_deinit(struct allocator *allocator);

#endif
