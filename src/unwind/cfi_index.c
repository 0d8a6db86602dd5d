// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_index.h"

#include <stdlib.h>
#include <string.h>

#include "unwind/cursor.h"

#define HEADER_VERSION 1
#define TABLE_ENCODING                                                                   \
	0x3b         /* DW_EH_PE_datarel | DW_EH_PE_sdata4, the only one in use          \
		      */
#define TABLE_ROW 8u /* bytes: start of the function, address of its FDE */

/* --- the linker's table ----------------------------------------------------------- */

static int64_t table_number(const uint8_t *table, size_t row, unsigned column)
{
	int32_t value;

	memcpy(&value, table + row * TABLE_ROW + column * sizeof(value), sizeof(value));
	return value;
}

static bool is_sorted(const uint8_t *table, size_t len)
{
	for (size_t i = 1; i < len; i++)
		if (table_number(table, i - 1, 0) > table_number(table, i, 0))
			return false;
	return true;
}

bool cfi_header_read(const uint8_t *data, size_t size_bytes, uint64_t address,
		     struct cfi_header *ret)
{
	if (size_bytes < 4 || data[0] != HEADER_VERSION)
		return false;

	struct cursor c = cursor_of(data + 4, size_bytes - 4);
	uint8_t section = data[1], count = data[2], table = data[3];
	uint64_t len;

	*ret = (struct cfi_header){.address = address};
	if (!cfi_read_pointer(&c, section, address + 4, address, &ret->section_address))
		return false;
	/* A header without a usable table is still used to find .eh_frame. */
	if (table != TABLE_ENCODING ||
	    !cfi_read_pointer(&c, count, address + (uint64_t)(c.at - data), address,
			      &len) ||
	    !len || len > cursor_left(&c) / TABLE_ROW || !is_sorted(c.at, (size_t)len))
		return true;
	ret->table = c.at;
	ret->table_len = (size_t)len;
	return true;
}

/* The number of functions in the table that begin at or before `address`. */
static size_t count_up_to(const struct cfi_index *index, uint64_t address)
{
	/* No image is so large that the difference overflows. */
	int64_t want = (int64_t)(address - index->table_base);

	return bisect(index->table_len, i, table_number(index->table, i, 0) <= want);
}

/* Find the offset of the FDE of the last function that begins at or before `address`. */
static bool search_table(const struct cfi_index *index, uint64_t address, size_t *ret)
{
	size_t low = count_up_to(index, address);

	if (!low)
		return false;

	uint64_t fde =
		index->table_base + (uint64_t)table_number(index->table, low - 1, 1);

	if (fde - index->section.address >= index->section.size_bytes)
		return false;
	*ret = (size_t)(fde - index->section.address);
	return true;
}

/* --- our own ---------------------------------------------------------------------- */

static int by_start(const void *pa, const void *pb)
{
	const struct cfi_index_row *a = pa, *b = pb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return (a->offset > b->offset) - (a->offset < b->offset);
}

static struct error *read_entries(struct cfi_index *index)
{
	struct cfi_fde fde;
	enum cfi_entry kind;
	size_t next = 0;

	for (size_t at = 0;
	     (kind = cfi_entry_read(&index->section, at, &fde, &next)) != CFI_ENTRY_END;
	     at = next) {
		/* The linker keeps FDEs of discarded functions, with address 0. */
		if (kind != CFI_ENTRY_FDE || fde.start == fde.end || !fde.start)
			continue;
		if (!vec_push(&index->rows,
			      ((struct cfi_index_row){fde.start, fde.end, at})))
			return error_no_memory();
	}
	if (index->rows.len)
		qsort(index->rows.data, index->rows.len, sizeof(*index->rows.data),
		      by_start);
	return NULL;
}

static bool search_rows(const struct cfi_index *index, uint64_t address, size_t *ret)
{
	size_t low = vec_count_up_to(&index->rows, start, address);

	if (!low || address >= index->rows.data[low - 1].end)
		return false;
	*ret = index->rows.data[low - 1].offset;
	return true;
}

/* ---------------------------------------------------------------------------------- */

struct error *cfi_index_init(struct cfi_index *index, const struct cfi_section *section,
			     const struct cfi_header *header)
{
	*index = (struct cfi_index){.section = *section};
	if (!section->data)
		return NULL;
	if (header && header->table) {
		index->table = header->table;
		index->table_len = header->table_len;
		index->table_base = header->address;
		return NULL;
	}

	struct error *err = read_entries(index);

	if (err)
		cfi_index_deinit(index);
	return err;
}

void cfi_index_deinit(struct cfi_index *index)
{
	vec_deinit(&index->rows);
	*index = (struct cfi_index){0};
}

bool cfi_index_find(const struct cfi_index *index, uint64_t address, struct cfi_fde *ret)
{
	size_t offset, next;

	if (index->table ? !search_table(index, address, &offset)
			 : !search_rows(index, address, &offset))
		return false;
	return cfi_entry_read(&index->section, offset, ret, &next) == CFI_ENTRY_FDE &&
	       address >= ret->start && address < ret->end;
}

uint64_t cfi_index_next(const struct cfi_index *index, uint64_t address)
{
	size_t next = index->table ? count_up_to(index, address)
				   : vec_count_up_to(&index->rows, start, address);

	if (index->table)
		return next < index->table_len
			       ? index->table_base +
					 (uint64_t)table_number(index->table, next, 0)
			       : UINT64_MAX;
	return next < index->rows.len ? index->rows.data[next].start : UINT64_MAX;
}
