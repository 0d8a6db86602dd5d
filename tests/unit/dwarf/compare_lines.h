/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Compares memtrace's source frames of a file with the output of binutils' addr2line and
 * of LLVM's, which have their own DWARF readers. For the tests of symbol/ only.
 */
#ifndef TESTS_COMPARE_LINES_H
#define TESTS_COMPARE_LINES_H

#include "check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "symbol/demangle.h"
#include "dwarf/line_module.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

static char work_dir[] = "/tmp/memtrace-lines-XXXXXX";

/* Runs a shell command in the work directory. False if it fails. */
__attribute__((format(printf, 1, 2))) static inline bool shell(const char *format, ...)
{
	char command[4096];
	va_list ap;
	int n = snprintf(command, sizeof(command), "cd %s && ", work_dir);

	va_start(ap, format);
	vsnprintf(command + n, sizeof(command) - (size_t)n, format, ap);
	va_end(ap);
	return system(command) == 0;
}

/* Runs a command that must succeed. */
#define SHELL(...)                                                                       \
	do {                                                                             \
		if (!shell(__VA_ARGS__)) {                                               \
			CHECK_FAIL("a command failed");                                  \
			exit(1);                                                         \
		}                                                                        \
	} while (0)

static inline void make_work_dir(void)
{
	REQUIRE(mkdtemp(work_dir));
}

static inline void remove_work_dir(void)
{
	char command[128];

	snprintf(command, sizeof(command), "rm -rf %s", work_dir);
	CHECK(system(command) == 0);
}

/* The path of `name` in the work directory; static storage. */
static inline const char *work_path(const char *name)
{
	static char path[512];

	snprintf(path, sizeof(path), "%s/%s", work_dir, name);
	return path;
}

static inline struct line_resources plain_resources(void)
{
	return (struct line_resources){
		.search = {.root_fd = -1},
		.budget = {.steps = UINT64_C(512) << 20},
		.memory_bytes = UINT64_C(1) << 30,
	};
}

static inline struct line_module *open_module(const char *name)
{
	struct line_module *module = NULL;
	int fd = open(work_path(name), O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	REQUIRE(!line_module_create(fd, work_path(name), &module));
	return module;
}

/* The .text section of a file. */
struct text_range {
	uint64_t address, file_offset, size_bytes;
};

static inline struct text_range find_text(const char *name)
{
	int fd = open(work_path(name), O_RDONLY | O_CLOEXEC);
	struct debug_elf *image;
	struct text_range range;
	GElf_Shdr sh;

	REQUIRE(fd >= 0 && !debug_elf_open(fd, &image));

	Elf_Scn *scn = debug_elf_section(image, ".text");

	REQUIRE(scn && gelf_getshdr(scn, &sh));
	range = (struct text_range){sh.sh_addr, sh.sh_offset, sh.sh_size};
	debug_elf_close(image);
	return range;
}

/* Prints "function\nfile:line\n" for each frame, like addr2line -i -f -C. */
static inline void print_frames(struct strbuf *text, const struct source_frames *frames)
{
	vec_foreach (frame, &frames->list) {
		_cleanup_(freep) char *plain =
			frame->function ? demangle(frame->function) : NULL;

		strbuf_appendf(text, "%s\n",
			       plain             ? plain
			       : frame->function ? frame->function
						 : "??");
		strbuf_append(text, frame->file ? frame->file : "??");
		if (frame->line)
			strbuf_appendf(text, ":%u\n", frame->line);
		else
			strbuf_append(text, frame->file ? ":?\n" : ":0\n");
	}
}

/* Reads one line. Removes its newline and addr2line's " (discriminator N)". */
static inline bool read_oracle(FILE *file, char *line, size_t size)
{
	char *cut;

	if (!fgets(line, (int)size, file))
		return false;
	line[strcspn(line, "\n")] = '\0';
	cut = strstr(line, " (discriminator ");
	/* addr2line takes the name from the symbol table, which has a symbol for the cold
	 * part. */
	if (!cut && strlen(line) > 5 && !strcmp(line + strlen(line) - 5, ".cold"))
		cut = line + strlen(line) - 5;
	if (cut)
		*cut = '\0';
	/* LLVM prints this for code without a line. */
	if (line[0] == '/' && strlen(line) > 2 && !strcmp(line + strlen(line) - 2, ":0"))
		line[strlen(line) - 1] = '?';
	return true;
}

struct comparison {
	unsigned addresses;   /* compared addresses */
	unsigned with_lines;  /* addr2line prints a file and line */
	unsigned inlined;     /* addr2line prints several frames */
	unsigned unnamed;     /* equal places, but another function name */
	unsigned differences; /* different answers */
};

/* What follows the last "::". */
static inline const char *without_scopes(const char *name)
{
	const char *last = name;

	for (const char *at = name; (at = strstr(at, "::")); at += 2)
		last = at + 2;
	return last;
}

/*
 * True if the places are equal and the names in `want` contain those in `got`, without
 * scopes. For a function without a linkage name the debug info has only the last part of
 * the name, and line_module_find() adds the scopes. addr2line takes the name from the
 * symbol table, for the innermost frame even if that is inlined.
 */
static inline bool is_alike(const char *got, const char *want, bool places_only)
{
	for (bool first = true; *got && *want; first = false) {
		size_t name = strcspn(got, "\n"), want_name = strcspn(want, "\n");
		size_t place = strcspn(got + name + 1, "\n") + 1;
		_cleanup_(freep) char *part = strndup(got, name);
		_cleanup_(freep) char *whole = strndup(want, want_name);

		if (!places_only && !first && !strstr(whole, without_scopes(part)))
			return false;
		if (strncmp(got + name + 1, want + want_name + 1, place))
			return false;
		got += name + 1 + place;
		want += want_name + 1 + place;
	}
	return *got == *want;
}

static inline void compare_one(struct comparison *result, uint64_t address,
			       const char *got, const char *want, bool places_only)
{
	const char *place = strchr(want, '\n') + 1;
	size_t lines = 0;

	for (const char *at = want; *at; at++)
		lines += *at == '\n';
	result->addresses++;
	/* Without debug info addr2line uses symbols and their file names, which have no
	 * directory: not compared. For code with line 0 it omits inlined functions. */
	if (!strncmp(place, "??:", 3) || !strncmp(strchr(place, '\n') - 2, ":?", 2) ||
	    !strncmp(strchr(place, '\n') - 2, ":0", 2))
		return;
	result->with_lines++;
	result->inlined += lines > 2;
	if (!strcmp(got, want))
		return;
	if (is_alike(got, want, places_only)) {
		result->unnamed += !places_only;
		return;
	}
	if (result->differences++ < 5)
		fprintf(stderr, "0x%" PRIx64 ":\n got:\n%s want:\n%s", address, got,
			want);
}

/* The program to compare with. binutils misreads clang's DWARF 5 (DW_FORM_rnglistx). LLVM
 * demangles C++ differently than binutils, so only places are compared with it. */
enum oracle {
	BINUTILS,
	LLVM
};

/* Compares `max` addresses of `name`, evenly spread over its .text. The oracle reads
 * `oracle_name`. */
static inline struct comparison compare_lines(struct line_module *module,
					      struct line_resources *resources,
					      const char *name, const char *oracle_name,
					      enum oracle oracle, unsigned max)
{
	struct text_range text = find_text(name);
	uint64_t step = text.size_bytes / max ? text.size_bytes / max : 1;
	struct comparison result = {0};
	char line[65536] = "";
	FILE *file = fopen(work_path("addresses"), "we");

	REQUIRE(file);
	for (uint64_t at = 0; at < text.size_bytes; at += step)
		fprintf(file, "0x%" PRIx64 "\n", text.address + at);
	REQUIRE(!fclose(file));
	SHELL("%s -a -i -f -C -e %s < addresses > answers",
	      oracle == LLVM ? "llvm-addr2line" : "addr2line", oracle_name);
	file = fopen(work_path("answers"), "re");
	REQUIRE(file && read_oracle(file, line, sizeof(line)));
	for (uint64_t at = 0; at < text.size_bytes; at += step) {
		_cleanup_(strbuf_deinit) struct strbuf got = {0}, want = {0};
		struct source_frames frames;

		CHECK(strtoull(line, NULL, 16) == text.address + at);
		while (read_oracle(file, line, sizeof(line)) && strncmp(line, "0x", 2))
			strbuf_appendf(&want, "%s\n", line);
		REQUIRE(!line_module_find(module, resources, text.file_offset + at,
					  &frames));
		print_frames(&got, &frames);
		source_frames_deinit(&frames);
		compare_one(&result, text.address + at, strbuf_text(&got),
			    strbuf_text(&want), oracle == LLVM);
	}
	fclose(file);
	return result;
}

#endif
