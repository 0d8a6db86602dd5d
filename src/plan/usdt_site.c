// SPDX-License-Identifier: Apache-2.0
#include "plan/usdt_site.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"
#include "code/decode.h"
#include "code/start.h"
#include "util/cleanup.h"

/* <sys/sdt.h> emits the assembler's `nop`. */
#define SEMAPHORES      ".probes"
#define SEMAPHORE_BYTES 2

/* A perf event has 32 bits for the semaphore's offset
 * (PERF_UPROBE_REF_CTR_OFFSET_SHIFT, include/linux/trace_events.h). */
#define SEMAPHORE_MAX UINT32_MAX

/* Bounds on the code that is read: of one function, and for all places of a file. The
 * largest functions with USDT probes are in interpreters and have some 100 KiB. */
#define FUNCTION_MAX_BYTES ((uint64_t)1 << 20)
#define ALL_MAX_BYTES      ((uint64_t)64 << 20)

/* As for text_budget_spend(). */
#define COST_READ    1000
#define COST_DECODED 5 /* for each byte */

struct error *usdt_file_open(const struct target_file *file, struct usdt_file *ret)
{
	struct error *err;
	int fd;

	*ret = (struct usdt_file){.image = {.fd = -1}};
	err = start_open_cfi(file, &ret->cfi);
	if (err)
		return err;
	fd = target_file_open(file);
	if (fd < 0)
		return error_errno(ERROR_IO, errno, "cannot open %s",
				   target_file_name(file));
	err = elf_image_init_file(&ret->image, fd);
	if (!err)
		err = elf_image_find_section(&ret->image, SEMAPHORES,
					     &ret->has_semaphores, &ret->semaphores);
	return error_prefix(err, "%s", target_file_name(file));
}

void usdt_file_close(struct usdt_file *file)
{
	cfi_close(file->cfi);
	elf_image_deinit(&file->image);
	file->cfi = NULL;
}

void usdt_code_deinit(struct usdt_code *code)
{
	free(code->bytes);
	code->bytes = NULL;
}

/* --- semaphores --------------------------------------------------------------------- */

/* Does a range of the file hold the semaphore at `at`? */
static bool holds(uint64_t offset, uint64_t size_bytes, uint64_t at)
{
	return at >= offset && size_bytes >= SEMAPHORE_BYTES &&
	       at - offset <= size_bytes - SEMAPHORE_BYTES;
}

static bool is_writable_data(const struct elf_image *image, uint64_t at)
{
	for (size_t i = 0; i < image->segment_count; i++) {
		const Elf64_Phdr *p = &image->segments[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_W &&
		    holds(p->p_offset, p->p_filesz, at))
			return true;
	}
	return false;
}

static bool is_semaphore(const struct usdt_file *f, uint64_t at)
{
	const Elf64_Shdr *s = &f->semaphores;

	return f->has_semaphores && s->sh_type == SHT_PROGBITS &&
	       s->sh_flags & SHF_WRITE && at <= SEMAPHORE_MAX &&
	       at % SEMAPHORE_BYTES == 0 && holds(s->sh_offset, s->sh_size, at) &&
	       is_writable_data(&f->image, at);
}

/* --- code --------------------------------------------------------------------------- */

/* Read the code from `start` to behind the nop at the place. */
static const char *read_code(struct usdt_file *f, const struct usdt_place *place,
			     uint64_t start, struct usdt_code *ret)
{
	const Elf64_Phdr *segment = elf_image_segment(&f->image, place->address);
	uint64_t before = place->address - start, size = before + arch.nop_bytes;

	if (!segment || !(segment->p_flags & PF_X) || start < segment->p_vaddr)
		return "it is outside of the file's code";
	if (size > FUNCTION_MAX_BYTES || size > ALL_MAX_BYTES - f->read_bytes)
		return "too much code of its function is before it";
	if (!text_budget_spend(f->budget, COST_READ + COST_DECODED * size))
		return "checking the code of all places would take too long";
	f->read_bytes += size;
	*ret = (struct usdt_code){
		.file_offset = place->file_offset - before,
		.size = (size_t)size,
		.bytes = malloc((size_t)size),
		.is_proven = ret->is_proven,
	};
	if (!ret->bytes)
		return "out of memory";
	return elf_image_read(&f->image, ret->file_offset, ret->bytes, ret->size)
		       ? NULL
		       : "its code cannot be read";
}

static const char *check_nop(const struct usdt_code *code, size_t at)
{
	if (memcmp(code->bytes + at, arch.nop, arch.nop_bytes) != 0)
		return "no one-byte nop at its place";
	bool begins = arch.has_decoder ? insn_decode_to(code->bytes, code->size, at) == at
				       : at % arch.code_alignment == 0;

	return begins ? NULL : "it is not known to be the beginning of an instruction";
}

const char *usdt_file_check(struct usdt_file *f, const struct usdt_place *place,
			    bool is_alone, struct usdt_code *ret)
{
	uint64_t start = place->address;
	struct cfi_fde fde;
	const char *why;

	*ret = (struct usdt_code){0};
	if (f->cfi && cfi_find_fde(f->cfi, place->address, &fde)) {
		start = fde.start;
		ret->is_proven = true;
	} else if (!is_alone) {
		return "more than one process is probed, and without unwind information "
		       "of the file there memtrace cannot find out where instructions "
		       "begin";
	}
	if (place->semaphore && !is_semaphore(f, place->semaphore))
		return "its semaphore is not in a writable section " SEMAPHORES;
	why = read_code(f, place, start, ret);
	if (!why)
		why = check_nop(ret, ret->size - arch.nop_bytes);
	if (why)
		usdt_code_deinit(ret);
	return why;
}
