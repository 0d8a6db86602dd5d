/* SPDX-License-Identifier: Apache-2.0 */
/* May a breakpoint be where a USDT note says? docs/probes.md has the rule. */
#ifndef PLAN_USDT_SITE_H
#define PLAN_USDT_SITE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "plan/site_text.h"
#include "process/target_file.h"
#include "elf/usdt.h"
#include "unwind/cfi.h"
#include "unwind/elf_image.h"

/* What one file says about its code and its semaphores. memtrace reads it with its own
 * code: the notes may be forged, and they were read by a process that a hostile file may
 * have taken over. */
struct usdt_file {
	struct cfi *cfi; /* NULL: the file has no unwind information */
	struct elf_image image;
	bool has_semaphores;
	Elf64_Shdr semaphores;      /* the header of .probes; valid with has_semaphores */
	uint64_t read_bytes;        /* code that was read so far */
	struct text_budget *budget; /* set by the caller; NULL: no limit */
};

/* Read it. ERROR_IO, ERROR_NO_MEMORY: something cannot be read, which does not mean that
 * the file lacks it. Close `ret` also on failure. */
struct error *usdt_file_open(const struct target_file *file, struct usdt_file *ret)
	__attribute__((warn_unused_result));
void usdt_file_close(struct usdt_file *file);

/* The instructions that lead to a place, and the one there. In the target's memory they
 * must be the same. */
struct usdt_code {
	uint64_t file_offset; /* of the first byte */
	size_t size;          /* bytes */
	uint8_t *bytes;       /* owned */
	bool is_proven;       /* they begin with a function, by the unwind information */
};

void usdt_code_deinit(struct usdt_code *code);

/*
 * Why no probe may be at the place: a static string. NULL: one may; then the caller owns
 * *ret. docs/probes.md, "Where a USDT probe may be", has the checks. Without unwind
 * information there, the nop alone is enough if only the process that has the file can be
 * harmed (`is_alone`).
 */
const char *usdt_file_check(struct usdt_file *file, const struct usdt_place *place,
			    bool is_alone, struct usdt_code *ret);

#endif
