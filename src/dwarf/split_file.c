// SPDX-License-Identifier: Apache-2.0
#include "dwarf/split_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "util/cleanup.h"

/* The columns of an index that are used here (DWARF 5, table 7.1). Version 2 of the
 * index, GNU's, has the same numbers. It has no column for range lists: with DWARF 4
 * these are in the program's file. */
static const struct {
	const char *name;
	uint32_t column; /* 0: all units share the section */
} sections[SPLIT_SECTIONS] = {
	[SPLIT_INFO] = {".debug_info.dwo", 1},
	[SPLIT_ABBREV] = {".debug_abbrev.dwo", 3},
	[SPLIT_STR_OFFSETS] = {".debug_str_offsets.dwo", 6},
	[SPLIT_RNGLISTS] = {".debug_rnglists.dwo", 8},
	[SPLIT_STR] = {".debug_str.dwo", 0},
};

#define COLUMNS_MAX 8u

/* Slots that a search of the index looks at. A third of an honest table is free, so that
 * hardly a search takes 100. A hostile table may be full, and as large as the file. */
#define PROBES_MAX 4096u

/* .debug_cu_index (DWARF 5, section 7.3.5.3). The sizes are checked. */
struct unit_index {
	const unsigned char *ids;     /* of 8 bytes, the slots of a hash table */
	const unsigned char *rows;    /* of 4 bytes, the row of each slot, from 1 on */
	const unsigned char *columns; /* of 4 bytes, the columns' numbers */
	const unsigned char *offsets; /* of 4 bytes, by row and column */
	const unsigned char *sizes;   /* of 4 bytes, by row and column */
	uint32_t version, column_count, row_count, slot_count;
};

struct split_file {
	struct debug_elf *elf;
	struct split_bytes of[SPLIT_SECTIONS];
	bool is_package;
	struct unit_index index;
};

DEFINE_CLEANUP(struct split_file *, split_file_close);

const char *split_section_name(enum split_section section)
{
	return sections[section].name;
}

static uint32_t read_u32(const unsigned char *at)
{
	uint32_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

static uint64_t read_u64(const unsigned char *at)
{
	uint64_t n;

	memcpy(&n, at, sizeof(n));
	return n;
}

static bool read_index(const struct split_bytes *bytes, struct unit_index *ret)
{
	const unsigned char *at = bytes->data;
	uint64_t need;

	if (bytes->size < 16)
		return false;
	/* In version 5 the field is a half word, followed by padding. */
	ret->version = read_u32(at) & 0xffff;
	ret->column_count = read_u32(at + 4);
	ret->row_count = read_u32(at + 8);
	ret->slot_count = read_u32(at + 12);
	if ((ret->version != 2 && ret->version != 5) || !ret->column_count ||
	    ret->column_count > COLUMNS_MAX || !ret->slot_count ||
	    ret->slot_count & (ret->slot_count - 1))
		return false;
	need = 16 + UINT64_C(12) * ret->slot_count + UINT64_C(4) * ret->column_count +
	       UINT64_C(8) * ret->column_count * ret->row_count;
	if (bytes->size < need)
		return false;
	ret->ids = at + 16;
	ret->rows = ret->ids + UINT64_C(8) * ret->slot_count;
	ret->columns = ret->rows + UINT64_C(4) * ret->slot_count;
	ret->offsets = ret->columns + UINT64_C(4) * ret->column_count;
	ret->sizes = ret->offsets + UINT64_C(4) * ret->column_count * ret->row_count;
	return true;
}

static struct split_bytes section_bytes(const struct debug_elf *elf, const char *name)
{
	const Elf_Data *data = debug_elf_whole_data(elf, name);

	if (!data)
		return (struct split_bytes){.size = 0};
	return (struct split_bytes){.data = data->d_buf, .size = data->d_size};
}

struct error *split_file_open(int fd, uint64_t max_bytes, struct split_file **ret)
{
	_cleanup_(split_file_closep) struct split_file *file = calloc(1, sizeof(*file));
	struct split_bytes index;
	struct error *err;

	if (!file) {
		close(fd);
		return error_no_memory();
	}
	err = debug_elf_open(fd, &file->elf);
	if (err)
		return err;
	if (file->elf->debug_bytes > max_bytes)
		return error_create(ERROR_MALFORMED, "too much split DWARF");
	for (size_t i = 0; i < SPLIT_SECTIONS; i++)
		file->of[i] = section_bytes(file->elf, sections[i].name);
	index = section_bytes(file->elf, ".debug_cu_index");
	file->is_package = index.data;
	if (!file->of[SPLIT_INFO].data || !file->of[SPLIT_ABBREV].data ||
	    (file->is_package && !read_index(&index, &file->index)))
		return error_create(ERROR_MALFORMED, "malformed split DWARF");
	*ret = take(file);
	return NULL;
}

void split_file_close(struct split_file *file)
{
	if (!file)
		return;
	debug_elf_close(file->elf);
	free(file);
}

uint64_t split_file_bytes(const struct split_file *file)
{
	return file->elf->debug_bytes;
}

bool split_file_is(const struct split_file *file, int fd)
{
	struct stat own, other;

	return !fstat(file->elf->fd, &own) && !fstat(fd, &other) &&
	       own.st_dev == other.st_dev && own.st_ino == other.st_ino;
}

bool split_file_is_package(const struct split_file *file)
{
	return file->is_package;
}

/* Find the row of the unit, from 0 on. The search probes slots in the same order as the
 * code that filled the table. The step is odd, so that it reaches all slots. */
static bool find_row(const struct unit_index *index, uint64_t id, uint32_t *ret)
{
	uint32_t mask = index->slot_count - 1;
	uint32_t slot = (uint32_t)id & mask, step = ((uint32_t)(id >> 32) & mask) | 1;

	for (uint32_t i = 0; i < index->slot_count && i < PROBES_MAX; i++) {
		uint32_t row = read_u32(index->rows + UINT64_C(4) * slot);

		if (!row)
			return false;
		if (read_u64(index->ids + UINT64_C(8) * slot) == id) {
			*ret = row - 1;
			return row <= index->row_count;
		}
		slot = (slot + step) & mask;
	}
	return false;
}

/* The unit's part of a section; empty if the index has none. */
static struct split_bytes find_part(const struct unit_index *index, uint32_t row,
				    uint32_t column, const struct split_bytes *of)
{
	for (uint32_t i = 0; i < index->column_count; i++) {
		uint64_t at = 4 * ((uint64_t)row * index->column_count + i);
		uint32_t offset = read_u32(index->offsets + at);
		uint32_t size = read_u32(index->sizes + at);

		if (read_u32(index->columns + UINT64_C(4) * i) != column)
			continue;
		if (!of->data || offset > of->size || size > of->size - offset)
			break;
		return (struct split_bytes){.data = of->data + offset, .size = size};
	}
	return (struct split_bytes){.size = 0};
}

bool split_file_sections(const struct split_file *file, uint64_t id,
			 struct split_sections *ret)
{
	uint32_t row;

	*ret = (struct split_sections){
		.elf = file->elf,
		.shares_strings = file->is_package,
	};
	memcpy(ret->of, file->of, sizeof(ret->of));
	if (!file->is_package)
		return true;
	if (!find_row(&file->index, id, &row))
		return false;
	for (size_t i = 0; i < SPLIT_SECTIONS; i++) {
		if (sections[i].column)
			ret->of[i] = find_part(&file->index, row, sections[i].column,
					       &file->of[i]);
	}
	/* Column 8 of version 2 is DW_SECT_MACRO. */
	if (file->index.version == 2)
		ret->of[SPLIT_RNGLISTS] = (struct split_bytes){.size = 0};
	return ret->of[SPLIT_INFO].data && ret->of[SPLIT_ABBREV].data;
}
