/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes that map damaged files. memtrace refuses such a file with one line if --lib
 * names it. Otherwise it ignores the file and traces the good ones. Also processes that
 * end while memtrace inspects them.
 */
#include <elf.h>
#include <signal.h>
#include <stddef.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"
#include "unit/elf/elf_builder.h"

#if defined(__x86_64__)
#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"
#elif defined(__aarch64__)
#define LIBRARIES "/usr/lib/aarch64-linux-gnu/"
#endif

#define TIMEOUT_S 30

static struct probes *probes_before;

static void check_one_line(const char *what, const char *text)
{
	const char *end = strchr(text, '\n');

	check_state.checks++;
	if (!end || end[1] || strncmp(text, "memtrace: ", 10))
		CHECK_FAIL("%s: not one line: %s", what, text);
}

/* --- the files --------------------------------------------------------------------- */

static const struct built_symbol allocator[] = {
	{"malloc", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
	{"free", STB_GLOBAL, STT_FUNC, 0, 0x210, true},
};

/* Writes `size` bytes at `field` of the ELF header, of section header number `section`,
 * or of the first program header. */
struct damage {
	const char *name;
	enum {
		HEADER,
		SECTION,
		SEGMENT
	} in;
	int section;
	size_t field, size;
	uint64_t value;
	const char *culprit; /* text that the message must contain, besides the path;
			      * NULL: any */
};

#define EHDR(f)    HEADER, 0, offsetof(Elf64_Ehdr, f), sizeof(((Elf64_Ehdr *)0)->f)
#define SHDR(n, f) SECTION, n, offsetof(Elf64_Shdr, f), sizeof(((Elf64_Shdr *)0)->f)
#define PHDR(f)    SEGMENT, 0, offsetof(Elf64_Phdr, f), sizeof(((Elf64_Phdr *)0)->f)

static const struct damage damages[] = {
	{"aarch64", EHDR(e_machine), EM_AARCH64, "aarch64"},
	{"riscv", EHDR(e_machine), EM_RISCV, NULL},
	{"big_endian", HEADER, 0, EI_DATA, 1, ELFDATA2MSB, NULL},
	{"class32", HEADER, 0, EI_CLASS, 1, ELFCLASS32, "32-bit"},
	{"class9", HEADER, 0, EI_CLASS, 1, 9, NULL},
	{"version", HEADER, 0, EI_VERSION, 1, 99, NULL},
	{"no_magic", HEADER, 0, 0, 4, 0, "ELF"},
	{"sections_past_end", EHDR(e_shoff), (uint64_t)1 << 40, NULL},
	{"sections_wrap", EHDR(e_shoff), UINT64_MAX - 16, NULL},
	{"sections_many", EHDR(e_shnum), 0xfffe, NULL},
	{"sections_size_0", EHDR(e_shentsize), 0, NULL},
	{"segments_past_end", EHDR(e_phoff), (uint64_t)1 << 40, NULL},
	{"segments_many", EHDR(e_phnum), 0xfffe, NULL},
	{"segment_elsewhere", PHDR(p_offset), (uint64_t)1 << 50, NULL},
	{"symbols_entry_0", SHDR(BUILT_DYNSYM, sh_entsize), 0, NULL},
	{"symbols_huge", SHDR(BUILT_DYNSYM, sh_size), (uint64_t)1 << 40, NULL},
	{"symbols_wrap", SHDR(BUILT_DYNSYM, sh_offset), UINT64_MAX - 4, NULL},
	{"symbols_of_themselves", SHDR(BUILT_DYNSYM, sh_link), BUILT_DYNSYM, NULL},
	{"symbols_of_nothing", SHDR(BUILT_DYNSYM, sh_link), 77, NULL},
	{"versions_elsewhere", SHDR(BUILT_VERSYM, sh_offset), 1 << 20, NULL},
	{"names_nowhere", SHDR(BUILT_STRTAB, sh_type), SHT_NOBITS, NULL},
	{"names_huge", SHDR(BUILT_STRTAB, sh_size), (uint64_t)1 << 62, NULL},
};

#define DAMAGES (sizeof(damages) / sizeof(damages[0]))

static void write_damaged(const char *path, const struct damage *damage)
{
	static struct built_image image;
	Elf64_Ehdr header;
	size_t at = 0;

	built_make(&image, allocator, 2);
	memcpy(&header, image.bytes, sizeof(header));
	if (damage->in == SECTION)
		at = header.e_shoff + (size_t)damage->section * sizeof(Elf64_Shdr);
	if (damage->in == SEGMENT)
		at = header.e_phoff;
	memcpy(image.bytes + at + damage->field, &damage->value, damage->size);
	built_write(path, image.bytes, image.size);
}

static void write_text(const char *path, const char *text)
{
	built_write(path, text, strlen(text));
}

static void copy_part(const char *from, const char *to, size_t size)
{
	FILE *in = fopen(from, "re");
	char *bytes = malloc(size);

	REQUIRE(in && bytes);
	REQUIRE(fread(bytes, 1, size, in) == size);
	built_write(to, bytes, size);
	free(bytes);
	fclose(in);
}

/* --- the checks -------------------------------------------------------------------- */

static struct live_process *map(const char *path)
{
	const char *const argv[] = {MAPPER_BINARY, path, NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);

	if (!ready)
		live_fail("%s did not start: %s", MAPPER_BINARY, live_stderr(target));
	json_decref(ready);
	return target;
}

static void check_refused(struct live_process *target, const char *path,
			  const char *culprit)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(target));

	const char *const argv[] = {memtrace_path, "--pid", pid, "--lib", path, NULL};
	struct live_process *memtrace = live_start(argv);

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	check_one_line(path, live_stderr(memtrace));
	CHECK_CONTAINS(live_stderr(memtrace), strrchr(path, '/') + 1);
	if (culprit)
		CHECK_CONTAINS(live_stderr(memtrace), culprit);
	live_destroy(memtrace);
	CHECK(live_is_running(target));
}

/* memtrace must trace the libc in the same process. */
static void check_ignored(struct live_process *target)
{
	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	oracle_do(target, "work");

	json_t *report = memtrace_stop(memtrace);
	struct site_sum sum = report_site(report, "heap", "site_mapper");

	CHECK_INT(sum.blocks, 100);
	CHECK_INT(sum.bytes, 6400);
	CHECK_INT(live_int(report, "heap.live_blocks"), 100);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
	CHECK(live_is_running(target));
}

static void no_elf_files(void)
{
	char *text = live_path("text"), *empty = live_path("empty");
	char *magic = live_path("magic");

	write_text(text, "This is not a program, however long it is.\n");
	write_text(empty, "");
	write_text(magic, "\177ELF");

	struct live_process *target = map(text);

	check_refused(target, text, "ELF");
	/* Files that exist but that the process has not mapped. */
	check_refused(target, empty, "does not map");
	check_refused(target, "/etc/passwd", "does not map");
	check_ignored(target);
	live_destroy(target);

	target = map(empty);
	check_refused(target, empty, NULL);
	check_ignored(target);
	live_destroy(target);

	target = map(magic);
	check_refused(target, magic, NULL);
	check_ignored(target);
	live_destroy(target);
	free(text);
	free(empty);
	free(magic);
}

/* A valid library that defines no allocation function. */
static void a_library_without_an_allocator(void)
{
	char *path = live_path("none.so");
	static const struct built_symbol others[] = {
		{"sin", STB_GLOBAL, STT_FUNC, 1, 0x200, false},
		{"mallo", STB_GLOBAL, STT_FUNC, 1, 0x210, false},
		{"malloc", STB_GLOBAL, STT_FUNC, 0, 0, false}, /* undefined */
	};

	built_file(path, others, 3);

	struct live_process *target = map(path);

	check_refused(target, path, "does not define malloc and free");
	check_ignored(target);
	live_destroy(target);
	free(path);
}

static void damaged_files(void)
{
	for (size_t i = 0; i < DAMAGES; i++) {
		unsigned before = check_state.failures;
		char *path = live_path(damages[i].name);

		write_damaged(path, &damages[i]);

		struct live_process *target = map(path);

		check_refused(target, path, damages[i].culprit);
		/* An attach takes half a second: every fourth file is enough for the
		 * search of all files. */
		if (i % 4 == 0)
			check_ignored(target);
		if (check_state.failures != before)
			printf("     in %s\n", damages[i].name);
		live_destroy(target);
		free(path);
	}
	CHECK(probes_gone(probes_before));
}

/* Files that are truncated after they were mapped: reading them must not raise SIGBUS. */
static void truncated_files(void)
{
	static const size_t sizes[] = {0, 1, 63, 64, 1000, 4096, 100000};
	char *path = live_path("truncated.so");

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		copy_part(LIBRARIES "libc.so.6", path, 1 << 20);

		struct live_process *target = map(path);

		REQUIRE(!truncate(path, (off_t)sizes[i]));
		check_refused(target, path, NULL);
		if (i % 3 == 0)
			check_ignored(target);
		live_destroy(target);
		REQUIRE(!unlink(path));
	}
	free(path);
}

/* Damaged programs. The kernel executes them: it reads no section headers. */
static void damaged_programs(void)
{
	for (size_t i = 0; i < DAMAGES; i++) {
		if (damages[i].in != SECTION && strncmp(damages[i].name, "sections_", 9))
			continue;

		char *path = live_path("program");

		write_damaged(path, &damages[i]);

		const char *const argv[] = {path, NULL};
		struct live_process *target = live_start(argv);

		live_sleep(0.1);
		if (!live_is_running(target)) {
			CHECK_NOT_FOR_KERNEL("it does not run %s", damages[i].name);
		} else {
			struct live_process *memtrace =
				memtrace_start_plain(live_pid(target), "");

			CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
			check_one_line(damages[i].name, live_stderr(memtrace));
			live_destroy(memtrace);
			CHECK(live_is_running(target));
		}
		live_destroy(target);
		REQUIRE(!unlink(path));
		free(path);
	}
}

/* --- processes that end ------------------------------------------------------------ */

/* Kills the target after `delay_s`, while memtrace inspects it, compiles, attaches or
 * traces. True if memtrace had not attached yet. */
static bool ends_after(double delay_s, const char *options)
{
	struct live_process *target = oracle_start();
	struct live_process *memtrace = memtrace_start_plain(live_pid(target), options);

	live_sleep(delay_s);
	live_signal(target, SIGKILL);
	CHECK_INT(live_wait(target, TIMEOUT_S), 128 + SIGKILL);

	int status = live_wait(memtrace, TIMEOUT_S);
	const char *text = live_stderr(memtrace);

	if (status) {
		CHECK_INT(status, 1);
		check_one_line("exit during the attach", text);
	} else {
		/* The probes were attached: memtrace reports what it saw. */
		CHECK_CONTAINS(text, "tracing pid");
	}
	/* The target was reaped: not even a zombie is left. */
	if (status && !strstr(options, "perf"))
		CHECK(strstr(text, "exited") || strstr(text, "no process has the pid"));
	live_destroy(memtrace);
	live_destroy(target);
	return status != 0;
}

static void processes_that_end_during_the_attach(void)
{
	unsigned refused = 0, tries = 0;

	for (double delay_s = 0; delay_s < 0.7; delay_s += 0.04, tries++)
		refused += ends_after(delay_s, "");
	for (double delay_s = 0; delay_s < 0.7; delay_s += 0.2, tries++)
		refused += ends_after(delay_s, "--attach perf --mappings");
	printf("     %u of %u ended before the probes stood\n", refused, tries);
	CHECK(refused > 0);
	CHECK(!ends_after(5, ""));
	CHECK(probes_gone(probes_before));
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(no_elf_files);
	RUN(a_library_without_an_allocator);
	RUN(damaged_files);
	RUN(truncated_files);
	RUN(damaged_programs);
	RUN(processes_that_end_during_the_attach);
	probes_destroy(probes_before);
	return check_done();
}
