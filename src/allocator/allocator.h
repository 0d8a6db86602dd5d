/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Find the files of a process that contain an allocator, by the functions that they
 * define: a table of the functions of known allocators (alloc_families.c), and a search
 * of the process's files for them (allocator.c, allocator_scan.c).
 */
#ifndef ALLOCATOR_ALLOCATOR_H
#define ALLOCATOR_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "process/proc.h"
#include "process/target_file.h"
#include "elf/usdt.h"
#include "util/error.h"
#include "util/vec.h"

struct scan_cache;

/* How a call changes the set of live blocks. The numbers are shared with probes/abi.h. */
enum alloc_effect {
	EFFECT_ALLOC = 1,     /* returns a new block, or NULL */
	EFFECT_ALLOC_OUT = 2, /* returns 0 and stores the block through an argument */
	EFFECT_REALLOC = 3,   /* takes an old block, returns a new one, or NULL */
	EFFECT_FREE = 4,      /* frees the old block */
	EFFECT_MAP = 5,       /* returns a new mapping, or MAP_FAILED */
	EFFECT_UNMAP = 6,     /* unmaps a range */
	EFFECT_REMAP = 7,     /* mremap */
	/* changes the size of a block in place; it succeeded if the result is at least
	 * the size asked for */
	EFFECT_RESIZE = 8,
	/* USDT probes of a program that reports its own blocks: a new block with its
	 * address, size and weight; a freed block with its address. */
	EFFECT_ALLOC_USDT = 9,
	EFFECT_FREE_USDT = 10,
};

#define ARG_NONE    0xff

#define LABEL_GLIBC "glibc" /* label of glibc's malloc, also in a static program */

/* An allocation function. Argument numbers count from 0; ARG_NONE: no such argument. */
struct alloc_function {
	const char *name;
	enum alloc_effect effect;
	uint8_t size_arg;  /* the size, or the length of a mapping */
	uint8_t count_arg; /* the number of elements; multiplied by the size */
	uint8_t old_arg;   /* the old block, or the start of a range */
	uint8_t out_arg; /* the pointer through which EFFECT_ALLOC_OUT stores the block */
	bool common;     /* a message names it if the allocator lacks it */
	bool mapping;    /* traced with --mappings only */
};

/* True when a call can make a new block. */
bool alloc_function_allocates(const struct alloc_function *function);

/* True when a call frees a block and makes none. */
bool alloc_function_frees(const struct alloc_function *function);

/* How the functions of a family are found to be an allocator. */
enum alloc_family_role {
	/* By its names alone, or as another name of the plain functions. */
	FAMILY_NAMED,
	/* Functions beside the file's malloc, for the same blocks: part of the same
	 * allocator. In a file without malloc, as FAMILY_NAMED. */
	FAMILY_EXTENSION,
	FAMILY_PLAIN,       /* malloc etc.: the names do not say whose they are */
	FAMILY_OPERATORS,   /* part of the allocator that the file has otherwise */
	FAMILY_LAST_RESORT, /* only in a program whose allocator is unknown */
};

/* A group of functions that belong together, ended by a NULL name. Static. */
struct alloc_family {
	const char *label;
	const char *prefix; /* of all its names, "" if none */
	enum alloc_family_role role;
	const struct alloc_function *functions;
};

/* The row of alloc_families[] with malloc and its family, the only FAMILY_PLAIN. */
#define ALLOC_FAMILY_LIBC  0

#define ALLOC_FAMILIES_MAX 32

extern const struct alloc_family alloc_families[];
extern const size_t alloc_family_count; /* at most ALLOC_FAMILIES_MAX */

/* A function that was found, and its place in the file. */
struct allocator_function {
	const struct alloc_function *function;
	struct elf_symbol symbol;
	struct usdt_place usdt; /* the USDT probe of EFFECT_ALLOC_USDT and _FREE_USDT */
};

/* One allocator in one file. A file may hold several: a program linked statically with
 * a prefixed jemalloc has libc's malloc as well. */
struct allocator {
	char *module_path;        /* path as the target names it, for messages */
	struct target_file *file; /* released with it */
	uint64_t module_start;    /* lowest address at which it is mapped */
	/* Start of its first, end of its last executable mapping; addresses in the
	 * target. */
	uint64_t text_start, text_end;
	char *label;      /* "glibc", "jemalloc", "executable", the file's name... */
	char *build_id;   /* of the file, or NULL */
	char *debug_path; /* the debug file used for names, or NULL */
	size_t places_left_out; /* places of USDT probes beyond USDT_PLACES_MAX */
	/* The names are from a debug file that the target may have written: do not use
	 * these places in other processes. */
	bool has_targets_names;
	VEC(struct allocator_function) functions;   /* in the table's order */
	VEC(const struct alloc_function *) missing; /* common functions not found */
	/* Functions that the file very likely has, but whose address is unknown. Calls
	 * of them are not seen. */
	VEC(const struct alloc_function *) hidden;
	struct alloc_function *prefixed; /* the functions of --symbols-prefix, or NULL */
};

void allocator_deinit(struct allocator *allocator);

struct allocators {
	VEC(struct allocator) list;
};

void allocators_deinit(struct allocators *allocators);

/* Mapped files that are not traced although they contain, or may contain, an
 * allocator. */
struct untraced_files {
	size_t count;
	char *why_unread; /* why the first one could not be read; owned; NULL: all could
			     be read */
	bool lacks_descriptors; /* no file descriptor was left (EMFILE, ENFILE) */
};

struct allocator_options {
	const char *library; /* search this file only: its path or base name; NULL: all
				files */
	/* Look for the functions of libc and jemalloc with this prefix, instead of all
	 * known families; NULL: look for all families. */
	const char *symbols_prefix;
	bool mappings; /* also find mmap and its family */
	/* The probes will also hit other processes. This process must not choose their
	 * places, so debug files below its root directory are not used. */
	bool is_shared;
	/* Find the USDT probes of allocator_otel.h instead of functions. One probe is
	 * enough. */
	bool otel;
	/* Files that have an executable mapping here were searched before, and are
	 * skipped; NULL: none. */
	const struct proc_maps *known;
	/* Files that could not be searched are counted here, also on failure; NULL: not
	 * counted. */
	struct untraced_files *untraced;
	/* What was found in libraries for other processes; NULL: nothing. Borrowed. */
	struct scan_cache *scans;
};

/*
 * Find the allocators in the target's executable mappings: docs/allocators.md, "How
 * allocators are found", has the order and what counts. Files that cannot be read because
 * of a limit are skipped. If no allocator is found, the error of the first such file is
 * returned. ERROR_NOT_FOUND says what was searched and what is missing, and names --lib.
 */
struct error *allocators_find(const struct proc *proc, const struct proc_maps *maps,
			      const struct allocator_options *options,
			      struct allocators *ret) __attribute__((warn_unused_result));

/* A file to search. */
struct allocator_file {
	const char *module_path;
	struct target_file *file; /* shared with the allocators that are found */
	uint64_t module_start, text_start, text_end; /* as in struct allocator */
	bool is_executable;
	bool is_named;    /* named by --lib: the C++ operators always count */
	bool last_resort; /* functions that usually call another allocator count too:
			     Rust's */
	const struct proc *debug_proc; /* for debug_file_find(); NULL: none */
};

/*
 * Append the allocators of a file to `ret`, possibly none. Then *why_none (owned) is a
 * sentence that says that the file has no symbol names, or has only malloc or only
 * free, or it is NULL.
 */
struct error *allocators_scan(const struct allocator_file *file,
			      const struct allocator_options *options,
			      struct allocators *ret, char **why_none)
	__attribute__((warn_unused_result));

#endif
