// SPDX-License-Identifier: Apache-2.0
/* The runs of a file's code, compared with the row of each address. */
#include "unwind/rule_runs.h"

#include "check.h"
#include "unit/unwind/image_file.h"
#include "unit/unwind/section.h"

#include <fcntl.h>
#include <link.h>
#include <string.h>

#include "unwind/rules.h"

#define BLOCK_BYTES 4096u

static uint64_t expected(const struct cfi *cfi, uint64_t address)
{
	struct cfi_row row;

	if (cfi_find_row(cfi, address, &row) != CFI_FOUND)
		return UNWIND_NONE;
	return rule_from_row(&row, address);
}

static bool has_row(const struct cfi *cfi, uint64_t address)
{
	struct cfi_row row;

	return cfi_find_row(cfi, address, &row) == CFI_FOUND;
}

/* Does the rule differ within 16 addresses of a row? Then it is not in a run. */
static bool depends_on_pc(const struct cfi *cfi, uint64_t address)
{
	struct cfi_row row;

	if (cfi_find_row(cfi, address, &row) != CFI_FOUND)
		return false;
	for (unsigned i = 1; i < 16; i++)
		if (rule_from_row(&row, address + i) != rule_from_row(&row, address))
			return true;
	return false;
}

struct compared {
	unsigned addresses, with_rule, of_pc, wrong;
};

static void compare_run(const struct cfi *cfi, const struct rule_run *run, uint64_t end,
			struct compared *ret)
{
	for (uint64_t at = run->start; at < end; at++) {
		uint64_t rule = expected(cfi, at);

		ret->addresses++;
		if (UNWIND_TYPE(rule) == UNWIND_SLOW)
			rule = UNWIND_NONE;
		if (rule != UNWIND_NONE && run->rule == UNWIND_NONE &&
		    depends_on_pc(cfi, at)) {
			ret->of_pc++;
			continue;
		}
		/* Read from the code itself (test_kept_bp.c). */
		if (run->rule == UNWIND_RULE_CALLED && !has_row(cfi, at))
			continue;
		ret->with_rule += rule != UNWIND_NONE;
		ret->wrong += rule != run->rule;
	}
}

/* Compares `bytes` bytes of code from `start` on. */
static void compare_code(const struct cfi *cfi, uint64_t start, uint64_t bytes,
			 struct compared *ret)
{
	struct rule_runs runs = {0};

	for (uint64_t at = start; at < start + bytes; at += BLOCK_BYTES) {
		CHECK(rule_runs_build(cfi, at, at + BLOCK_BYTES, &runs));
		CHECK(runs.list.len > 0);
		CHECK_INT(runs.list.data[0].start, at);
		for (size_t i = 0; i < runs.list.len; i++) {
			const struct rule_run *run = &runs.list.data[i];
			bool is_last = i + 1 == runs.list.len;

			CHECK(is_last || (run[1].start > run->start &&
					  run[1].start < at + BLOCK_BYTES &&
					  run[1].rule != run->rule));
			compare_run(cfi, run, is_last ? at + BLOCK_BYTES : run[1].start,
				    ret);
		}
	}
	rule_runs_deinit(&runs);
}

static struct cfi *open_cfi(const char *path)
{
	struct cfi *cfi = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	CHECK(fd >= 0);
	struct error *err = cfi_open_file(fd, &cfi);

	REQUIRE(!err);
	return cfi;
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *argument)
{
	unsigned *files = argument;
	const char *path = *info->dlpi_name ? info->dlpi_name : "/proc/self/exe";
	struct compared compared = {0};
	struct cfi *cfi;

	(void)size;
	if (strchr(path, '/') == NULL)
		return 0;
	cfi = open_cfi(path);
	for (size_t i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];

		/* Half a MiB from the middle on, and the PLT at the beginning. */
		if (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
			continue;
		compare_code(cfi, p->p_vaddr & ~(uint64_t)(BLOCK_BYTES - 1), BLOCK_BYTES,
			     &compared);
		compare_code(
			cfi, (p->p_vaddr + p->p_memsz / 2) & ~(uint64_t)(BLOCK_BYTES - 1),
			p->p_memsz / 2 < 1 << 19 ? p->p_memsz / 2 : 1 << 19, &compared);
	}
	cfi_close(cfi);
	printf("%s: %u addresses, %u with a rule, %u by the pc, %u wrong\n", path,
	       compared.addresses, compared.with_rule, compared.of_pc, compared.wrong);
	CHECK_INT(compared.wrong, 0);
	CHECK(compared.with_rule > compared.addresses / 2);
	++*files;
	return 0;
}

static void loaded_files(void)
{
	unsigned files = 0;

	dl_iterate_phdr(compare_loaded, &files);
	CHECK(files >= 3);
}

/* Turns an entry of .eh_frame into one of .debug_frame (DWARF 5 section 6.4.1): a CIE's
 * id is all ones, and an FDE has the offset of its CIE. */
static void make_debug(struct built_section *s, size_t at, uint32_t id)
{
	memcpy(s->bytes + at + 4, &id, sizeof(id));
}

static void put_function(struct built_section *s, size_t cie, uint64_t start,
			 uint64_t size, uint8_t cfa)
{
	const uint64_t address[2] = {IMAGE_CODE + start, size};
	const uint8_t program[] = {0x0e, cfa};

	put_fde(s, cie, (const uint8_t *)address, sizeof(address), program,
		sizeof(program));
}

/* Overlapping functions in two sections. The second section is used where the first one
 * has nothing. */
static void overlapping(void)
{
	static struct built_section eh, debug;
	char path[] = "/tmp/memtrace-runs-XXXXXX";
	size_t cie = put_cie(&eh, 1, "", NULL, 0), at;
	struct compared compared = {0};

	put_function(&eh, cie, 0x100, 0x100, 16);
	put_function(&eh, cie, 0x110, 0x10, 24);
	put_function(&eh, cie, 0x400, 0x100, 32);
	put_number(&eh, 0, 4);
	cie = put_cie(&debug, 1, "", NULL, 0);
	make_debug(&debug, cie, UINT32_MAX);
	at = debug.size;
	put_function(&debug, cie, 0x80, 0x200, 40);
	make_debug(&debug, at, 0);
	at = debug.size;
	put_function(&debug, cie, 0x150, 0x20, 48);
	make_debug(&debug, at, 0);

	const struct image_section sections[] = {
		{".eh_frame", eh.bytes, eh.size},
		{".debug_frame", debug.bytes, debug.size},
	};

	image_file(path, BLOCK_BYTES, sections, 2);

	struct cfi *cfi = open_cfi(path);

	compare_code(cfi, IMAGE_CODE, BLOCK_BYTES, &compared);
	CHECK_INT(compared.wrong, 0);
	/* 0x80 to 0x170, including the end of the inner function, and 0x400 to 0x500. */
	printf("%u addresses with a rule\n", compared.with_rule);
	CHECK(compared.with_rule > 0x100 + 0x90);
	cfi_close(cfi);
	unlink(path);
}

/* No real code has so many instructions. */
static void too_many_instructions(void)
{
	static struct built_section eh;
	static const uint8_t nops[45000];
	char path[] = "/tmp/memtrace-runs-XXXXXX";

	for (unsigned functions = 2; functions <= 4; functions += 2) {
		struct image_section whole = {".eh_frame", eh.bytes, 0};
		struct rule_runs runs = {0};
		struct cfi *cfi;
		size_t cie;

		eh.size = 0;
		cie = put_cie(&eh, 1, "", NULL, 0);
		for (unsigned i = 0; i < functions; i++) {
			const uint64_t address[2] = {IMAGE_CODE + 0x100 * i, 0x100};

			put_fde(&eh, cie, (const uint8_t *)address, sizeof(address), nops,
				sizeof(nops));
		}
		put_number(&eh, 0, 4);
		whole.size = eh.size;
		strcpy(path, "/tmp/memtrace-runs-XXXXXX");
		image_file(path, BLOCK_BYTES, &whole, 1);
		cfi = open_cfi(path);
		CHECK_INT(
			rule_runs_build(cfi, IMAGE_CODE, IMAGE_CODE + BLOCK_BYTES, &runs),
			functions == 2);
		rule_runs_deinit(&runs);
		cfi_close(cfi);
		unlink(path);
	}
}

int main(void)
{
	RUN(overlapping);
	RUN(too_many_instructions);
	RUN(loaded_files);
	return check_done();
}
