/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which files of a process hold an allocator, by what they define: a table of the
 * functions of known allocators (alloc_families.c), and the search of the process's
 * files for them (allocator.c, allocator_scan.c).
 */
#ifndef TARGET_ALLOCATOR_H
#define TARGET_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "target/elf.h"
#include "target/proc.h"
#include "target/target_file.h"
#include "target/usdt.h"
#include "util/error.h"
#include "util/vec.h"

/* What a call means to the accounting. The numbers are shared with probes/abi.h. */
enum alloc_effect {
	EFFECT_ALLOC = 1,     /* returns a new block, or NULL */
	EFFECT_ALLOC_OUT = 2, /* returns 0 and stores the block through an argument */
	EFFECT_REALLOC = 3,   /* takes an old block, returns a new one, or NULL */
	EFFECT_FREE = 4,      /* takes an old block */
	EFFECT_MAP = 5,       /* returns a new mapping, or MAP_FAILED */
	EFFECT_UNMAP = 6,     /* takes a range */
	EFFECT_REMAP = 7,     /* mremap */
	EFFECT_RESIZE = 8,    /* gives a block another size in place; it worked when the
				 result is at least the size asked for */
	/* Of static probes: of a new block that the program tells of, with the address,
	 * the size and what it stands for; and of one that is freed, with the address. */
	EFFECT_ALLOC_TOLD = 9,
	EFFECT_FREE_TOLD = 10,
};

#define ARG_NONE    0xff

#define LABEL_GLIBC "glibc" /* of its malloc, also in a program linked statically */

/* One function. Argument numbers count from 0; ARG_NONE when there is none. */
struct alloc_function {
	const char *name;
	enum alloc_effect effect;
	uint8_t size_arg;  /* the size, or the length of a mapping */
	uint8_t count_arg; /* multiplied with the size */
	uint8_t old_arg;   /* the old block or the address of a range */
	uint8_t out_arg;   /* where EFFECT_ALLOC_OUT stores the block */
	bool common;       /* a libc without it is worth a word */
	bool mapping;      /* traced with --mappings only */
};

/* True when a call can make a new block. */
bool alloc_function_allocates(const struct alloc_function *function);

/* True when a call takes a block away and makes none. */
bool alloc_function_frees(const struct alloc_function *function);

enum alloc_family_id {
	ALLOC_FAMILY_LIBC, /* the plain names */
	ALLOC_FAMILY_JEMALLOC,
	ALLOC_FAMILY_TCMALLOC,
	ALLOC_FAMILY_MIMALLOC,
	ALLOC_FAMILY_JE, /* jemalloc with one of its prefixes */
	ALLOC_FAMILY_RJEM,
	ALLOC_FAMILY_ARROW,
	ALLOC_FAMILY_OPERATORS,
	ALLOC_FAMILY_RUST,
	ALLOC_FAMILY_COUNT,
};

/* Functions that belong together, ended by a NULL name. Static. */
struct alloc_family {
	const char *label;
	const char *prefix; /* of all its names, "" when there is none */
	const struct alloc_function *functions;
};

extern const struct alloc_family alloc_families[ALLOC_FAMILY_COUNT];

/* A function that was found, and where. */
struct allocator_function {
	const struct alloc_function *function;
	struct elf_symbol symbol;
	struct usdt_place told; /* of EFFECT_ALLOC_TOLD and _FREE_TOLD */
};

/* One allocator in one file. A file may hold several: a program linked statically with
 * a prefixed jemalloc has libc's malloc as well. */
struct allocator {
	char *module_path;        /* as the target names it, for people */
	struct target_file *file; /* released with it */
	uint64_t module_start;    /* lowest address at which it is mapped */
	/* From its first to its last executable mapping, addresses in the target. */
	uint64_t text_start, text_end;
	char *label;      /* "glibc", "jemalloc", "executable", the file's name... */
	char *build_id;   /* of the file, or NULL */
	char *debug_path; /* the debug file that names come from, or NULL */
	bool has_targets_names; /* from a debug file that the target may have made: places
				   by them are for no other process */
	VEC(struct allocator_function) functions;   /* in the table's order */
	VEC(const struct alloc_function *) missing; /* common functions not found */
	/* Those that the file has, as far as can be seen, while where is not known: what
	 * goes through them is not seen. */
	VEC(const struct alloc_function *) hidden;
	struct alloc_function *prefixed; /* the functions of --symbols-prefix, or NULL */
};

void allocator_deinit(struct allocator *allocator);

struct allocators {
	VEC(struct allocator) list;
};

void allocators_deinit(struct allocators *allocators);

/* Mapped files that are not traced although they hold an allocator, or may hold one. */
struct untraced_files {
	size_t count;
	char *why_unread; /* why the first unreadable one could not be read; owned; NULL:
			     all could be read */
	bool lacks_descriptors; /* as no descriptor was left (EMFILE, ENFILE) */
};

struct allocator_options {
	const char *library; /* this file only: its path or base name; NULL: all files */
	/* Look for libc's and jemalloc's functions with this before their names, instead
	 * of for all known families; NULL: do not. */
	const char *symbols_prefix;
	bool mappings; /* mmap and its family are wanted too */
	/* Its probes will be in other processes, too: where they are must not be for this
	 * one to choose, so no debug file of its root directory counts. */
	bool is_shared;
	bool otel; /* instead of functions the probes of allocator_otel.h, of which one is
		      enough to count */
	/* Files that are mapped executable here were looked into already; NULL: none. */
	const struct proc_maps *known;
	struct untraced_files
		*untraced; /* counted here, also on failure; NULL: not counted */
};

/*
 * Find the allocators of the target in its executable mappings: first the executable,
 * then in address order. Of more than 1,024 files those come first that most likely are
 * allocators, and the others are not opened once one is found. A family counts in a file
 * when the file defines at least one allocating and one freeing function of it. Local
 * symbols count for prefixed names, and for plain ones in a file that imports none of the
 * common functions and has others of them for all to see, or is named: linkers make
 * hidden functions local. Operators new and delete count where they belong to an
 * allocator of the file or are the file's own; not those of the C++ runtimes, which call
 * malloc. glibc's dynamic linker is left out. When none is found in an executable without
 * a symbol table its debug file is looked for (target/debug_file.h). Files that cannot be
 * read because a limit is reached are passed over. When no allocator is found, the error
 * of the first such file is returned. ERROR_NOT_FOUND says what was searched, what is
 * missing, and names --lib.
 */
struct error *allocators_find(const struct proc *proc, const struct proc_maps *maps,
			      const struct allocator_options *options,
			      struct allocators *ret) __attribute__((warn_unused_result));

/* One file to look into. */
struct allocator_file {
	const char *module_path;
	struct target_file *file; /* shared with the allocators that are found */
	uint64_t module_start, text_start, text_end; /* of struct allocator */
	bool is_executable;
	bool is_named;     /* --lib: operators count in any case */
	bool last_resort;  /* what delegates as a rule counts too: Rust's functions */
	int debug_root_fd; /* of debug_file_find(); -1: none */
};

/*
 * Append the allocators of one file, whatever process has mapped it. There may be none:
 * *why_none (owned) then says in a sentence that no names could be found, or that of
 * malloc and free the file has only the one, or is NULL.
 */
struct error *allocators_scan(const struct allocator_file *file,
			      const struct allocator_options *options,
			      struct allocators *ret, char **why_none)
	__attribute__((warn_unused_result));

#endif
