// SPDX-License-Identifier: Apache-2.0
/*
 * Debug info with deliberate damage to bits and bytes: each request must be answered in
 * bounded time, whatever the answer is. The first argument is the number of damaged files
 * of each program (default 150), the second one a seed.
 */
#include "unit/dwarf/compare_lines.h"

#include "dwarf/elf_names.h"

#define TARGETS TEST_DATA_DIR "/unit/symbol/targets/"

/* Longest time for all requests to one file, s. */
#define TIME_MAX_S 20

static unsigned files = 150;
static uint64_t seed = 42;

struct bytes {
	unsigned char *data;
	size_t size;
};

static struct bytes read_bytes(const char *name)
{
	_cleanup_(fclosep) FILE *file = fopen(work_path(name), "re");
	struct bytes bytes = {malloc(1 << 22), 0};

	REQUIRE(file && bytes.data);
	bytes.size = fread(bytes.data, 1, 1 << 22, file);
	REQUIRE(bytes.size > 0 && bytes.size < 1 << 22);
	return bytes;
}

static void write_bytes(const char *name, const struct bytes *bytes)
{
	FILE *file = fopen(work_path(name), "we");

	REQUIRE(file && fwrite(bytes->data, 1, bytes->size, file) == bytes->size);
	REQUIRE(!fclose(file));
}

/* Position of a debug section in a file. */
struct section {
	size_t offset, size;
};

static size_t find_sections(const char *name, struct section sections[], size_t max)
{
	int fd = open(work_path(name), O_RDONLY | O_CLOEXEC);
	struct debug_elf *image;
	size_t count = 0, names;
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	REQUIRE(fd >= 0 && !debug_elf_open(fd, &image));
	REQUIRE(!elf_getshdrstrndx(image->elf, &names));
	while ((scn = elf_nextscn(image->elf, scn)) && gelf_getshdr(scn, &sh)) {
		const char *section = elf_strptr(image->elf, names, sh.sh_name);

		if (section && !strncmp(section, ".debug_", 7) && count < max)
			sections[count++] = (struct section){sh.sh_offset, sh.sh_size};
	}
	debug_elf_close(image);
	return count;
}

static uint64_t random_number(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return *state >> 33;
}

/* Requests addresses all over the code. Returns the number of frames with a function. */
static size_t ask(const struct text_range *text)
{
	struct line_resources resources = plain_resources();
	struct line_module *module = open_module("bad");
	double start = check_cpu_s();
	size_t frames = 0;

	resources.budget.steps = 1 << 24;
	for (uint64_t at = 0; at < text->size_bytes; at += 11) {
		struct source_frames found;

		REQUIRE(!line_module_find(module, &resources, text->file_offset + at,
					  &found));
		vec_foreach (frame, &found.list)
			frames += frame->function != NULL;
		source_frames_deinit(&found);
	}
	line_module_destroy(module);
	CHECK(check_cpu_s() - start < TIME_MAX_S);
	return frames;
}

/* Flips bits, writes bytes that are common in lengths and offsets, and removes or
 * duplicates parts of one section. */
static void damage(struct bytes *bytes, const struct section *section, uint64_t *state)
{
	unsigned char *data = bytes->data + section->offset;
	size_t at = random_number(state) % section->size;
	size_t left = section->size - at, length = random_number(state) % 64;

	switch (random_number(state) % 5) {
	case 0:
		data[at] ^= (unsigned char)(1 << random_number(state) % 8);
		break;
	case 1:
		data[at] = 0xff;
		break;
	case 2:
		memset(data + at, 0xff, left < 4 ? left : 4);
		break;
	case 3:
		data[at] = 0;
		break;
	default:
		length = length < left ? length : left;
		memmove(data + random_number(state) % (section->size - length + 1),
			data + at, length);
		break;
	}
}

/* `command` builds the program "x". `made` damaged copies of its file `name` are tested
 * as the program "bad". */
static void check_file(const char *command, const char *name, unsigned made)
{
	struct section sections[32];
	struct text_range text;
	uint64_t state = seed;
	size_t count, whole, answers = 0;

	SHELL("rm -f *.dwo *.dwp && %s && cp x bad", command);
	text = find_text("x");
	count = find_sections(name, sections, 32);
	REQUIRE(count >= 4);
	whole = ask(&text);
	CHECK(whole > 30);

	struct bytes original = read_bytes(name);

	for (unsigned i = 0; i < made; i++) {
		struct bytes copy = {malloc(original.size), original.size};
		unsigned damages = 1 + (unsigned)random_number(&state) % 30;

		REQUIRE(copy.data);
		memcpy(copy.data, original.data, original.size);
		while (damages--)
			damage(&copy, &sections[random_number(&state) % count], &state);
		write_bytes(strcmp(name, "x") ? name : "bad", &copy);
		/* Both ways to read: mapped, and copied because other users may change
		 * the file. */
		SHELL("chmod %s bad", i % 2 ? "644" : "666");
		answers += ask(&text);
		free(copy.data);
	}
	/* Many requests must still be answered, so that the damage was not simply
	 * refused. With compression it often is. */
	CHECK(answers > made * whole / (strstr(command, "-gz") ? 1000 : 20));
	free(original.data);
}

static void check_program(const char *command)
{
	check_file(command, "x", files);
}

static void damaged_sections(void)
{
	check_program("gcc -g -O2 " TARGETS "inlines.c -o x");
	check_program("gcc -gdwarf-4 -O2 " TARGETS "inlines.c -o x");
	check_program("clang -g -O2 " TARGETS "inlines.c -o x");
	check_program("g++ -g -O2 " TARGETS "inlines.cpp -o x");
	check_program("gcc -g -gz -O2 " TARGETS "inlines.c -o x");
}

/* The program is intact; the file for its skeleton unit is damaged. */
static void damaged_split_units(void)
{
	unsigned few = (files + 2) / 3;

	check_file("gcc -gdwarf-5 -O2 -gsplit-dwarf " TARGETS "inlines.c -o x",
		   "x-inlines.dwo", few);
	check_file("gcc -gdwarf-4 -O2 -gsplit-dwarf " TARGETS "inlines.c -o x",
		   "x-inlines.dwo", few);
	check_file("clang -gdwarf-5 -O2 -gsplit-dwarf " TARGETS "inlines.c -o x && "
		   "llvm-dwp -e x -o bad.dwp && rm inlines.dwo",
		   "bad.dwp", few);
	check_file("clang -gdwarf-4 -O2 -gsplit-dwarf " TARGETS "inlines.c -o x && "
		   "llvm-dwp -e x -o bad.dwp && rm inlines.dwo",
		   "bad.dwp", few);
	/* The skeleton unit is damaged. */
	check_file("clang -gdwarf-5 -O2 -gsplit-dwarf " TARGETS "inlines.c -o x", "x",
		   few);
	SHELL("rm -f *.dwo *.dwp");
}

/* Damages any byte of the file, including the headers. */
static void damaged_files(void)
{
	struct bytes original;
	struct text_range text;
	uint64_t state = seed;

	SHELL("gcc -g -O2 " TARGETS "inlines.c -o x");
	text = find_text("x");
	original = read_bytes("x");
	for (unsigned i = 0; i < files; i++) {
		struct bytes copy = {malloc(original.size), original.size};

		REQUIRE(copy.data);
		memcpy(copy.data, original.data, original.size);
		for (int j = 0; j < 20; j++) {
			struct section all = {0, copy.size}, header = {0, 64};
			/* 31 sections: the section headers are at the end. */
			struct section table = {copy.size - 2000, 2000};
			const struct section *parts[] = {&all, &header, &table};

			damage(&copy, parts[random_number(&state) % (j ? 3 : 1)], &state);
		}
		write_bytes("bad", &copy);
		ask(&text);
		/* Truncated. */
		copy.size = random_number(&state) % copy.size;
		write_bytes("bad", &copy);
		ask(&text);
		free(copy.data);
	}
	free(original.data);
}

/* A symbol table as in .gnu_debugdata, decompressed in memory. */
static void damaged_symbols(void)
{
	struct bytes original;
	uint64_t state = seed;
	unsigned names = 0;

	SHELL("gcc -O2 " TARGETS "inlines.c -o x");
	original = read_bytes("x");
	for (unsigned i = 0; i < 5 * files; i++) {
		struct bytes copy = {malloc(original.size), original.size};
		struct section all = {0, copy.size}, table = {copy.size - 4000, 4000};
		struct debug_elf *image;
		struct elf_names *found;

		REQUIRE(copy.data);
		memcpy(copy.data, original.data, original.size);
		for (int j = 0; j < 20; j++)
			damage(&copy, j % 2 ? &all : &table, &state);

		struct error *err = debug_elf_from_memory(copy.data, copy.size, &image);

		if (err) {
			CHECK_INT(err->code, ERROR_MALFORMED);
			error_destroy(err);
			continue;
		}
		REQUIRE(!elf_names_create(image, &found));
		for (uint64_t at = 0; at < 0x2000; at += 7) {
			uint64_t offset;
			const char *name = elf_names_find(found, at, &offset);

			names += name && strlen(name) < copy.size;
		}
		elf_names_destroy(found);
	}
	CHECK(names > 100);
	free(original.data);
}

/* Sections of terabytes, by their headers or after decompression. */
static void immoderate_sections(void)
{
	struct text_range text;
	struct bytes bytes;
	int changed = 0;

	SHELL("gcc -g -gz -O2 " TARGETS "inlines.c -o x");
	text = find_text("x");
	bytes = read_bytes("x");
	/* Elf64_Chdr: ELFCOMPRESS_ZLIB, reserved, size, alignment 1. */
	for (size_t i = 0; i + 24 < bytes.size; i += 1) {
		static const unsigned char head[8] = {1}, tail[8] = {1};

		if (memcmp(bytes.data + i, head, 8) ||
		    memcmp(bytes.data + i + 16, tail, 8))
			continue;
		memset(bytes.data + i + 8, 0x7f, 6);
		changed++;
	}
	CHECK(changed > 3);
	write_bytes("bad", &bytes);
	CHECK_INT(ask(&text), 0);
	free(bytes.data);
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		files = (unsigned)atoi(argv[1]);
	if (argc > 2)
		seed = strtoull(argv[2], NULL, 10);
	make_work_dir();
	RUN(damaged_sections);
	RUN(damaged_split_units);
	RUN(damaged_files);
	RUN(damaged_symbols);
	RUN(immoderate_sections);
	remove_work_dir();
	return check_done();
}
