// SPDX-License-Identifier: Apache-2.0
/*
 * Damaged images: truncated, with flipped bits, with random bytes in their tables. Any
 * result is allowed, but it must end within bounds. The sanitizers check the reads.
 */
#include "check.h"

#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit/random.h"
#include "unwind/cfi.h"
#include "unwind/frame.h"
#include "unwind/rules.h"
#include "unwind/walk.h"

#define MUTATIONS 4000
#define LOOKUPS   24

static uint8_t *image;
static size_t image_size;
static struct {
	size_t start, end;
} parts[64]; /* parts of the file that are damaged */
static size_t part_count;
static uint64_t code_start, code_end;
static uint64_t words[512];
static const struct stack_copy stack = {0x10000, words, sizeof(words), NULL};
static unsigned rows, opened;

static uint64_t random_word(void)
{
	static uint64_t state = 0x9e3779b97f4a7c15;

	return random_next(&state);
}

static void add_part(size_t start, size_t size)
{
	if (size && start < image_size && size <= image_size - start) {
		REQUIRE(part_count < sizeof(parts) / sizeof(parts[0]));
		parts[part_count].start = start;
		parts[part_count++].end = start + size;
	}
}

/* Loads the dynamic linker: it is small and has all kinds of rows. */
static int load_linker(struct dl_phdr_info *info, size_t size, void *argument)
{
	struct stat st;

	(void)size;
	(void)argument;
	if (!strstr(info->dlpi_name, "/ld-linux"))
		return 0;

	int fd = open(info->dlpi_name, O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
	image_size = (size_t)st.st_size;
	image = malloc(image_size);
	REQUIRE(image && read(fd, image, image_size) == st.st_size);
	close(fd);
	return 1;
}

static void find_parts(void)
{
	Elf64_Ehdr header;

	REQUIRE(dl_iterate_phdr(load_linker, NULL) == 1);
	memcpy(&header, image, sizeof(header));
	add_part(0, sizeof(header));
	add_part(header.e_phoff, (size_t)header.e_phnum * sizeof(Elf64_Phdr));
	for (size_t i = 0; i < header.e_phnum; i++) {
		Elf64_Phdr p;

		memcpy(&p, image + header.e_phoff + i * sizeof(p), sizeof(p));
		if (p.p_type == PT_LOAD && p.p_flags & PF_X) {
			code_start = p.p_vaddr;
			code_end = p.p_vaddr + p.p_filesz;
		}
		if (p.p_type != PT_GNU_EH_FRAME)
			continue;
		add_part(p.p_offset, p.p_filesz);
		/* .eh_frame follows. */
		add_part(p.p_offset + p.p_filesz, 0x2000);
	}
	REQUIRE(part_count >= 4 && code_end);
	/* The section headers are rarely damaged, so that .eh_frame is found in both
	 * ways. */
	add_part(header.e_shoff, (size_t)header.e_shnum * sizeof(Elf64_Shdr));
}

static bool find_code(void *argument, uint64_t pc, struct walk_code *ret)
{
	(void)pc;
	*ret = (struct walk_code){.cfi = argument};
	return true;
}

static void use(struct cfi *cfi)
{
	struct walk_frame frames[32];

	for (int i = 0; i < LOOKUPS; i++) {
		uint64_t pc = code_start + random_word() % (code_end - code_start);
		struct unwind_registers registers, caller;
		struct cfi_row row;
		struct walk walk = {.frames = frames, .capacity = 32};
		uint64_t bias;

		for (int r = 0; r < ARCH_REGISTERS; r++)
			registers.value[r] = stack.base + random_word() % 512 * 8;
		registers.value[ARCH_PC] = pc;
		registers.known = (1u << ARCH_REGISTERS) - 1;
		if (cfi_find_row(cfi, pc, &row) == CFI_FOUND) {
			rows++;
			(void)frame_step(&row, &registers, &stack, &caller);
			CHECK(rule_from_row(&row, pc) != UNWIND_NONE);
		}
		walk_stack(&registers, i & 1, &stack, find_code, cfi, &walk);
		CHECK(walk.count >= 1 && walk.count <= walk.capacity);
		(void)cfi_bias(cfi, 0x1000, random_word(), &bias);
	}
}

/* Opens the content of `image` in a block of exactly its size, so that a sanitizer
 * notices reads beyond it. */
static void try_image(size_t size)
{
	uint8_t *exact = malloc(size ? size : 1);
	struct cfi *cfi = NULL;

	REQUIRE(exact);
	memcpy(exact, image, size);

	struct error *err = cfi_open_memory(exact, size, &cfi);

	if (err) {
		error_destroy(err);
	} else {
		opened++;
		use(cfi);
	}
	cfi_close(cfi);
	free(exact);
}

static void intact(void)
{
	opened = rows = 0;
	try_image(image_size);
	CHECK_INT(opened, 1);
	CHECK(rows > LOOKUPS / 2);
}

static void cut_short(void)
{
	opened = 0;
	for (size_t size = 0; size < 1024; size += 7)
		try_image(size);
	for (size_t size = 1024; size < image_size; size += image_size / 200)
		try_image(size);
	for (size_t i = 0; i < part_count; i++)
		for (size_t back = 0; back < 40; back++)
			try_image(parts[i].end - back);
	CHECK(opened > 100);
}

static void damage(size_t part, unsigned bytes, bool one_bit)
{
	uint8_t saved[64];
	size_t at[64];

	for (unsigned i = 0; i < bytes; i++) {
		at[i] = parts[part].start +
			random_word() % (parts[part].end - parts[part].start);
		saved[i] = image[at[i]];
		image[at[i]] = one_bit ? image[at[i]] ^ (uint8_t)(1u << random_word() % 8)
				       : (uint8_t)random_word();
	}
	try_image(image_size);
	while (bytes--)
		image[at[bytes]] = saved[bytes];
}

static void flipped_bits(void)
{
	opened = rows = 0;
	for (unsigned i = 0; i < MUTATIONS / 2; i++)
		damage(i % part_count, 1, true);
	CHECK(opened > MUTATIONS / 4);
	CHECK(rows > MUTATIONS);
}

static void random_bytes(void)
{
	opened = rows = 0;
	for (unsigned i = 0; i < MUTATIONS / 2; i++)
		damage(2 + i % (part_count - 2), 1 + i % 64, false);
	CHECK(opened > MUTATIONS / 4);
	CHECK(rows > MUTATIONS);
}

/* Programs and expressions of random bytes. */
static void random_programs(void)
{
	unsigned found = 0, values = 0;

	for (unsigned i = 0; i < 20000; i++) {
		uint8_t bytes[64], size = (uint8_t)(1 + random_word() % sizeof(bytes));
		uint8_t *exact = malloc(size);
		struct unwind_registers registers, caller;
		struct cfi_row row;
		uint64_t value;

		REQUIRE(exact);
		for (unsigned j = 0; j < size; j++)
			exact[j] = (uint8_t)random_word();

		const struct cfi_section section = {exact, size, 0x2000, false};
		const struct cfi_fde fde = {
			.cie = {.code_align = 1 + i % 4,
				.data_align = -8,
				.program = (const uint8_t[]){0x0c, 7, 8, 0x90, 1},
				.program_size = 5},
			.start = 0x1000,
			.end = 0x1080,
			.program = exact,
			.program_size = size,
		};

		for (int r = 0; r < ARCH_REGISTERS; r++)
			registers.value[r] = stack.base + random_word() % 512 * 8;
		registers.known = (uint32_t)random_word();
		if (cfi_row_find(&section, &fde, 0x1000 + random_word() % 0x80, &row)) {
			found++;
			(void)frame_step(&row, &registers, &stack, &caller);
			(void)rule_from_row(&row, 0x1000);
		}
		if (expression_eval(exact, size, &registers, &stack, &registers.value[3],
				    &value) == EVAL_OK)
			values++;
		(void)expression_form(exact, size, 0x1000);
		free(exact);
	}
	CHECK(found > 100);
	CHECK(values > 10);
}

static void no_regular_files(void)
{
	static const char *const paths[] = {"/dev/zero", "/tmp"};

	for (size_t i = 0; i < 2; i++) {
		struct cfi *cfi = NULL;
		struct error *err =
			cfi_open_file(open(paths[i], O_RDONLY | O_CLOEXEC), &cfi);

		REQUIRE(err);
		CHECK_INT(err->code, ERROR_MALFORMED);
		CHECK_CONTAINS(err->message, "not a regular file");
		error_destroy(err);
	}
}

int main(void)
{
	for (size_t i = 0; i < 512; i++)
		words[i] = stack.base + random_word() % 512 * 8;
	find_parts();
	RUN(no_regular_files);
	RUN(intact);
	RUN(cut_short);
	RUN(flipped_bits);
	RUN(random_bytes);
	RUN(random_programs);
	/* No input takes endless time: the slowest is far below the limit of a test. */
	CHECK(check_cpu_s() < 40);
	free(image);
	return check_done();
}
