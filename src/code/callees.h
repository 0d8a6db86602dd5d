/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that a file's calls and jumps lead to, also through stubs of the
 * procedure linkage table. Some functions are known by their names: abort() never
 * returns, memset() returns its first argument. x86-64.
 */
#ifndef CODE_CALLEES_H
#define CODE_CALLEES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "elf/elf.h"
#include "elf/elf_links.h"
#include "util/error.h"

enum callee_kind {
	CALLEE_HERE,      /* a function of this file, at callee.address */
	CALLEE_ELSEWHERE, /* in another file; its name is not an allocation function's */
	CALLEE_OTHER,     /* unknown, or an allocation function of another file */
	CALLEE_ENDS,      /* never returns: abort(), exit() and the like */
	CALLEE_FIRST,     /* returns its first argument: memset() and the like */
};

struct callee {
	enum callee_kind kind;
	uint64_t address; /* CALLEE_HERE: in the file's address space */
};

/* Bound on functions of the file that are known by name. */
#define CALLEES_KNOWN_MAX 32

struct callees {
	struct elf_file *file; /* borrowed */
	uint64_t text_bias;    /* a code address minus its file offset */
	struct elf_links links;
	struct callee known[CALLEES_KNOWN_MAX]; /* `address` is the function's own */
	size_t known_count;
};

/*
 * Read the file's links and its known functions. `text_bias` is the address of its code
 * minus the file offset. Returns the errors of elf_links_read() and
 * elf_file_find_functions(). `file` must outlive `ret`. After success, call
 * callees_deinit() in the end.
 */
struct error *callees_init(struct callees *ret, struct elf_file *file, uint64_t text_bias)
	__attribute__((warn_unused_result));
void callees_deinit(struct callees *callees);

/* The callee of a direct call or jump to `address`. */
struct callee callees_at(const struct callees *callees, uint64_t address);

/* The callee of a call or jump through the word at `slot`. */
struct callee callees_through(const struct callees *callees, uint64_t slot);

/* Copy up to `size` bytes of code at `address`. Returns the number copied. */
size_t callees_read(const struct callees *callees, uint64_t address, uint8_t *ret,
		    size_t size);

#endif
