// SPDX-License-Identifier: Apache-2.0
/* Where functions begin: by the file itself, not by symbols that may be forged. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "code/start.h"
#include "process/linker.h"
#include "process/target_file.h"
#include "unit/elf/elf_builder.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct cfi *, cfi_close);

__attribute__((noinline)) static int described(int n)
{
	return n * n + 1;
}

/* As on a bad disk: what has the byte at this offset cannot be read. -1: all can. */
static off_t bad_at = -1;

/* Instead of the C library's. */
ssize_t pread(int fd, void *ret, size_t size, off_t offset)
{
	if (bad_at >= offset && bad_at - offset < (off_t)size) {
		errno = EIO;
		return -1;
	}
	return syscall(SYS_pread64, fd, ret, size, offset);
}

/* start_doubt() for /proc/self/exe, with or without its unwind information. */
static const char *doubt_own(const struct cfi *cfi, const struct elf_symbol *symbol)
{
	struct starts starts;
	const char *why;

	starts_init(&starts, cfi, open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	why = start_doubt(&starts, symbol);
	starts_deinit(&starts);
	return why;
}

static void a_start_needs_the_file_to_agree(void)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(cfi_closep) struct cfi *cfi = NULL;
	const char *const names[] = {"described"};
	struct elf_symbol symbol;

	/* volatile: otherwise the compiler may clone the function for the constant 3. */
	volatile int three = 3;

	CHECK_INT(described(three), 10);
	REQUIRE(!elf_file_open("/proc/self/exe", &file));
	REQUIRE(!elf_file_find_functions(file, names, 1, &symbol) && symbol.name);
	REQUIRE(!cfi_open_file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC), &cfi));
	CHECK(!symbol.is_from_debug);
	CHECK(!doubt_own(cfi, &symbol));
	CHECK(!doubt_own(NULL, &symbol));

	/* A symbol of a debug file is accepted if the unwind information agrees. */
	symbol.is_from_debug = true;
	CHECK(!doubt_own(cfi, &symbol));
	CHECK(doubt_own(NULL, &symbol));

	for (int forged = 0; forged < 2; forged++) {
		struct elf_symbol inside = symbol;

		inside.is_from_debug = forged;
		inside.address++;
		REQUIRE(doubt_own(cfi, &inside));
		CHECK_CONTAINS(doubt_own(cfi, &inside), "into another function");
	}

	/* Nothing in the file says that a function is there. */
	for (int forged = 0; forged < 2; forged++) {
		symbol.is_from_debug = forged;
		symbol.address = 1;
		CHECK(doubt_own(cfi, &symbol));
		CHECK(doubt_own(NULL, &symbol));
	}
}

/* The file is not taken to lack unwind information that cannot be read. */
static void unwind_information_that_cannot_be_read(void)
{
	const char *const names[] = {"described"};
	_cleanup_(elf_file_closep) struct elf_file *elf = NULL;
	struct elf_symbol symbol;
	struct elf_image image;
	struct target_file *file;
	const char *why;
	Elf64_Shdr frames;
	bool is_found;

	REQUIRE(!elf_file_open("/proc/self/exe", &elf));
	REQUIRE(!elf_file_find_functions(elf, names, 1, &symbol) && symbol.name);
	REQUIRE(!elf_image_init_file(&image,
				     open("/proc/self/exe", O_RDONLY | O_CLOEXEC)));
	REQUIRE(!elf_image_find_section(&image, ".eh_frame", &is_found, &frames));
	REQUIRE(is_found);
	REQUIRE(!target_file_named(NULL, "/proc/self/exe", &file));
	REQUIRE(!start_doubt_in(file, &symbol, &why) && !why);

	const off_t bad[] = {0, (off_t)image.header.e_phoff, (off_t)image.header.e_shoff,
			     (off_t)frames.sh_offset};

	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct error *err;

		bad_at = bad[i];
		err = start_doubt_in(file, &symbol, &why);
		bad_at = -1;
		if (err)
			CHECK_INT(err->code, ERROR_IO);
		else
			CHECK_FAIL("without the bytes at %lld: %s", (long long)bad[i],
				   why ? why : "no doubt");
		error_destroy(err);
	}
	elf_image_deinit(&image);
	target_file_release(file);
}

/* --- files without unwind information ---------------------------------------------- */

#if defined(__x86_64__)

/* Offsets of the functions in a generated file. */
enum {
	FIRST = 0x200,  /* no function before it */
	LONG = 0x210,   /* mov $..., %rax (10 bytes); ret; nops */
	SHORT = 0x220,  /* mov $..., %eax (5 bytes); ret */
	CLOSE = 0x226,  /* directly after it, as with optimization for size: ret; nops */
	OPAQUE = 0x240, /* begins with an unknown instruction */
	BEHIND = 0x250,
	LAST = 0x260,
};

static const struct built_symbol made_symbols[] = {
	{"first", STB_GLOBAL, STT_FUNC, 1, FIRST, false},
	{"long", STB_GLOBAL, STT_FUNC, 1, LONG, false},
	{"short", STB_LOCAL, STT_FUNC, 0, SHORT, true},
	{"close", STB_GLOBAL, STT_FUNC, 1, CLOSE, false},
	{"opaque", STB_GLOBAL, STT_FUNC, 1, OPAQUE, false},
	{"behind", STB_GLOBAL, STT_FUNC, 1, BEHIND, false},
	{"last", STB_GLOBAL, STT_FUNC, 1, LAST, false},
	{"forged", STB_GLOBAL, STT_FUNC, 1, LAST + 0x100, false},
	{"object", STB_GLOBAL, STT_OBJECT, 1, LAST + 0x10, false},
};

static void put(struct built_image *image, uint32_t offset, const char *code, size_t size)
{
	memcpy(image->bytes + offset, code, size);
}

#define PUT(image, offset, code) put(image, offset, code, sizeof(code) - 1)

/* The symbol with this offset in a table of the image. */
static Elf64_Sym *symbol_at(struct built_image *image, uint32_t offset)
{
	const Elf64_Ehdr *header = (const void *)image->bytes;
	const Elf64_Shdr *sections = (const void *)(image->bytes + header->e_shoff);

	for (unsigned t = BUILT_DYNSYM; t <= BUILT_SYMTAB; t++) {
		Elf64_Sym *table = (void *)(image->bytes + sections[t].sh_offset);

		for (size_t i = 0; i < sections[t].sh_size / sizeof(*table); i++)
			if (table[i].st_value == BUILT_BASE + offset)
				return &table[i];
	}
	REQUIRE(!"the symbol is there");
	return NULL;
}

static void make(struct built_image *image)
{
	built_make(image, made_symbols, sizeof(made_symbols) / sizeof(*made_symbols));
	memset(image->bytes + BUILT_CODE, 0x90, 0x400);
	PUT(image, FIRST, "\xc3");
	PUT(image, LONG, "\x48\xb8\xc3\x90\xc3\x90\xc3\x90\xc3\x90\xc3");
	PUT(image, SHORT, "\xb8\xc3\x90\xc3\x90\xc3\xc3");
	PUT(image, OPAQUE, "\x06");
	symbol_at(image, SHORT)->st_size = CLOSE - SHORT;
}

/* The doubts about a symbol at `offset`, whether or not the file's tables have it. */
static const char *doubt_made(const struct built_image *image, uint32_t offset)
{
	const struct elf_symbol symbol = {
		.name = "malloc",
		.address = BUILT_BASE + offset,
		.size_bytes = 16,
		.file_offset = offset,
		.type = STT_FUNC,
	};
	char path[] = "/tmp/memtrace-test-XXXXXX";
	struct starts starts;
	const char *why;
	int fd = mkstemp(path);

	REQUIRE(fd >= 0 && write(fd, image->bytes, image->size) == (ssize_t)image->size);
	unlink(path);
	starts_init(&starts, NULL, fd);
	why = start_doubt(&starts, &symbol);
	starts_deinit(&starts);
	return why;
}

static void without_unwind_information(void)
{
	static const uint32_t good[] = {FIRST, LONG, SHORT, CLOSE, OPAQUE, LAST};
	struct built_image image;

	make(&image);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		CHECK(!doubt_made(&image, good[i]));
	/* No function is before it, and the address is not aligned. */
	symbol_at(&image, FIRST)->st_value += 1;
	CHECK_CONTAINS(doubt_made(&image, FIRST + 1), "code before");
	/* The code before it is not understood. */
	CHECK_CONTAINS(doubt_made(&image, BEHIND), "code before");
}

/* A parser process was taken over by a malicious file and reports wrong symbols. */
static void symbols_that_the_file_does_not_have(void)
{
	struct built_image image;

	make(&image);
	for (uint32_t at = FIRST; at < LAST; at++) {
		bool is_known = at == FIRST || at == LONG || at == SHORT || at == CLOSE ||
				at == OPAQUE || at == BEHIND;

		if (!is_known)
			CHECK_CONTAINS(doubt_made(&image, at), "nor a function symbol");
	}
	CHECK_CONTAINS(doubt_made(&image, LAST + 0x10), "nor a function symbol");
	CHECK_CONTAINS(doubt_made(&image, 0x900000), "outside of the file's code");
	/* A symbol without a size is not accepted. */
	symbol_at(&image, LONG)->st_size = 0;
	CHECK_CONTAINS(doubt_made(&image, LONG), "nor a function symbol");
}

/* The file's own tables are forged. */
static void symbols_inside_of_functions(void)
{
	static const uint32_t inside[] = {LONG + 1,  LONG + 3,  LONG + 9,
					  LONG + 10, SHORT + 1, SHORT + 4};

	for (size_t i = 0; i < sizeof(inside) / sizeof(*inside); i++) {
		uint32_t around = inside[i] < SHORT ? LONG : SHORT;
		bool is_boundary = inside[i] == LONG + 10;
		struct built_image image;

		make(&image);
		symbol_at(&image, LAST + 0x100)->st_value = BUILT_BASE + inside[i];
		CHECK_CONTAINS(doubt_made(&image, inside[i]), "into another function");
		/* Even if the size of the surrounding function is forged, too. */
		symbol_at(&image, around)->st_size = 1;
		if (is_boundary)
			CHECK(!doubt_made(&image, inside[i]));
		else
			CHECK_CONTAINS(doubt_made(&image, inside[i]), "code before");
	}
}

/* A symbol that covers all others makes the file unusable, but has no worse effect. */
static void symbols_that_overlap(void)
{
	struct built_image image;

	make(&image);
	symbol_at(&image, FIRST)->st_size = UINT64_MAX;
	CHECK_CONTAINS(doubt_made(&image, LONG), "into another function");
	CHECK_CONTAINS(doubt_made(&image, LAST), "into another function");
	CHECK(!doubt_made(&image, FIRST));
}

static void tables_of_any_size(void)
{
	static const uint64_t sizes[] = {0, 1, 23, 25, 1 << 20, UINT64_MAX};
	struct built_image image;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		make(&image);

		const Elf64_Ehdr *header = (const void *)image.bytes;
		Elf64_Shdr *sections = (void *)(image.bytes + header->e_shoff);

		sections[BUILT_DYNSYM].sh_size = sizes[i];
		sections[BUILT_SYMTAB].sh_offset = sizes[i];
		CHECK_CONTAINS(doubt_made(&image, LONG), "nor a function symbol");
	}
}

/* The table may have a function around the place. */
static void a_table_that_cannot_be_read(void)
{
	struct built_image image;

	make(&image);

	const Elf64_Ehdr *header = (const void *)image.bytes;
	const Elf64_Shdr *sections = (const void *)(image.bytes + header->e_shoff);

	for (unsigned t = BUILT_DYNSYM; t <= BUILT_SYMTAB; t++) {
		bad_at = (off_t)sections[t].sh_offset;
		CHECK_CONTAINS(doubt_made(&image, LONG), "cannot be read");
	}
	bad_at = -1;
	CHECK(!doubt_made(&image, LONG));
}

/* musl is built without unwind information: its allocator is still traced, and no other
 * address in it is accepted as a function. */
static void musl(void)
{
	static const char path[] = "/lib/ld-musl-x86_64.so.1";
	static const char *const names[] = {
		"malloc",         "free",          "calloc",   "realloc",
		"posix_memalign", "aligned_alloc", "valloc",   "mremap",
		"mmap",           "munmap",        "memalign",
	};
	enum {
		COUNT = sizeof(names) / sizeof(*names)
	};
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	_cleanup_(cfi_closep) struct cfi *cfi = NULL;
	struct elf_symbol symbols[COUNT];
	struct starts starts;
	unsigned believed = 0;

	if (access(path, R_OK)) {
		CHECK_SKIP_PART("musl is not there");
		return;
	}
	REQUIRE(!elf_file_open(path, &file));
	REQUIRE(!elf_file_find_functions(file, names, COUNT, symbols));
	REQUIRE(!cfi_open_file(open(path, O_RDONLY | O_CLOEXEC), &cfi));
	starts_init(&starts, cfi, open(path, O_RDONLY | O_CLOEXEC));
	for (size_t i = 0; i < COUNT; i++) {
		struct cfi_fde fde;

		REQUIRE(symbols[i].name);
		CHECK(!cfi_find_fde(cfi, symbols[i].address, &fde));
		CHECK(!start_doubt(&starts, &symbols[i]));
		for (uint64_t n = symbols[i].size_bytes; n > 1; n--) {
			symbols[i].address++;
			believed += !start_doubt(&starts, &symbols[i]);
		}
	}
	CHECK_INT(believed, 0);
	starts_deinit(&starts);
}

#endif

/* --- a function by its name -------------------------------------------------------- */

static uint64_t offset_in(const char *path, const char *name)
{
	struct start_function function = {0};
	struct target_file *file;

	REQUIRE(!target_file_named(NULL, path, &file));
	REQUIRE(!start_find_function(file, name, &function));
	target_file_release(file);
	CHECK(!function.offset == !function.size);
	return function.offset;
}

/* The function that glibc's dynamic linker calls when it maps a file. Other files do not
 * have it. */
static void the_linkers_notice(void)
{
	CHECK(offset_in("/lib64/ld-linux-x86-64.so.2", LINKER_NOTICE) != 0);
	CHECK_INT(offset_in("/proc/self/exe", LINKER_NOTICE), 0);
	CHECK_INT(offset_in("/proc/self/exe", "no_such_function"), 0);

	struct target_file *file;
	struct error *err = target_file_named(NULL, "/nonexistent", &file);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	error_destroy(err);
}

int main(void)
{
	RUN(a_start_needs_the_file_to_agree);
	RUN(unwind_information_that_cannot_be_read);
#if defined(__x86_64__)
	RUN(without_unwind_information);
	RUN(symbols_that_the_file_does_not_have);
	RUN(symbols_inside_of_functions);
	RUN(symbols_that_overlap);
	RUN(tables_of_any_size);
	RUN(a_table_that_cannot_be_read);
	RUN(musl);
#endif
	RUN(the_linkers_notice);
	return check_done();
}
