// SPDX-License-Identifier: Apache-2.0
/* Processes with very many mappings, very many files and very large symbol tables: the
 * resources of the child that reads symbols, and the messages about what it leaves
 * out. */
#include "check.h"
#include "descriptors.h"

#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "large_elf.h"
#include "dwarf/lines.h"
#include "symbol/code_maps.h"
#include "symbol/reader.h"
#include "unit/process/child.h"
#include "util/cleanup.h"

#define PAGE 4096

__attribute__((noinline)) static int huge_test_function(int n)
{
	return n * 7 + getpid() % 3;
}

static char work_dir[] = "/tmp/memtrace-huge-XXXXXX";

/* Addresses at which the target has mapped something. The target fills it before it
 * waits. */
static uintptr_t *mapped;

static uintptr_t own_address(void)
{
	return (uintptr_t)huge_test_function + 3;
}

/* --- the reader -------------------------------------------------------------------- */

static char warned[512];
static unsigned warnings;

static void hear(void *arg, const char *text)
{
	(void)arg;
	warnings++;
	snprintf(warned, sizeof(warned), "%s", text);
}

/* A target, and a reader for its symbols. */
struct scene {
	struct child target;
	struct proc *proc;
	struct reader *reader;
	struct symbolizer *symbolizer;
	int child; /* pid of the reader's first child */
};

static struct scene begin(void (*body)(void *), void *arg, bool no_lines)
{
	const struct reader_options options = {.names = {.no_lines = no_lines},
					       .warn = hear};
	struct scene scene = {.target = child_fork(body, arg)};

	warnings = 0;
	warned[0] = '\0';
	REQUIRE(!proc_open(scene.target.pid, &scene.proc));
	REQUIRE(!reader_create(&options, &scene.reader));
	scene.child = reader_pid(scene.reader);
	REQUIRE(!reader_symbolizer_create(scene.reader, scene.proc, &scene.symbolizer));
	return scene;
}

static void end(struct scene *scene)
{
	/* The child must still be the first one. */
	CHECK_INT(reader_pid(scene->reader), scene->child);
	symbolizer_destroy(scene->symbolizer);
	reader_destroy(scene->reader);
	proc_close(scene->proc);
	child_end(&scene->target);
}

static void check_name(const struct scene *scene, uintptr_t address, const char *name)
{
	struct symbol symbol;

	REQUIRE(!scene->symbolizer->ops->resolve(scene->symbolizer, address, &symbol));
	if (name)
		CHECK_STR(symbol.name, name);
	else
		CHECK(!symbol.name);
	symbol_deinit(&symbol);
}

/* A number from /proc/PID/status of the reader's child. */
static long child_status(const struct scene *scene, const char *key)
{
	_cleanup_(fclosep) FILE *file = NULL;
	char path[64], line[256];
	long number = -1;

	snprintf(path, sizeof(path), "/proc/%d/status", scene->child);
	file = fopen(path, "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, key, strlen(key)))
			number = strtol(line + strlen(key), NULL, 10);
	REQUIRE(number >= 0);
	return number;
}

/* --- mappings ---------------------------------------------------------------------- */

#define MAPPINGS 60000

/* The offset of the page of this program that contains own_address(). */
static uintptr_t own_page(void)
{
	extern const char __executable_start[];

	return (own_address() - (uintptr_t)__executable_start) & ~(uintptr_t)(PAGE - 1);
}

/* Maps the page of this program that contains own_address() many times. Between two such
 * mappings is another page, so that the kernel does not merge them. */
static void map_itself(void *arg)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uintptr_t offset = own_page();

	(void)arg;
	for (int i = 0; i < MAPPINGS; i++)
		mapped[i] =
			(uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE,
					fd, (off_t)offset + (i % 2 ? 2 * PAGE : 0));
}

/* A child whose system calls are answered by another process sleeps at each of them: the
 * number of its sleeps is an upper bound of their number. */
static void many_mappings_of_one_file(void)
{
	struct scene scene = begin(map_itself, NULL, false);
	uintptr_t in_page = own_address() & (PAGE - 1);

	REQUIRE(mapped[MAPPINGS - 1] && mapped[MAPPINGS - 1] != (uintptr_t)MAP_FAILED);
	check_name(&scene, own_address(), "huge_test_function");
	check_name(&scene, mapped[0] + in_page, "huge_test_function");
	check_name(&scene, mapped[MAPPINGS - 2] + in_page, "huge_test_function");
	CHECK(child_status(&scene, "voluntary_ctxt_switches:") < 3000);
	CHECK(count_descriptors(scene.child) < 200);
	CHECK_INT(warnings, 0);
	end(&scene);
}

/* Maps each page of a large file once. */
static void map_pages(void *arg)
{
	_cleanup_(closep) int fd = -1;
	char path[64];

	(void)arg;
	snprintf(path, sizeof(path), "%s/pages", work_dir);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	if (ftruncate(fd, (off_t)2 * MAPPINGS * PAGE))
		_exit(1);
	for (int i = 0; i < MAPPINGS; i++)
		mapped[i] = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
					    MAP_PRIVATE, fd, (off_t)2 * i * PAGE);
}

static void many_mappings_of_many_pages(void)
{
	struct scene scene = begin(map_pages, NULL, true);

	check_name(&scene, own_address(), "huge_test_function");
	for (int i = 0; i < 3; i++)
		(void)scene.symbolizer->ops->mappings_changed(scene.symbolizer);
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "of its mappings have no function names");
	end(&scene);
}

/* The line finder alone, in this process: the time after a change of the mappings must be
 * proportional to their number. Compared with the time for reading them. */
static void time_in_proportion(void)
{
	const struct line_options options = {.debug_dirs = NULL};
	struct child target = child_fork(map_itself, NULL);
	struct line_finder *finder;
	double reading_s, looking_s, start_s;
	struct source_frames frames;
	struct proc_maps maps;
	struct proc *proc;

	REQUIRE(!proc_open(target.pid, &proc));
	start_s = check_cpu_s();
	for (int i = 0; i < 4; i++) {
		REQUIRE(!proc_read_maps(proc, &maps));
		proc_maps_deinit(&maps);
	}
	reading_s = check_cpu_s() - start_s;
	start_s = check_cpu_s();
	REQUIRE(!line_finder_create(proc, &options, &finder));
	CHECK_INT(line_finder_left_out(finder), 0);
	for (int i = 0; i < 4; i++)
		line_finder_mappings_changed(finder);
	for (int i = 0; i < MAPPINGS; i++) {
		REQUIRE(!line_finder_find(finder, mapped[i], &frames));
		source_frames_deinit(&frames);
	}
	looking_s = check_cpu_s() - start_s;
	printf("     %.3f s to read the mappings, %.3f s to look at them\n", reading_s,
	       looking_s);
	CHECK(looking_s < 6 * reading_s);
	line_finder_destroy(finder);
	proc_close(proc);
	child_end(&target);
}

/* --- paths ------------------------------------------------------------------------- */

static void copy_itself(int to)
{
	_cleanup_(closep) int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct stat st;

	if (fstat(fd, &st) ||
	    sendfile(to, fd, &(off_t){0}, (size_t)st.st_size) != st.st_size)
		_exit(1);
}

/* Maps a copy of this program whose path is longer than PATH_MAX. */
static void map_deep_file(void *arg)
{
	_cleanup_(closep) int fd = -1;
	char folder[251];

	(void)arg;
	memset(folder, 'd', sizeof(folder) - 1);
	folder[sizeof(folder) - 1] = '\0';
	if (chdir(work_dir))
		_exit(1);
	for (int i = 0; i < 20; i++)
		if (mkdir(folder, 0700) || chdir(folder))
			_exit(1);
	fd = open("deep", O_RDWR | O_CREAT | O_CLOEXEC, 0700);
	copy_itself(fd);
	mapped[0] = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				    (off_t)own_page());
}

/* libbcc would write such a path beyond its buffer: it must not get it. */
static void path_longer_than_path_max(void)
{
	_cleanup_(strbuf_deinit) struct strbuf shown = {0};
	struct scene scene = begin(map_deep_file, NULL, true);
	struct maps_text text;
	struct code_maps maps;
	struct symbol symbol;

	check_name(&scene, own_address(), "huge_test_function");
	REQUIRE(!scene.symbolizer->ops->resolve(
		scene.symbolizer, mapped[0] + (own_address() & (PAGE - 1)), &symbol));
	CHECK_STR(symbol.name, "huge_test_function");
	CHECK(symbol.module && strlen(symbol.module) > PATH_MAX);
	symbol_deinit(&symbol);
	CHECK_INT(warnings, 0);
	REQUIRE(!code_maps_read(scene.target.pid, &maps, &text));
	code_maps_put_shown(&maps, &shown);
	CHECK(strstr(strbuf_text(&shown), "/test_unit_symbol_huge_targets\n"));
	CHECK(!strstr(strbuf_text(&shown), "/deep\n"));
	code_maps_deinit(&maps);
	free(text.text);
	end(&scene);
}

#define IN_MEMORY 200

static void map_memory_files(void *arg)
{
	(void)arg;
	for (int i = 0; i < IN_MEMORY; i++) {
		int fd = memfd_create("code", MFD_CLOEXEC);

		copy_itself(fd);
		mapped[i] = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
					    MAP_PRIVATE, fd, (off_t)own_page());
	}
}

/* For each file in memory libbcc would look at each descriptor of the process. */
static void files_in_memory(void)
{
	struct scene scene = begin(map_memory_files, NULL, true);
	struct symbol symbol;

	check_name(&scene, own_address(), "huge_test_function");
	REQUIRE(!scene.symbolizer->ops->resolve(
		scene.symbolizer, mapped[IN_MEMORY - 1] + (own_address() & (PAGE - 1)),
		&symbol));
	CHECK_STR(symbol.name, "huge_test_function");
	CHECK_STR(symbol.module, "/memfd:code (deleted)");
	symbol_deinit(&symbol);
	CHECK(child_status(&scene, "voluntary_ctxt_switches:") < 3000);
	CHECK_INT(warnings, 0);
	end(&scene);
}

/* --- files ------------------------------------------------------------------------- */

#define FILES   3000
#define CHANGES 2

/* Maps one more file. */
static void map_again(int number)
{
	static int done;

	(void)number;
	mapped[FILES + done] = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC,
					       MAP_PRIVATE, STDIN_FILENO, 0);
	done++;
}

/* Maps a new file that begins like an ELF file. */
static int map_file(const char *path, uintptr_t *ret)
{
	const Elf64_Ehdr header = {
		.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = EM_X86_64,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header)};
	int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0700);

	if (write(fd, &header, sizeof(header)) != sizeof(header) || ftruncate(fd, PAGE))
		_exit(1);
	*ret = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
	return fd;
}

static void map_files(void *arg)
{
	(void)arg;
	for (int i = 0; i < FILES; i++) {
		_cleanup_(closep) int fd = -1;
		char path[64];

		snprintf(path, sizeof(path), "%s/%d", work_dir, i);
		fd = map_file(path, &mapped[i]);
		dup2(fd, STDIN_FILENO);
	}
	memset(mapped + FILES, 0, CHANGES * sizeof(*mapped));
	signal(SIGUSR1, map_again);
}

static void change_mappings(const struct scene *scene, int change)
{
	volatile uintptr_t *added = &mapped[FILES + change];

	REQUIRE(!kill(scene->target.pid, SIGUSR1));
	for (int i = 0; i < 5000 && !*added; i++)
		usleep(2000);
	REQUIRE(*added && *added != (uintptr_t)MAP_FAILED);
}

static void more_files_than_are_opened(void)
{
	struct scene scene = begin(map_files, NULL, false);

	check_name(&scene, own_address(), "huge_test_function");
	/* 1,024 files for symbols, 256 of them twice, and 1,024 for lines. */
	CHECK(count_descriptors(scene.child) < 2400);
	/* Earlier mappings are kept, but not with all of their descriptors. */
	for (int i = 0; i < CHANGES; i++) {
		change_mappings(&scene, i);
		CHECK(scene.symbolizer->ops->mappings_changed(scene.symbolizer));
	}
	CHECK(count_descriptors(scene.child) < 3200);
	check_name(&scene, own_address(), "huge_test_function");
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "of its mappings have no function names");
	end(&scene);
}

#define DELETED 400

/* Files that no path leads to. */
static void map_deleted_files(void *arg)
{
	char path[64];

	(void)arg;
	snprintf(path, sizeof(path), "%s/deleted", work_dir);
	for (int i = 0; i < DELETED; i++) {
		int fd = map_file(path, &mapped[i]);

		if (unlink(path) || close(fd))
			_exit(1);
	}
}

/* They are opened by their mappings: 256 of them. */
static void more_files_than_are_opened_by_mappings(void)
{
	struct scene scene = begin(map_deleted_files, NULL, false);

	check_name(&scene, own_address(), "huge_test_function");
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "144 of its mappings have no function names");
	end(&scene);
}

/* --- symbol tables ----------------------------------------------------------------- */

static void map_library(void *arg)
{
	_cleanup_(closep) int fd = open(arg, O_RDONLY | O_CLOEXEC);

	mapped[0] = (uintptr_t)mmap(NULL, PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				    LARGE_ELF_TEXT);
}

/* The table is a hole with one symbol, so that it takes no disk space. */
static void symbol_table_of_2_gib(void)
{
	char path[64];
	struct scene scene;

	snprintf(path, sizeof(path), "%s/large.so", work_dir);
	close(large_elf_make(path, ((uint64_t)2 << 30) / sizeof(Elf64_Sym)));
	scene = begin(map_library, path, false);
	check_name(&scene, mapped[0] + 3, NULL);
	check_name(&scene, own_address(), "huge_test_function");
	printf("     at most %ld MiB\n", child_status(&scene, "VmHWM:") >> 10);
	CHECK(child_status(&scene, "VmHWM:") < 1 << 20);
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "large.so");
	CHECK_CONTAINS(warned, "symbol tables of more than 256 MiB");
	end(&scene);
}

/* Large, but not too large: a million symbols with different names. */
static void a_million_symbols(void)
{
	enum {
		symbols = 1000000,
		name_bytes = 16
	};
	Elf64_Sym *table = calloc(symbols, sizeof(*table));
	char *names = calloc(symbols, name_bytes), path[64];
	struct scene scene;
	int fd;

	REQUIRE(table && names);
	for (int i = 2; i < symbols; i++) {
		snprintf(names + (size_t)i * name_bytes, name_bytes, "function%d", i);
		table[i] = (Elf64_Sym){
			.st_name = (Elf64_Word)(0x100 + i * name_bytes),
			.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC),
			.st_shndx = LARGE_ELF_TEXT_SECTION,
			.st_value = LARGE_ELF_TEXT + (Elf64_Addr)i * 64,
			.st_size = 64,
		};
	}
	snprintf(path, sizeof(path), "%s/million.so", work_dir);
	fd = large_elf_make(path, symbols);
	REQUIRE(pwrite(fd, names, (size_t)symbols * name_bytes,
		       LARGE_ELF_STRINGS + 0x100) == (ssize_t)symbols * name_bytes);
	REQUIRE(pwrite(fd, table + 2, (symbols - 2) * sizeof(*table),
		       LARGE_ELF_TABLE + 2 * (off_t)sizeof(*table)) ==
		(ssize_t)((symbols - 2) * sizeof(*table)));
	close(fd);
	free(table);
	free(names);
	scene = begin(map_library, path, false);
	check_name(&scene, mapped[0] + 3, LARGE_ELF_NAME);
	check_name(&scene, mapped[0] + 40 * 64, "function40");
	printf("     at most %ld MiB\n", child_status(&scene, "VmHWM:") >> 10);
	CHECK(child_status(&scene, "VmHWM:") < 1 << 20);
	CHECK_INT(warnings, 0);
	end(&scene);
}

int main(void)
{
	char command[128];

	mapped = mmap(NULL, MAPPINGS * sizeof(*mapped), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(mapped != MAP_FAILED);
	REQUIRE(mkdtemp(work_dir));
	RUN(many_mappings_of_one_file);
	RUN(many_mappings_of_many_pages);
	RUN(time_in_proportion);
	RUN(path_longer_than_path_max);
	RUN(files_in_memory);
	RUN(more_files_than_are_opened);
	RUN(more_files_than_are_opened_by_mappings);
	RUN(symbol_table_of_2_gib);
	RUN(a_million_symbols);
	snprintf(command, sizeof(command), "rm -rf %s", work_dir);
	CHECK(system(command) == 0);
	return check_done();
}
