// SPDX-License-Identifier: Apache-2.0
/* What knows the processor is in src/arch/. Other files that know something of x86-64 are
 * listed here, with the number of their lines that do; the list must become shorter. */
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
	{"elf/usdt_args.c", 4},
	{"elf/usdt_args.h", 2},
	{"plan/returns.c", 3},
	{"plan/returns.h", 7},
	{"plan/site.c", 1},
	{"trace/usdt_record.c", 1},
	{"unwind/go_rows.c", 2},
	{"unwind/kept_bp.c", 1},
	{"unwind/kept_bp.h", 3},
	{"unwind/stack_switch.c", 5},
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

int main(void)
{
	RUN(only_known_files_know_the_processor);
	return check_done();
}
