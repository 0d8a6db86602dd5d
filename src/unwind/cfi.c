// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/cfi_index.h"
#include "unwind/elf_image.h"
#include "unwind/go_rows.h"
#include "util/cleanup.h"

#define PAGE_SIZE ((uint64_t)4096) /* mappings and segments meet at such boundaries */

enum {
	EH_FRAME,
	DEBUG_FRAME,
	TABLES,
};

struct cfi {
	struct elf_image image;
	struct elf_bytes header, frames[TABLES]; /* header: .eh_frame_hdr */
	struct cfi_index index[TABLES];
	struct go_rows go; /* preferred to .debug_frame, which does not describe stack
			      switches */
};

DEFINE_CLEANUP(struct cfi *, cfi_close);

/* Load .eh_frame_hdr, and .eh_frame too if it was not found by its section header. */
static struct error *load_header(struct cfi *cfi, struct cfi_header *ret)
{
	const Elf64_Phdr *p = NULL;

	*ret = (struct cfi_header){0};
	for (size_t i = 0; i < cfi->image.segment_count && !p; i++)
		if (cfi->image.segments[i].p_type == PT_GNU_EH_FRAME)
			p = &cfi->image.segments[i];
	if (!p)
		return NULL;

	struct error *err =
		elf_image_load(&cfi->image, p->p_vaddr, p->p_memsz, &cfi->header);

	if (err || !cfi->header.data ||
	    !cfi_header_read(cfi->header.data, cfi->header.size_bytes, p->p_vaddr, ret))
		return err;
	if (cfi->frames[EH_FRAME].data)
		return NULL;
	/* Its size is unknown: load up to the end of the segment. */
	return elf_image_load(&cfi->image, ret->section_address, ELF_IMAGE_MAX_BYTES,
			      &cfi->frames[EH_FRAME]);
}

static struct error *load(struct cfi *cfi)
{
	static const char *const names[TABLES] = {".eh_frame", ".debug_frame"};
	struct cfi_header header;
	struct error *err =
		elf_image_load_sections(&cfi->image, names, TABLES, cfi->frames);

	if (!err)
		err = load_header(cfi, &header);
	if (!err)
		err = go_rows_load(&cfi->go, &cfi->image);
	for (int i = 0; i < TABLES && !err; i++) {
		const struct elf_bytes *b = &cfi->frames[i];
		const struct cfi_section section = {b->data, b->size_bytes, b->address,
						    i == DEBUG_FRAME};

		err = cfi_index_init(&cfi->index[i], &section,
				     i == EH_FRAME ? &header : NULL);
	}
	return err;
}

struct error *cfi_open_file(int fd, struct cfi **ret)
{
	_cleanup_(cfi_closep) struct cfi *cfi = calloc(1, sizeof(*cfi));
	struct error *err;

	if (!cfi) {
		closep(&fd);
		return error_no_memory();
	}
	err = elf_image_init_file(&cfi->image, fd);
	if (!err)
		err = load(cfi);
	if (!err)
		*ret = take(cfi);
	return err;
}

struct error *cfi_open_memory(const void *data, size_t size_bytes, struct cfi **ret)
{
	_cleanup_(cfi_closep) struct cfi *cfi = calloc(1, sizeof(*cfi));
	struct error *err;

	if (!cfi)
		return error_no_memory();
	err = elf_image_init_memory(&cfi->image, data, size_bytes);
	if (!err)
		err = load(cfi);
	if (!err)
		*ret = take(cfi);
	return err;
}

struct error *cfi_close_fd(struct cfi *cfi, struct code_pages *pages)
{
	return elf_image_map_code(&cfi->image, pages);
}

void cfi_close(struct cfi *cfi)
{
	if (!cfi)
		return;
	for (int i = 0; i < TABLES; i++) {
		cfi_index_deinit(&cfi->index[i]);
		free(cfi->frames[i].data);
	}
	free(cfi->header.data);
	go_rows_deinit(&cfi->go);
	elf_image_deinit(&cfi->image);
	free(cfi);
}

static const struct cfi_index *find(const struct cfi *cfi, uint64_t address,
				    struct cfi_fde *ret)
{
	for (int i = 0; i < TABLES; i++)
		if (cfi_index_find(&cfi->index[i], address, ret))
			return &cfi->index[i];
	return NULL;
}

bool cfi_find_fde(const struct cfi *cfi, uint64_t address, struct cfi_fde *ret)
{
	return find(cfi, address, ret) != NULL;
}

/* Is the code at `address` in Go's table, but not in .eh_frame? */
static bool find_go(const struct cfi *cfi, uint64_t address, struct go_function *ret)
{
	struct cfi_fde fde;

	return cfi->go.table.count && go_table_find(&cfi->go.table, address, ret) &&
	       !cfi_index_find(&cfi->index[EH_FRAME], address, &fde);
}

/* Finds the row at an address among all rows of a function. */
struct wanted {
	uint64_t address;
	struct cfi_row *row;
	bool is_found;
};

static void choose(void *arg, uint64_t start, uint64_t end, const struct cfi_row *row)
{
	struct wanted *w = arg;

	if (w->address < start || w->address >= end)
		return;
	*w->row = *row;
	w->is_found = true;
}

enum cfi_result cfi_find_row(const struct cfi *cfi, uint64_t address, struct cfi_row *ret)
{
	struct wanted wanted = {address, ret, false};
	struct go_function function;
	struct cfi_fde fde;
	const struct cfi_index *index;
	unsigned steps;

	if (find_go(cfi, address, &function)) {
		go_rows_each(&cfi->go, &cfi->image, &function, address + 1, choose,
			     &wanted, &steps);
		return wanted.is_found ? CFI_FOUND : CFI_NONE;
	}
	index = find(cfi, address, &fde);
	if (!index)
		return CFI_NONE;
	return cfi_row_find(&index->section, &fde, address, ret) ? CFI_FOUND : CFI_BAD;
}

/* Passes on rows from `start` on. */
struct clipped {
	uint64_t start;
	cfi_row_fn *each;
	void *arg;
};

static void clip(void *arg, uint64_t start, uint64_t end, const struct cfi_row *row)
{
	const struct clipped *c = arg;

	if (end > c->start)
		c->each(c->arg, start > c->start ? start : c->start, end, row);
}

/* The address after `address` at which the next function of any table begins. */
static uint64_t next_start(const struct cfi *cfi, uint64_t address)
{
	uint64_t next = UINT64_MAX;

	for (int i = 0; i < TABLES; i++) {
		uint64_t start = cfi_index_next(&cfi->index[i], address);

		next = start < next ? start : next;
	}
	if (cfi->go.table.count) {
		uint64_t start = go_table_next(&cfi->go.table, address);

		next = start < next ? start : next;
	}
	return next;
}

bool cfi_each_row(const struct cfi *cfi, uint64_t start, uint64_t end, unsigned max_steps,
		  cfi_row_fn *each, void *arg)
{
	unsigned steps = 0;

	while (start < end) {
		struct clipped clipped = {start, each, arg};
		const struct cfi_index *index;
		struct go_function function;
		struct cfi_fde fde;
		unsigned run = 0;

		if (steps > max_steps)
			return false;
		/* The lookup counts as work too. */
		steps++;
		if (find_go(cfi, start, &function)) {
			uint64_t behind = next_start(cfi, start);

			behind = behind < function.end ? behind : function.end;
			behind = behind < end ? behind : end;
			go_rows_each(&cfi->go, &cfi->image, &function, behind, clip,
				     &clipped, &run);
			steps += run;
			start = behind;
			continue;
		}
		index = find(cfi, start, &fde);
		if (!index) {
			start = next_start(cfi, start);
			continue;
		}

		/* Stop where a table has another function begin: cfi_find_row() returns
		 * that function's row from there on. */
		uint64_t until = next_start(cfi, start);

		until = until < fde.end ? until : fde.end;
		until = until < end ? until : end;
		/* A malformed entry has rows only up to the fault, and cfi_find_row()
		 * fails from there on. */
		(void)cfi_row_each(&index->section, &fde, until, clip, &clipped, &run);
		steps += run;
		start = until;
	}
	return true;
}

bool cfi_bias(const struct cfi *cfi, uint64_t start, uint64_t file_offset, uint64_t *ret)
{
	for (size_t i = 0; i < cfi->image.segment_count; i++) {
		const Elf64_Phdr *p = &cfi->image.segments[i];
		uint64_t first = p->p_offset & ~(PAGE_SIZE - 1);

		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X) || file_offset < first ||
		    file_offset - first >= p->p_filesz + (p->p_offset - first))
			continue;
		*ret = start - (p->p_vaddr + (file_offset - p->p_offset));
		return true;
	}
	return false;
}

uint64_t cfi_size_bytes(const struct cfi *cfi)
{
	uint64_t size = cfi->header.size_bytes + cfi->go.bytes.size_bytes +
			cfi->image.segment_count * sizeof(*cfi->image.segments);

	for (int i = 0; i < TABLES; i++)
		size += cfi->frames[i].size_bytes +
			cfi->index[i].rows.cap * sizeof(struct cfi_index_row);
	return size;
}

uint64_t cfi_entry_point(const struct cfi *cfi)
{
	return cfi->image.header.e_entry;
}

uint64_t cfi_code_bytes(const struct cfi *cfi, uint64_t address)
{
	const Elf64_Phdr *p = elf_image_segment(&cfi->image, address);

	return p && p->p_flags & PF_X && address - p->p_vaddr < p->p_filesz
		       ? p->p_filesz - (address - p->p_vaddr)
		       : 0;
}

bool cfi_read_code(const struct cfi *cfi, uint64_t address, void *buffer, size_t size)
{
	const Elf64_Phdr *p = elf_image_segment(&cfi->image, address);

	return p && p->p_flags & PF_X && size <= p->p_filesz - (address - p->p_vaddr) &&
	       elf_image_read(&cfi->image, p->p_offset + (address - p->p_vaddr), buffer,
			      size);
}
