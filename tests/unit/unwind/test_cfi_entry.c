// SPDX-License-Identifier: Apache-2.0
/* CIEs and FDEs in all their forms, the encodings of addresses, and the two indexes. */
#include "unit/unwind/section.h"

#include "unwind/cfi_index.h"

static struct built_section s;

/* Reads the FDE after a CIE with this augmentation. False if it cannot be used. */
static bool fde_of(uint8_t version, const char *augmentation, const uint8_t *data,
		   size_t size, const uint8_t *address, size_t address_size,
		   struct cfi_fde *ret)
{
	s.size = 0;

	size_t cie = put_cie(&s, version, augmentation, data, size), next = 0;
	size_t at = put_fde(&s, cie, address, address_size, BYTES(0x0e, 16));
	struct cfi_section section = section_of(&s);
	enum cfi_entry kind;

	CHECK_INT(cfi_entry_read(&section, cie, ret, &next), CFI_ENTRY_OTHER);
	CHECK_INT(next, at);
	kind = cfi_entry_read(&section, at, ret, &next);
	CHECK_INT(next, s.size);
	return kind == CFI_ENTRY_FDE;
}

/* Plain addresses without augmentation data. */
#define PLAIN NULL, 0

static void augmentations(void)
{
	const uint8_t address[] = {0, 0x10, 0, 0, 0, 1, 0, 0, 0 /* no data */};
	struct cfi_fde fde;

	for (uint8_t version = 0; version < 6; version++)
		CHECK_INT(fde_of(version, "", PLAIN, PLAIN, &fde),
			  version == 1 || version == 3 || version == 4);
	/* The size of the data, then an encoding for R, an encoding and an address for P,
	 * an encoding for L. */
	REQUIRE(fde_of(1, "zR", BYTES(1, 3), address, sizeof(address), &fde));
	CHECK_INT(fde.start, 0x1000);
	CHECK_INT(fde.end, 0x1100);
	CHECK(!fde.cie.is_signal_frame);
	CHECK_INT(fde.program_size, 2);
	REQUIRE(fde_of(1, "zPLR", BYTES(7, 0x9b, 1, 2, 3, 4, 0x1b, 3), address,
		       sizeof(address), &fde));
	CHECK_INT(fde.start, 0x1000);
	REQUIRE(fde_of(1, "zRS", BYTES(1, 3), address, sizeof(address), &fde));
	CHECK(fde.cie.is_signal_frame);
	CHECK_INT(fde.cie.program_size, 5);
	/* An unknown letter ends the list. */
	REQUIRE(fde_of(1, "zR?S", BYTES(3, 3, 9, 9), address, sizeof(address), &fde));
	CHECK(!fde.cie.is_signal_frame);
	CHECK_INT(fde.cie.program_size, 5);

	CHECK(!fde_of(1, "eh", BYTES(1, 2, 3, 4, 5, 6, 7, 8), PLAIN, &fde));
	CHECK(!fde_of(1, "R", BYTES(3), address, sizeof(address), &fde));
	/* Data that is shorter than its letters require, or longer than the entry. */
	CHECK(!fde_of(1, "zPR", BYTES(2, 0x9b, 3), address, sizeof(address), &fde));
	CHECK(!fde_of(1, "zR", BYTES(0x7f, 3), address, sizeof(address), &fde));
	CHECK(!fde_of(1, "zR", BYTES(1, 3), address, 8, &fde));
}

/*
 * A CIE with a name or number as long as a section may be, and FDEs for the rest. A
 * reader that reads the CIE for each FDE would take hours.
 */
static void long_cies(void)
{
	static struct cfi_index index;
	const size_t half = 4 << 20, fde_size = 4 + 4 + 4;
	uint8_t *bytes = malloc(2 * half);
	const struct cfi_section section = {bytes, 2 * half, SECTION_ADDRESS, false};
	const uint32_t cie_length = (uint32_t)half - 4, fde_length = fde_size - 4;

	REQUIRE(bytes);
	for (int number = 0; number < 2; number++) {
		memset(bytes, number ? 0x80 : 'z', half);
		memcpy(bytes, &cie_length, 4);
		memset(bytes + 4, 0, 4);
		bytes[8] = 1;
		if (number)
			bytes[9] = 0;
		for (size_t at = half; at + fde_size <= 2 * half; at += fde_size) {
			const uint32_t back = (uint32_t)at + 4;

			memset(bytes + at, 1, fde_size);
			memcpy(bytes + at, &fde_length, 4);
			memcpy(bytes + at + 4, &back, 4);
		}
		memset(bytes + 2 * half - 8, 0, 8);
		REQUIRE(!cfi_index_init(&index, &section, NULL));
		CHECK_INT(index.rows.len, 0);
		cfi_index_deinit(&index);
	}
	free(bytes);
}

static void encodings(void)
{
	static const struct {
		uint8_t encoding, size;
		uint8_t bytes[16];
		bool usable, relative;
	} cases[] = {
		{0x00, 16, {0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1}, true, false},
		{0x02, 4, {0, 0x10, 0, 1}, true, false},
		{0x03, 8, {0, 0x10, 0, 0, 0, 1}, true, false},
		{0x04, 16, {0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1}, true, false},
		{0x01, 4, {0x80, 0x20, 0x80, 0x02}, true, false},
		{0x09, 5, {0x80, 0xa0, 0x00, 0x80, 0x02}, true, false},
		{0x0a, 4, {0, 0x10, 0, 1}, true, false},
		{0x0b, 8, {0, 0x10, 0, 0, 0, 1}, true, false},
		{0x0c, 16, {0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1}, true, false},
		{0x1b, 8, {0, 0x10, 0, 0, 0, 1}, true, true},
		{0x1a, 4, {0, 0x10, 0, 1}, true, true},
		/* indirect; relative to text, data, function; aligned; omitted; unknown
		 */
		{0x9b, 8, {0, 0x10, 0, 0, 0, 1}, false, false},
		{0x2b, 8, {0, 0x10, 0, 0, 0, 1}, false, false},
		{0x3b, 8, {0, 0x10, 0, 0, 0, 1}, false, false},
		{0x4b, 8, {0, 0x10, 0, 0, 0, 1}, false, false},
		{0x50, 16, {0, 0x10, 0, 0, 0, 0, 0, 0, 0, 1}, false, false},
		{0xff, 16, {0}, false, false},
		{0x05, 16, {0}, false, false},
		/* A negative size leads back before the start. */
		{0x0b, 8, {0, 0x10, 0, 0, 0xff, 0xff, 0xff, 0xff}, false, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const uint8_t data[] = {1, cases[i].encoding};
		uint8_t address[17] = {0};
		struct cfi_fde fde;

		memcpy(address, cases[i].bytes, cases[i].size);
		CHECK_INT(fde_of(1, "zR", data, sizeof(data), address, cases[i].size + 1u,
				 &fde),
			  cases[i].usable);
		if (!cases[i].usable)
			continue;

		/* Relative to the first byte of the address. */
		uint64_t at = SECTION_ADDRESS + s.size - 2 - cases[i].size - 1;

		CHECK_INT(fde.start, 0x1000 + (cases[i].relative ? at : 0));
		CHECK_INT(fde.end - fde.start, 0x100);
	}
}

static void frames_of_entries(void)
{
	struct cfi_section section;
	struct cfi_fde fde;
	size_t next = 0;

	s.size = 0;

	size_t cie = put_cie(&s, 1, "", NULL, 0);
	size_t at = put_fde(&s, cie, NULL, 0, BYTES(0));

	section = section_of(&s);
	/* In each shorter section: no FDE, and no read beyond the end. */
	for (size_t size = 0; size < s.size; size++) {
		section.size_bytes = size;
		CHECK_INT(cfi_entry_read(&section, at, &fde, &next), CFI_ENTRY_END);
		CHECK_INT(cfi_entry_read(&section, size, &fde, &next), CFI_ENTRY_END);
	}
	/* A CIE pointer that is not valid: outside, to itself, into the middle of an
	 * entry. */
	section = section_of(&s);
	for (uint32_t back = 0; back < 64; back++) {
		memcpy(s.bytes + at + 4, &back, sizeof(back));
		CHECK_INT(cfi_entry_read(&section, at, &fde, &next) == CFI_ENTRY_FDE,
			  back == at + 4 - cie);
		CHECK_INT(next, s.size);
	}
	/* The end mark, and 64-bit lengths. */
	memset(s.bytes, 0, 4);
	CHECK_INT(cfi_entry_read(&section, 0, &fde, &next), CFI_ENTRY_END);
	memset(s.bytes, 0xff, 12);
	CHECK_INT(cfi_entry_read(&section, 0, &fde, &next), CFI_ENTRY_END);
}

/* --- .eh_frame_hdr ---------------------------------------------------------------- */

#define HEADER_ADDRESS (SECTION_ADDRESS - 0x100)

struct header {
	uint8_t version, section_encoding, count_encoding, table_encoding;
	int32_t section;
	uint32_t count;
	int32_t table[6];
};

static struct header make_header(size_t first, size_t second)
{
	const int32_t to_section = SECTION_ADDRESS - HEADER_ADDRESS;

	return (struct header){
		1,
		0x1b,
		0x03,
		0x3b,
		(int32_t)(SECTION_ADDRESS - HEADER_ADDRESS - 4),
		2,
		{(int32_t)(0x1000 - HEADER_ADDRESS), to_section + (int32_t)first,
		 (int32_t)(0x2000 - HEADER_ADDRESS), to_section + (int32_t)second},
	};
}

static void check_index(const struct header *header, bool by_table)
{
	struct cfi_header parsed;
	struct cfi_section section = section_of(&s);
	struct cfi_index index;
	struct cfi_fde fde;

	REQUIRE(cfi_header_read((const uint8_t *)header, sizeof(*header), HEADER_ADDRESS,
				&parsed));
	CHECK_INT(parsed.section_address, SECTION_ADDRESS);
	CHECK_INT(parsed.table != NULL, by_table);
	REQUIRE(!cfi_index_init(&index, &section, &parsed));
	CHECK_INT(index.rows.len, by_table ? 0 : 2);
	CHECK(!cfi_index_find(&index, 0xfff, &fde));
	CHECK(cfi_index_find(&index, 0x1000, &fde));
	CHECK(cfi_index_find(&index, 0x10ff, &fde));
	CHECK_INT(fde.start, 0x1000);
	CHECK(!cfi_index_find(&index, 0x1100, &fde));
	CHECK(cfi_index_find(&index, 0x2000, &fde));
	CHECK_INT(fde.start, 0x2000);
	CHECK(!cfi_index_find(&index, 0x2001, &fde));
	CHECK(!cfi_index_find(&index, UINT64_MAX, &fde));
	cfi_index_deinit(&index);
}

static void headers(void)
{
	struct cfi_header parsed;

	s.size = 0;

	size_t cie = put_cie(&s, 1, "", NULL, 0);
	size_t second =
		put_fde(&s, cie, BYTES(0, 0x20, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0),
			BYTES(0));
	size_t first = put_fde(&s, cie, NULL, 0, BYTES(0));
	struct header header = make_header(first, second);

	put_number(&s, 0, 4);
	check_index(&header, true);
	/* Invalid tables: too long, unsorted, of another form, empty. */
	header.count = 4;
	check_index(&header, false);
	header.count = UINT32_MAX;
	check_index(&header, false);
	header.count = 0;
	check_index(&header, false);
	header = make_header(first, second);
	header.table_encoding = 0x1b;
	check_index(&header, false);
	header = make_header(first, second);
	header.table[0] = header.table[2] + 1;
	check_index(&header, false);

	/* Table entries that point outside of the section, or not to an FDE, yield
	 * nothing. */
	struct cfi_section section = section_of(&s);
	struct cfi_index index;
	struct cfi_fde fde;

	header = make_header(first + 0x10000, cie);
	REQUIRE(cfi_header_read((const uint8_t *)&header, sizeof(header), HEADER_ADDRESS,
				&parsed));
	REQUIRE(!cfi_index_init(&index, &section, &parsed));
	CHECK(!cfi_index_find(&index, 0x1000, &fde));
	CHECK(!cfi_index_find(&index, 0x2000, &fde));
	cfi_index_deinit(&index);

	for (size_t size = 0; size < 8; size++)
		CHECK(!cfi_header_read((const uint8_t *)&header, size, 0, &parsed));
	header.version = 2;
	CHECK(!cfi_header_read((const uint8_t *)&header, sizeof(header), 0, &parsed));
}

int main(void)
{
	RUN(augmentations);
	RUN(long_cies);
	RUN(encodings);
	RUN(frames_of_entries);
	RUN(headers);
	return check_done();
}
