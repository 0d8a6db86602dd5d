// SPDX-License-Identifier: Apache-2.0
/* Debug files of generated files: which are accepted and which are refused. */
#include "check.h"

#include <grp.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "process/debug_file.h"
#include "util/cleanup.h"
#include "unit/process/child.h"
#include "unit/elf/elf_builder.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct proc *, proc_close);

static const struct built_symbol symbols[] = {
	{"malloc", STB_GLOBAL, STT_FUNC, 0, 0x200, true},
	{"_rjem_free", STB_LOCAL, STT_FUNC, 0, 0x210, true},
};

/* The section's name is in the string table of symbols. */
static const struct built_symbol link_name[] = {
	{".gnu_debuglink", STB_GLOBAL, STT_FUNC, 0, 0, true},
};

static Elf64_Ehdr *header_of(struct built_image *image)
{
	return (Elf64_Ehdr *)(void *)image->bytes;
}

static Elf64_Shdr *sections_of(struct built_image *image)
{
	return (Elf64_Shdr *)(void *)(image->bytes + header_of(image)->e_shoff);
}

static Elf64_Phdr *segments_of(struct built_image *image)
{
	return (Elf64_Phdr *)(void *)(image->bytes + header_of(image)->e_phoff);
}

/* Changes the build-id to a note of another type. */
static void remove_build_id(struct built_image *image)
{
	Elf64_Nhdr *note =
		(Elf64_Nhdr *)(void *)(image->bytes + segments_of(image)[1].p_offset);

	note->n_type = NT_GNU_ABI_TAG;
}

/* A file that has no symbol table and names its debug file. */
static void make_stripped(struct built_image *image, const char *link, uint32_t checksum)
{
	size_t length = (strlen(link) + 4) & ~(size_t)3;
	char data[64] = "";

	REQUIRE(length + 4 <= sizeof(data));
	memcpy(data, link, strlen(link));
	memcpy(data + length, &checksum, sizeof(checksum));
	built_make(image, link_name, 1);

	size_t sections_at = header_of(image)->e_shoff;
	size_t at = built_append(image, data, length + 4);
	Elf64_Shdr *sections = (Elf64_Shdr *)(void *)(image->bytes + sections_at);

	/* The string table begins with a NUL, then comes the only name. */
	sections[BUILT_VERSYM] = (Elf64_Shdr){.sh_name = 1,
					      .sh_type = SHT_PROGBITS,
					      .sh_offset = at,
					      .sh_size = length + 4,
					      .sh_addralign = 4};
	sections[BUILT_SYMTAB].sh_type = SHT_NULL;
	header_of(image)->e_shstrndx = BUILT_STRTAB;
}

/* Like the output of objcopy --only-keep-debug: the segments' contents are missing. */
static void make_debug(struct built_image *image)
{
	built_make(image, symbols, 2);

	Elf64_Phdr *segments = segments_of(image);
	Elf64_Shdr *sections = sections_of(image);

	sections[BUILT_DYNSYM] = (Elf64_Shdr){.sh_type = SHT_NOTE,
					      .sh_offset = segments[1].p_offset,
					      .sh_size = segments[1].p_filesz,
					      .sh_addralign = 4};
	sections[BUILT_VERSYM].sh_type = SHT_NULL;
	segments[0].p_offset = 0x100;
	segments[0].p_filesz = 0;
	segments[1].p_offset = 0x10;
}

/* CRC-32, bit by bit. */
static uint32_t crc32_of(const unsigned char *bytes, size_t size)
{
	uint32_t crc = UINT32_MAX;

	for (size_t i = 0; i < size; i++) {
		crc ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 1 ? crc >> 1 ^ 0xedb88320 : crc >> 1;
	}
	return ~crc;
}

/* Writes both files and searches for the second one from the first one. */
/* This process as a target. */
static struct proc *own_proc(void)
{
	struct proc *proc;

	REQUIRE(!proc_adopt(getpid(), (int)syscall(SYS_pidfd_open, getpid(), 0), &proc));
	return proc;
}

static bool is_found(const struct built_image *stripped, const struct built_image *debug,
		     const char *debug_name)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	static const char *const names[] = {"malloc", "_rjem_free", "none"};
	const char *dir = child_tmpdir();
	struct elf_symbol found[3];
	char path[128], debug_path[160];
	_cleanup_(proc_closep) struct proc *proc = own_proc();
	struct debug_file got, own;

	snprintf(path, sizeof(path), "%s/program", dir);
	snprintf(debug_path, sizeof(debug_path), "%s/.debug", dir);
	mkdir(debug_path, 0755);
	snprintf(debug_path, sizeof(debug_path), "%s/%s", dir, debug_name);
	built_write(path, stripped->bytes, stripped->size);
	built_write(debug_path, debug->bytes, debug->size);

	REQUIRE(!elf_file_open(path, &file));
	CHECK(!debug_file_is_needless(file));
	/* Without a root directory: any user may have put a file there. */
	REQUIRE(!debug_file_find(file, NULL, path, &own));
	CHECK(!own.path && !own.is_targets);
	REQUIRE(!debug_file_find(file, proc, path, &got));
	CHECK_INT(got.is_targets, got.path != NULL);
	REQUIRE(!elf_file_find_functions(file, names, 3, found));
	CHECK(!found[2].name);
	if (got.path) {
		CHECK_STR(got.path, debug_path);
		/* The address of the code in the stripped file. */
		CHECK_INT(found[0].file_offset, 0x200);
		CHECK_INT(found[0].address, BUILT_BASE + 0x200);
		CHECK_INT(found[1].file_offset, 0x210);
		CHECK(found[1].is_local && !found[0].is_local);
		CHECK(found[0].is_from_debug && found[1].is_from_debug);
	} else {
		CHECK(!found[0].name && !found[1].name);
	}

	bool ret = got.path;

	free(got.path);
	unlink(path);
	unlink(debug_path);
	snprintf(path, sizeof(path), "%s/.debug", dir);
	rmdir(path);
	rmdir(dir);
	return ret;
}

static void by_the_build_id(void)
{
	static struct built_image stripped, debug;

	make_stripped(&stripped, "program.debug", 0);
	make_debug(&debug);
	CHECK(is_found(&stripped, &debug, "program.debug"));
	CHECK(is_found(&stripped, &debug, ".debug/program.debug"));
	CHECK(!is_found(&stripped, &debug, "other.debug"));

	/* The debug file of another build. */
	debug.bytes[sections_of(&debug)[BUILT_DYNSYM].sh_offset + 16] ^= 1;
	CHECK(!is_found(&stripped, &debug, "program.debug"));

	/* Without a build-id, but with the right checksum. */
	make_debug(&debug);
	sections_of(&debug)[BUILT_DYNSYM].sh_type = SHT_NULL;
	make_stripped(&stripped, "program.debug", crc32_of(debug.bytes, debug.size));
	CHECK(!is_found(&stripped, &debug, "program.debug"));

	/* The debug file has no symbols. */
	make_debug(&debug);
	sections_of(&debug)[BUILT_SYMTAB].sh_type = SHT_NULL;
	CHECK(!is_found(&stripped, &debug, "program.debug"));
}

static void by_the_checksum(void)
{
	static struct built_image stripped, debug;
	uint32_t crc;

	/* The check value of the algorithm. */
	CHECK_INT(crc32_of((const unsigned char *)"123456789", 9), 0xcbf43926);
	make_debug(&debug);
	crc = crc32_of(debug.bytes, debug.size);
	make_stripped(&stripped, "program.debug", crc);
	remove_build_id(&stripped);
	CHECK(is_found(&stripped, &debug, "program.debug"));
	make_stripped(&stripped, "program.debug", crc + 1);
	remove_build_id(&stripped);
	CHECK(!is_found(&stripped, &debug, "program.debug"));
}

static void names_that_lead_away(void)
{
	static const char *const bad[] = {
		"../program.debug",    "/program.debug", "..", ".", "",
		".debug/program.debug"};
	static struct built_image stripped, debug;

	make_debug(&debug);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		make_stripped(&stripped, bad[i], 0);
		CHECK(!is_found(&stripped, &debug, "program.debug"));
		CHECK(!is_found(&stripped, &debug, ".debug/program.debug"));
	}
	/* A name without its end, or without the checksum. */
	make_stripped(&stripped, "program.debug", 0);
	for (uint64_t size = 0; size < 20; size++) {
		sections_of(&stripped)[BUILT_VERSYM].sh_size = size;
		CHECK(!is_found(&stripped, &debug, "program.debug"));
	}
	sections_of(&stripped)[BUILT_VERSYM].sh_size = UINT64_MAX - 8;
	CHECK(!is_found(&stripped, &debug, "program.debug"));
}

/* --- whose file it is --------------------------------------------------------------- */

#define TARGET 12345 /* user and group of the target */
#define OTHER  12346 /* another user */

static void become_target(void *arg)
{
	(void)arg;
	REQUIRE(!setgroups(0, NULL) && !setresgid(TARGET, TARGET, TARGET) &&
		!setresuid(TARGET, TARGET, TARGET));
}

/* Descriptors of debug files that libelf was given. */
static unsigned tried;

static struct error *count_try(struct elf_file *file, int fd,
			       const struct elf_debuglink *link, bool *ret_serves)
{
	tried++;
	return elf_tables_here.try_debug(file, fd, link, ret_serves);
}

/* The debug file's owner and mode. */
struct owned {
	unsigned user, mode;
	unsigned program_user; /* owner of the program */
	bool by_link;
	off_t size;      /* with a hole at its end; 0: as it is */
	bool has_exited; /* the target, whose pid may be another's soon */
};

/* Is the debug file found for a target that is not root's? */
static bool is_found_of(const struct built_image *stripped,
			const struct built_image *debug, struct owned how)
{
	struct child child = child_fork(become_target, NULL);
	struct elf_tables counting = elf_tables_here;
	const char *dir = child_tmpdir();
	char path[128], debug_path[128], link_path[128];
	_cleanup_(proc_closep) struct proc *proc = NULL;
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct debug_file got;

	snprintf(path, sizeof(path), "%s/program", dir);
	snprintf(link_path, sizeof(link_path), "%s/program.debug", dir);
	snprintf(debug_path, sizeof(debug_path), "%s/%s", dir,
		 how.by_link ? "other" : "program.debug");
	built_write(path, stripped->bytes, stripped->size);
	built_write(debug_path, debug->bytes, debug->size);
	REQUIRE(!chmod(dir, 0755) && !chmod(debug_path, how.mode) &&
		!chown(debug_path, how.user, 0) && !chown(path, how.program_user, 0));
	REQUIRE(!how.size || !truncate(debug_path, how.size));
	REQUIRE(!how.by_link || !symlink("other", link_path));

	REQUIRE(!proc_open(child.pid, &proc) && !elf_file_open(path, &file));
	if (how.has_exited)
		child_kill(&child);
	counting.try_debug = count_try;
	file->tables = &counting;
	tried = 0;
	REQUIRE(!debug_file_find(file, proc, path, &got));
	CHECK(tried || !got.path);
	file->tables = &elf_tables_here;
	child_end(&child);
	unlink(path);
	unlink(debug_path);
	unlink(link_path);
	rmdir(dir);

	bool ret = got.path;

	free(got.path);
	return ret;
}

/* All is decided before libelf gets the file. */
static void check_untried(const struct built_image *stripped,
			  const struct built_image *debug, struct owned how)
{
	CHECK(!is_found_of(stripped, debug, how));
	CHECK_INT(tried, 0);
}

static void with_a_build_id(void)
{
	static struct built_image stripped, debug;

	make_stripped(&stripped, "program.debug", 0);
	make_debug(&debug);
	CHECK(is_found_of(&stripped, &debug,
			  (struct owned){0, 0644, 0, false, 0, false}));
	CHECK(is_found_of(&stripped, &debug, (struct owned){0, 0644, 0, true, 0, false}));
	CHECK(is_found_of(&stripped, &debug,
			  (struct owned){OTHER, 0644, 0, false, 0, false}));
	CHECK(is_found_of(&stripped, &debug,
			  (struct owned){TARGET, 0600, 0, false, 0, false}));
	/* The target may not read it. */
	check_untried(&stripped, &debug, (struct owned){0, 0600, 0, false, 0, false});
	check_untried(&stripped, &debug, (struct owned){0, 0600, 0, true, 0, false});
	check_untried(&stripped, &debug, (struct owned){OTHER, 0600, 0, false, 0, false});
	check_untried(&stripped, &debug, (struct owned){0, 0644, 0, false, 0, true});
	/* Not an ELF file. */
	debug.bytes[0] = 'x';
	check_untried(&stripped, &debug, (struct owned){0, 0644, 0, false, 0, false});
}

/* Anybody could make a file with this checksum. */
static void without_a_build_id(void)
{
	static struct built_image stripped, debug;

	make_debug(&debug);
	make_stripped(&stripped, "program.debug", crc32_of(debug.bytes, debug.size));
	remove_build_id(&stripped);
	CHECK(is_found_of(&stripped, &debug,
			  (struct owned){0, 0644, 0, false, 0, false}));
	CHECK(is_found_of(&stripped, &debug,
			  (struct owned){TARGET, 0644, 0, false, 0, false}));
	CHECK(is_found_of(&stripped, &debug,
			  (struct owned){OTHER, 0644, OTHER, false, 0, false}));
	check_untried(&stripped, &debug, (struct owned){OTHER, 0644, 0, false, 0, false});
	check_untried(&stripped, &debug, (struct owned){0, 0644, 0, true, 0, false});
	check_untried(&stripped, &debug, (struct owned){0, 0600, 0, false, 0, false});
}

/* Its headers state more symbols than libelf may read. */
static void with_a_large_table(void)
{
	static struct built_image stripped, debug;
	struct owned how = {.mode = 0644, .size = (off_t)2 << 30};

	make_stripped(&stripped, "program.debug", 0);
	make_debug(&debug);
	CHECK(is_found_of(&stripped, &debug, how));
	sections_of(&debug)[BUILT_SYMTAB].sh_size = (uint64_t)1 << 30;
	check_untried(&stripped, &debug, how);
}

/* Random damage to a debug file. */
static void damaged(void)
{
	static struct built_image stripped, debug;

	make_stripped(&stripped, "program.debug", 0);
	for (size_t i = 0; i < 400; i++) {
		make_debug(&debug);

		size_t at = i < 200 ? i : debug.size - (i - 199);

		debug.bytes[at] ^= (unsigned char)(1 + i % 255);

		_cleanup_(elf_file_closep) struct elf_file *file = NULL;
		const char *dir = child_tmpdir(), *const names[] = {"malloc"};
		struct elf_symbol found[1];
		char path[128], debug_path[160];
		_cleanup_(proc_closep) struct proc *proc = own_proc();
		struct debug_file got;

		snprintf(path, sizeof(path), "%s/program", dir);
		snprintf(debug_path, sizeof(debug_path), "%s/program.debug", dir);
		built_write(path, stripped.bytes, stripped.size);
		built_write(debug_path, debug.bytes, debug.size);
		REQUIRE(!elf_file_open(path, &file));
		CHECK(!debug_file_find(file, proc, path, &got));

		_cleanup_(error_destroyp) struct error *err =
			elf_file_find_functions(file, names, 1, found);

		CHECK(!err || err->code == ERROR_MALFORMED);
		free(got.path);
		unlink(path);
		unlink(debug_path);
		rmdir(dir);
	}
}

int main(void)
{
	RUN(by_the_build_id);
	RUN(by_the_checksum);
	RUN(names_that_lead_away);
	if (!geteuid()) {
		RUN(with_a_build_id);
		RUN(without_a_build_id);
		RUN(with_a_large_table);
	}
	RUN(damaged);
	return check_done();
}
