/* SPDX-License-Identifier: Apache-2.0 */
/*
 * USDT probes of a file, from the notes in its section .note.stapsdt, as written by
 * SystemTap's <sys/sdt.h>.
 */
#ifndef ELF_USDT_H
#define ELF_USDT_H

#include <stdint.h>

#include "elf/elf.h"
#include "elf/usdt_args.h"
#include "util/error.h"
#include "util/nearest.h"
#include "util/vec.h"

#define USDT_ARGS       3    /* only the first arguments are kept */
#define USDT_PLACES_MAX 4096 /* bound per probe: a hostile file may have any number */

/* A place of a probe. The compiler may make several places. */
struct usdt_place {
	uint64_t address;     /* address of a nop, in the file's address space */
	uint64_t file_offset; /* file offset of the nop, bytes */
	uint64_t semaphore;   /* file offset of the counter of tracers; 0: none */
	struct usdt_arg args[USDT_ARGS];
};

struct usdt_places {
	VEC(struct usdt_place) list;
	size_t left_out; /* places beyond USDT_PLACES_MAX */
};

/*
 * Append the places of provider:name to `ret`, possibly none. The names of other probes
 * are offered to `nearest` (may be NULL) as "provider:name". Malformed notes are skipped;
 * a note with a wrong length ends the section.
 */
struct error *usdt_find(struct elf_file *file, const char *provider, const char *name,
			struct nearest *nearest, struct usdt_places *ret)
	__attribute__((warn_unused_result));

#endif
