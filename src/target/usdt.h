/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Static probes (USDT) that a file names in its section .note.stapsdt, as <sys/sdt.h> of
 * SystemTap writes it.
 */
#ifndef TARGET_USDT_H
#define TARGET_USDT_H

#include <stdint.h>

#include "target/elf.h"
#include "target/usdt_args.h"
#include "util/error.h"
#include "util/nearest.h"
#include "util/vec.h"

#define USDT_ARGS       3     /* the first ones are kept */
#define USDT_PLACES_MAX 16384 /* of a probe; a hostile file may have any number */

/* One place of a probe; the compiler may have made several. */
struct usdt_place {
	uint64_t address;     /* of a nop, in the file's address space */
	uint64_t file_offset; /* of the same, bytes */
	uint64_t semaphore;   /* file offset of its counter of tracers, 0: it has none */
	struct usdt_arg args[USDT_ARGS];
};

struct usdt_places {
	VEC(struct usdt_place) list;
};

/*
 * Add the places of provider:name, none when there are none; other probes are offered to
 * `nearest` (may be NULL) as "provider:name". Places beyond USDT_PLACES_MAX and notes
 * that do not hold together are passed over, and end the section when their length is
 * wrong.
 */
struct error *usdt_find(struct elf_file *file, const char *provider, const char *name,
			struct nearest *nearest, struct usdt_places *ret)
	__attribute__((warn_unused_result));

#endif
