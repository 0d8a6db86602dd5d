// SPDX-License-Identifier: Apache-2.0
#include "unwind/cfi_entry.h"

#include "arch/registers.h"

/* DW_EH_PE_..., LSB 10.5.1. */
#define PE_FORMAT   0x0f
#define PE_BASE     0x70
#define PE_PCREL    0x10
#define PE_DATAREL  0x30
#define PE_INDIRECT 0x80
#define PE_OMIT     0xff

/* An augmentation has at most one letter for each of the seven kinds of data. The bound
 * keeps the work small, since a CIE is read again for each of its FDEs. */
#define AUGMENTATION_MAX_BYTES 32u

static bool read_form(struct cursor *c, uint8_t encoding, uint64_t *ret)
{
	switch (encoding & PE_FORMAT) {
	case 0x00: /* absptr */
	case 0x04:
		*ret = cursor_unsigned(c, 8);
		break;
	case 0x01:
		*ret = cursor_uleb(c);
		break;
	case 0x02:
		*ret = cursor_unsigned(c, 2);
		break;
	case 0x03:
		*ret = cursor_unsigned(c, 4);
		break;
	case 0x09:
		*ret = cursor_sleb(c);
		break;
	case 0x0a:
		*ret = cursor_signed(c, 2);
		break;
	case 0x0b:
		*ret = cursor_signed(c, 4);
		break;
	case 0x08: /* a signed pointer */
	case 0x0c:
		*ret = cursor_signed(c, 8);
		break;
	default:
		return false;
	}
	return !c->bad;
}

bool cfi_read_pointer(struct cursor *c, uint8_t encoding, uint64_t address,
		      uint64_t data_base, uint64_t *ret)
{
	uint64_t value, base = 0;

	if (encoding == PE_OMIT || encoding & PE_INDIRECT)
		return false;
	if ((encoding & PE_BASE) == PE_PCREL)
		base = address;
	else if ((encoding & PE_BASE) == PE_DATAREL && data_base)
		base = data_base;
	else if (encoding & PE_BASE)
		return false;
	if (!read_form(c, encoding, &value))
		return false;
	*ret = base + value;
	return true;
}

/* --- the frame of an entry -------------------------------------------------------- */

struct entry {
	struct cursor body; /* the bytes after the id */
	uint64_t id;
	size_t id_at; /* offset of the id */
	size_t next;
	bool is_cie;
};

/* Read the length and the id of the entry at `offset`. False at the end, and if the
 * entry is not within the section. An empty entry has an empty body and is not a CIE. */
static bool read_header(const struct cfi_section *s, size_t offset, struct entry *ret)
{
	if (offset >= s->size_bytes)
		return false;

	struct cursor c = cursor_of(s->data + offset, s->size_bytes - offset);
	uint64_t length = cursor_unsigned(&c, 4);
	unsigned id_size = 4;

	/* A 64-bit length. Only in .debug_frame does the id then have 64 bits too. */
	if (length == 0xffffffff) {
		length = cursor_unsigned(&c, 8);
		id_size = s->is_debug ? 8 : 4;
	}
	/* Length 0 ends .eh_frame. In .debug_frame it is padding. */
	if (c.bad || length > cursor_left(&c) || (!length && !s->is_debug))
		return false;

	c.end = c.at + length;
	*ret = (struct entry){.id_at = (size_t)(c.at - s->data),
			      .next = (size_t)(c.end - s->data)};
	ret->id = cursor_unsigned(&c, id_size);
	if (!c.bad && s->is_debug)
		ret->is_cie = ret->id == (id_size == 8 ? UINT64_MAX : 0xffffffff);
	else if (!c.bad)
		ret->is_cie = ret->id == 0;
	ret->body = c;
	return true;
}

/* --- CIE -------------------------------------------------------------------------- */

static bool skip_personality(struct cursor *c)
{
	uint8_t encoding = cursor_u8(c);
	uint64_t ignored;

	/* It may have any encoding, since it is only skipped. */
	return encoding == PE_OMIT ||
	       ((encoding & PE_BASE) < 0x50 && read_form(c, encoding, &ignored));
}

/* Read the augmentation data, letter by letter (LSB 10.6.1.1.1). Data after an unknown
 * letter is skipped by the total length. */
static bool read_augmentation(struct cursor *c, const char *letters, struct cfi_cie *ret)
{
	uint64_t size = cursor_uleb(c);
	const uint8_t *data = cursor_take(c, size);

	if (!data)
		return false;

	struct cursor a = cursor_of(data, (size_t)size);

	for (; *letters && !a.bad; letters++) {
		if (*letters == 'R')
			ret->pointer_encoding = cursor_u8(&a);
		else if (*letters == 'L')
			cursor_u8(&a);
		else if (*letters == 'P' && !skip_personality(&a))
			return false;
		else if (*letters == 'S')
			ret->is_signal_frame = true;
		else if (*letters != 'P')
			break;
	}
	return !a.bad;
}

static bool read_cie(const struct cfi_section *s, uint64_t offset, struct cfi_cie *ret)
{
	struct entry e;

	if (offset >= s->size_bytes || !read_header(s, (size_t)offset, &e) || !e.is_cie)
		return false;

	struct cursor c = e.body;
	uint8_t version = cursor_u8(&c);
	const char *letters = cursor_string(&c, AUGMENTATION_MAX_BYTES);

	*ret = (struct cfi_cie){0};
	if (!letters || (version != 1 && version != 3 && version != 4))
		return false;
	/* The sizes of an address and of a segment selector. */
	if (version == 4 && cursor_unsigned(&c, 2) != 8)
		return false;
	ret->code_align = cursor_uleb(&c);
	ret->data_align = (int64_t)cursor_sleb(&c);

	uint64_t column = version == 1 ? cursor_u8(&c) : cursor_uleb(&c);

	if (c.bad || !ret->code_align || column != ARCH_PC)
		return false;
	if (*letters == 'z') {
		ret->has_augmentation = true;
		if (!read_augmentation(&c, letters + 1, ret))
			return false;
	} else if (*letters) {
		return false;
	}
	ret->program = c.at;
	ret->program_size = cursor_left(&c);
	return !c.bad;
}

/* --- FDE -------------------------------------------------------------------------- */

static bool read_fde(const struct cfi_section *s, const struct entry *e,
		     struct cfi_fde *ret)
{
	struct cursor c = e->body;
	uint64_t size;

	if (c.bad)
		return false;
	/* .eh_frame counts back from the id, .debug_frame from the section's start. */
	if (!s->is_debug && e->id > e->id_at)
		return false;
	if (!read_cie(s, s->is_debug ? e->id : e->id_at - e->id, &ret->cie))
		return false;

	uint8_t encoding = ret->cie.pointer_encoding;
	uint64_t address = s->address + (uint64_t)(c.at - s->data);

	if (!cfi_read_pointer(&c, encoding, address, 0, &ret->start) ||
	    !read_form(&c, encoding, &size) || size > UINT64_MAX - ret->start)
		return false;
	ret->end = ret->start + size;
	if (ret->cie.has_augmentation && !cursor_take(&c, cursor_uleb(&c)))
		return false;
	ret->program = c.at;
	ret->program_size = cursor_left(&c);
	return !c.bad;
}

enum cfi_entry cfi_entry_read(const struct cfi_section *section, size_t offset,
			      struct cfi_fde *ret, size_t *ret_next)
{
	struct entry e;

	if (!read_header(section, offset, &e))
		return CFI_ENTRY_END;
	*ret_next = e.next;
	if (e.is_cie || !read_fde(section, &e, ret))
		return CFI_ENTRY_OTHER;
	return CFI_ENTRY_FDE;
}
