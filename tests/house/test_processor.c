// SPDX-License-Identifier: Apache-2.0
/* What knows the processor is in src/arch/. Other files that name something of x86-64 are
 * listed here, with the number of their lines that do; the list must become shorter. No
 * file outside has a byte of an instruction. */
#include "check.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>

/* A single "_" at the end: any word that begins so. */
static const char *const words[] = {
	"__x86_64__",
	"__aarch64__",
	"__TARGET_ARCH_",
	"EM_X86_64",
	"R_X86_64_",
	"X86_",
	"NT_X86_",
	"user_regs_struct",
	"pt_regs",
	"0xcc",
	"rax",
	"rbx",
	"rcx",
	"rdx",
	"rsi",
	"rdi",
	"rbp",
	"rsp",
	"rip",
	"INSN_RAX",
	"INSN_RCX",
	"INSN_RDX",
	"INSN_RBX",
	"INSN_RSP",
	"INSN_RBP",
	"INSN_RSI",
	"INSN_RDI",
};

static const struct known {
	const char *path;
	unsigned lines;
} known[] = {
	{"bpf/kernel_offsets.c", 2},
	{"bpf/kernel_offsets.h", 1},
	{"code/body.h", 2},
	{"code/cfg.h", 2},
	{"code/cfg_step.c", 1},
	{"code/cfg_step.h", 2},
	{"code/flow.h", 1},
	{"code/place.h", 2},
	{"code/values.h", 2},
	{"compile/headers.c", 1},
	{"compile/source_fragments.c", 1},
	{"compile/source_sites.c", 1},
	{"elf/usdt_args.h", 2},
	{"plan/returns.c", 3},
	{"plan/returns.h", 7},
	{"plan/site.c", 1},
	{"trace/usdt_record.c", 1},
};

#define KNOWN_COUNT (sizeof(known) / sizeof(*known))

static unsigned found[KNOWN_COUNT];

static bool is_of_word(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

static bool has_word(const char *line, const char *word)
{
	size_t length = strlen(word);
	bool is_prefix = word[length - 1] == '_' && word[length - 2] != '_';

	for (const char *at = line; (at = strstr(at, word)); at += length) {
		if ((at == line || !is_of_word(at[-1])) &&
		    (is_prefix || !is_of_word(at[length])))
			return true;
	}
	return false;
}

static unsigned lines_of(const char *path)
{
	FILE *file = fopen(path, "re");
	char line[1024];
	unsigned lines = 0;

	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		bool has = false;

		for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
			has |= has_word(line, words[i]);
		lines += has;
	}
	fclose(file);
	return lines;
}

static void check_file(const char *path, const char *name)
{
	unsigned lines = lines_of(path);

	if (!lines)
		return;
	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		if (strcmp(known[i].path, name) != 0)
			continue;
		found[i] = lines;
		if (lines > known[i].lines)
			CHECK_FAIL("%s: %u lines name things of x86-64, %u are known: "
				   "put them into src/arch/",
				   name, lines, known[i].lines);
		if (lines < known[i].lines)
			CHECK_FAIL("%s: %u lines are left, correct the list", name,
				   lines);
		return;
	}
	CHECK_FAIL("%s: %u lines name things of x86-64: put them into src/arch/", name,
		   lines);
}

static void check_folder(const char *path, const char *name)
{
	DIR *dir = opendir(path);
	struct dirent *entry;

	REQUIRE(dir);
	while ((entry = readdir(dir))) {
		const char *ending = strrchr(entry->d_name, '.');
		char below[1024], its_name[1024];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(below, sizeof(below), "%s/%s", path, entry->d_name);
		snprintf(its_name, sizeof(its_name), "%s%s%s", name, *name ? "/" : "",
			 entry->d_name);
		if (entry->d_type == DT_DIR && strcmp(its_name, "arch") != 0)
			check_folder(below, its_name);
		else if (ending && (!strcmp(ending, ".c") || !strcmp(ending, ".h")))
			check_file(below, its_name);
	}
	closedir(dir);
}

static void only_known_files_know_the_processor(void)
{
	check_folder(SOURCE_DIR "/src", "");
	for (size_t i = 0; i < KNOWN_COUNT; i++) {
		check_state.checks++;
		if (!found[i])
			CHECK_FAIL("%s: no line is left, remove it from the list",
				   known[i].path);
	}
}

/* --- bytes of instructions --------------------------------------------------------- */

/* Rooms that read the memory or the code of programs. */
static const char *const readers[] = {
	"allocator",   "attach", "code",    "dwarf", "elf",
	"kernel_heap", "plan",   "process", "reach", "symbol",
	"tracees",     "unwind", "trace",   "drain", "unwind_miss",
};

/* Their files that have bytes of other things. */
static const struct other {
	const char *path, *bytes;
} others[] = {
	{"dwarf/split_form.c", "LEB128"},
	{"elf/go_table.c", "LEB128"},
	{"unwind/cfi_entry.c", "encodings of pointers"},
	{"unwind/cfi_index.c", "encodings of pointers"},
	{"unwind/cfi_row.c", "opcodes of DWARF"},
	{"unwind/cursor.h", "LEB128"},
	{"unwind/dwarf_codes.h", "opcodes of DWARF"},
};

/* Two hexadecimal digits after "0x" or "\\x", and no third one. 0xff is a mask, or stands
 * for nothing. */
static bool has_byte(const char *code)
{
	for (const char *at = code; (at = strchr(at, 'x')); at++) {
		bool begins =
			at != code &&
			(at[-1] == '\\' ||
			 (at[-1] == '0' && (at - 1 == code || !is_of_word(at[-2]))));

		if (begins && isxdigit((unsigned char)at[1]) &&
		    isxdigit((unsigned char)at[2]) &&
		    (at[-1] == '\\' || !is_of_word(at[3])) && strncmp(at, "xff", 3) != 0)
			return true;
	}
	return false;
}

/* Replace comments by spaces. `*in_comment` goes on from line to line. */
static void remove_comments(char *line, bool *in_comment)
{
	for (char *at = line; *at; at++) {
		if (!*in_comment && !strncmp(at, "//", 2)) {
			*at = '\0';
			return;
		}
		if (!*in_comment && !strncmp(at, "/*", 2))
			*in_comment = true;
		if (*in_comment) {
			*in_comment = strncmp(at, "*/", 2) != 0;
			if (!*in_comment)
				*at++ = ' ';
			*at = ' ';
		}
	}
}

static const char *other_bytes(const char *name)
{
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		if (!strcmp(others[i].path, name))
			return others[i].bytes;
	return NULL;
}

static void check_bytes(const char *name)
{
	char path[1024], line[1024];
	bool in_comment = false;
	unsigned number = 0, count = 0;
	FILE *file;

	snprintf(path, sizeof(path), SOURCE_DIR "/src/%s", name);
	file = fopen(path, "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file)) {
		number++;
		remove_comments(line, &in_comment);
		if (!has_byte(line))
			continue;
		count++;
		check_state.checks++;
		if (!other_bytes(name))
			CHECK_FAIL("%s:%u: a byte of code belongs into src/arch/", name,
				   number);
	}
	fclose(file);
	if (other_bytes(name) && !count)
		CHECK_FAIL("%s: has no bytes, remove it from the list", name);
}

static void bytes_of_code_are_known_in_arch_only(void)
{
	unsigned files = 0;

	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		char path[512], name[400];
		struct dirent *entry;
		DIR *dir;

		snprintf(path, sizeof(path), SOURCE_DIR "/src/%s", readers[i]);
		dir = opendir(path);
		REQUIRE(dir);
		while ((entry = readdir(dir))) {
			if (entry->d_type != DT_REG)
				continue;
			snprintf(name, sizeof(name), "%s/%s", readers[i], entry->d_name);
			check_bytes(name);
			files++;
		}
		closedir(dir);
	}
	CHECK(files > 200);
	CHECK(has_byte("if (code[0] == 0xe8)") && has_byte("\"\\x48\\x89\""));
	CHECK(!has_byte("0x1234") && !has_byte("memset(p, 0xff, 4)"));
}

int main(void)
{
	RUN(bytes_of_code_are_known_in_arch_only);
	RUN(only_known_files_know_the_processor);
	return check_done();
}
