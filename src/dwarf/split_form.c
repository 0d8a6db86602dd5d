// SPDX-License-Identifier: Apache-2.0
/* Decodes the forms of a split unit that depend on its skeleton (DWARF 5, section
 * 7.5.5). */
#include <dwarf.h>
#include <string.h>

#include "dwarf/dwarf_read.h"
#include "dwarf/split_unit.h"

#define ADDRESS_BYTES 8u

/* The unread bytes. Reading past the end gives 0 and sets `failed` permanently. */
struct reader {
	const unsigned char *at, *end;
	bool failed;
};

static struct reader read_from(const struct split_bytes *bytes, uint64_t offset)
{
	if (!bytes->data || offset > bytes->size)
		return (struct reader){.failed = true};
	return (struct reader){bytes->data + offset, bytes->data + bytes->size, false};
}

/* `size` bytes as one number, the least significant first; at most 8. */
static uint64_t read_number(struct reader *reader, size_t size)
{
	uint64_t n = 0;

	if (reader->failed || (size_t)(reader->end - reader->at) < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&n, reader->at, size);
	reader->at += size;
	return n;
}

static uint64_t read_uleb128(struct reader *reader)
{
	uint64_t n = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint64_t byte = read_number(reader, 1);

		n |= (byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return n;
	}
	reader->failed = true;
	return 0;
}

/* The bytes of an attribute. */
static struct reader read_attribute(const struct split_unit *unit,
				    const Dwarf_Attribute *attr)
{
	const struct split_bytes *info = &unit->sections.of[SPLIT_INFO];
	const unsigned char *at = attr->valp;

	/* An implicit constant lies in the abbreviation table instead. */
	if (at < info->data || at > info->data + info->size)
		return (struct reader){.failed = true};
	return read_from(info, (uint64_t)(at - info->data));
}

/* A number of `size` bytes; 0: an ULEB128. */
static bool read_constant(const struct split_unit *unit, const Dwarf_Attribute *attr,
			  size_t size, uint64_t *ret)
{
	struct reader reader = read_attribute(unit, attr);

	*ret = size ? read_number(&reader, size) : read_uleb128(&reader);
	return !reader.failed;
}

/* The forms of an index into a table: two of ULEB128, and four of one to four bytes,
 * which have consecutive numbers (DWARF 5 section 7.5.6). */
struct index_forms {
	unsigned standard, gnu, of_one_byte;
};

static bool read_index(const struct split_unit *unit, const Dwarf_Attribute *attr,
		       const struct index_forms *forms, uint64_t *ret)
{
	unsigned beyond = attr->form - forms->of_one_byte;

	if (attr->form == forms->standard || attr->form == forms->gnu)
		return read_constant(unit, attr, 0, ret);
	return beyond < 4 && read_constant(unit, attr, beyond + 1, ret);
}

/* Entry `index` of a table. */
static bool read_entry(const struct split_bytes *table, uint64_t index, size_t size,
		       uint64_t *ret)
{
	struct reader reader;

	if (index > table->size / size)
		return false;
	reader = read_from(table, index * size);
	*ret = read_number(&reader, size);
	return !reader.failed;
}

static bool find_address(const struct split_unit *unit, uint64_t index, uint64_t *ret)
{
	return read_entry(&unit->skeleton.addresses, index, ADDRESS_BYTES, ret);
}

static bool address_of(const struct split_unit *unit, const Dwarf_Attribute *attr,
		       uint64_t *ret)
{
	static const struct index_forms forms = {DW_FORM_addrx, DW_FORM_GNU_addr_index,
						 DW_FORM_addrx1};
	uint64_t index;

	if (attr->form == DW_FORM_addr)
		return read_constant(unit, attr, ADDRESS_BYTES, ret);
	return read_index(unit, attr, &forms, &index) && find_address(unit, index, ret);
}

static bool address_attribute(const struct split_unit *unit, Dwarf_Die *die,
			      unsigned name, uint64_t *ret)
{
	Dwarf_Attribute attr;

	return dwarf_attr(die, name, &attr) && address_of(unit, &attr, ret);
}

bool split_unit_entry(const struct split_unit *unit, Dwarf_Die *die, uint64_t *ret)
{
	return address_attribute(unit, die, DW_AT_entry_pc, ret) ||
	       address_attribute(unit, die, DW_AT_low_pc, ret);
}

/* A string, or NULL if it does not end within its section. */
static const char *bounded(struct reader *reader)
{
	if (reader->failed ||
	    !memchr(reader->at, '\0', (size_t)(reader->end - reader->at)))
		return NULL;
	return (const char *)reader->at;
}

const char *split_unit_string(const struct split_unit *unit, const Dwarf_Attribute *attr)
{
	static const struct index_forms forms = {DW_FORM_strx, DW_FORM_GNU_str_index,
						 DW_FORM_strx1};
	struct reader reader = read_attribute(unit, attr);
	uint64_t index, offset;

	if (attr->form == DW_FORM_string)
		return bounded(&reader);
	if (!read_index(unit, attr, &forms, &index) ||
	    !read_entry(&unit->offsets, index, unit->offset_bytes, &offset))
		return NULL;
	reader = read_from(&unit->sections.of[SPLIT_STR], offset);
	return bounded(&reader);
}

/* The consumer of the ranges of a DIE. */
struct ranges {
	const struct split_unit *unit;
	struct dwarf_budget *budget;
	bool (*each)(void *arg, uint64_t low, uint64_t high);
	void *arg;
};

/* False if no more ranges are wanted. */
static bool give(const struct ranges *to, uint64_t low, uint64_t high)
{
	return low >= high || to->each(to->arg, low, high);
}

/* A list of .debug_ranges (DWARF 4, section 2.17.3). */
static void each_of_ranges(const struct ranges *to, uint64_t offset)
{
	struct reader reader = read_from(&to->unit->skeleton.ranges, offset);
	uint64_t base = to->unit->skeleton.base;

	while (dwarf_budget_spend(to->budget, 1)) {
		uint64_t low = read_number(&reader, ADDRESS_BYTES);
		uint64_t high = read_number(&reader, ADDRESS_BYTES);

		if (reader.failed || (!low && !high))
			return;
		if (low == UINT64_MAX)
			base = high;
		else if (!give(to, base + low, base + high))
			return;
	}
}

/* One entry of .debug_rnglists (DWARF 5, section 2.17.3); false after the last one. */
static bool give_entry(const struct ranges *to, struct reader *reader, uint64_t *base)
{
	uint64_t kind = read_number(reader, 1), low = 0, high = 0;
	bool found = true;

	switch (kind) {
	case DW_RLE_base_addressx:
		return find_address(to->unit, read_uleb128(reader), base) &&
		       !reader->failed;
	case DW_RLE_base_address:
		*base = read_number(reader, ADDRESS_BYTES);
		return !reader->failed;
	case DW_RLE_startx_endx:
		found = find_address(to->unit, read_uleb128(reader), &low) &&
			find_address(to->unit, read_uleb128(reader), &high);
		break;
	case DW_RLE_startx_length:
		found = find_address(to->unit, read_uleb128(reader), &low);
		high = low + read_uleb128(reader);
		break;
	case DW_RLE_offset_pair:
		low = *base + read_uleb128(reader);
		high = *base + read_uleb128(reader);
		break;
	case DW_RLE_start_end:
		low = read_number(reader, ADDRESS_BYTES);
		high = read_number(reader, ADDRESS_BYTES);
		break;
	case DW_RLE_start_length:
		low = read_number(reader, ADDRESS_BYTES);
		high = low + read_uleb128(reader);
		break;
	default: /* DW_RLE_end_of_list too */
		return false;
	}
	return found && !reader->failed && give(to, low, high);
}

static void each_of_rnglist(const struct ranges *to, uint64_t offset)
{
	struct reader reader = read_from(&to->unit->sections.of[SPLIT_RNGLISTS], offset);
	uint64_t base = to->unit->skeleton.base;

	while (dwarf_budget_spend(to->budget, 1) && give_entry(to, &reader, &base))
		;
}

/* The offset of list number `index` (DWARF 5, section 7.28). */
static bool find_rnglist(const struct split_unit *unit, uint64_t index, uint64_t *ret)
{
	const struct split_bytes *lists = &unit->sections.of[SPLIT_RNGLISTS];
	struct reader reader = read_from(lists, 0);
	bool is_64bit = read_number(&reader, 4) == UINT32_MAX;
	struct split_bytes table;
	uint64_t count, offset;

	if (is_64bit)
		read_number(&reader, 8);
	/* Version; sizes of an address and of a segment selector. */
	if (read_number(&reader, 2) != 5 || read_number(&reader, 1) != ADDRESS_BYTES ||
	    read_number(&reader, 1) != 0)
		return false;
	count = read_number(&reader, 4);
	if (reader.failed || index >= count)
		return false;
	table = (struct split_bytes){reader.at, (uint64_t)(reader.end - reader.at)};
	if (!read_entry(&table, index, is_64bit ? 8 : 4, &offset) || offset > table.size)
		return false;
	*ret = offset + (uint64_t)(reader.at - lists->data);
	return true;
}

static void each_of_list(const struct ranges *to, Dwarf_Attribute *attr)
{
	struct reader reader = read_attribute(to->unit, attr);
	uint64_t offset;

	switch (attr->form) {
	case DW_FORM_rnglistx:
		offset = read_uleb128(&reader);
		if (reader.failed || !find_rnglist(to->unit, offset, &offset))
			return;
		break;
	case DW_FORM_data4:
		offset = read_number(&reader, 4);
		break;
	case DW_FORM_sec_offset:
	case DW_FORM_data8:
		offset = read_number(&reader, to->unit->offset_bytes);
		break;
	default:
		return;
	}
	if (reader.failed)
		return;
	if (to->unit->skeleton.version == 5)
		each_of_rnglist(to, offset);
	else
		each_of_ranges(to, offset);
}

/* The end address, which may be encoded as a distance from `low`. */
static bool high_of(const struct split_unit *unit, Dwarf_Die *die, uint64_t low,
		    uint64_t *ret)
{
	Dwarf_Attribute attr;
	Dwarf_Word size;

	if (!dwarf_attr(die, DW_AT_high_pc, &attr))
		return false;
	if (address_of(unit, &attr, ret))
		return true;
	if (dwarf_formudata(&attr, &size))
		return false;
	*ret = low + size;
	return true;
}

void split_unit_each_range(const struct split_unit *unit, Dwarf_Die *die,
			   struct dwarf_budget *budget,
			   bool (*each)(void *arg, uint64_t low, uint64_t high),
			   void *arg)
{
	const struct ranges to = {unit, budget, each, arg};
	uint64_t low, high;
	Dwarf_Attribute attr;

	if (address_attribute(unit, die, DW_AT_low_pc, &low) &&
	    high_of(unit, die, low, &high)) {
		if (dwarf_budget_spend(budget, 1))
			give(&to, low, high);
	} else if (dwarf_attr(die, DW_AT_ranges, &attr)) {
		each_of_list(&to, &attr);
	}
}
