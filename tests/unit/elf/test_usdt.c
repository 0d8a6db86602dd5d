// SPDX-License-Identifier: Apache-2.0
/* The USDT probes of this program, intact and damaged. */
#include "check.h"

#include <fcntl.h>
#include <gelf.h>
#include <sys/stat.h>
#include <unistd.h>

#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include "elf/elf_file.h"
#include "elf/usdt.h"
#include "util/cleanup.h"

#define DAMAGES 3000

DEFINE_CLEANUP(struct elf_file *, elf_file_close);

extern unsigned short unit_gated_semaphore;
unsigned short unit_gated_semaphore __attribute__((section(".probes"))) = 0x4711;
extern unsigned short unit_arguments_semaphore;
unsigned short unit_arguments_semaphore __attribute__((section(".probes")));

static struct usdt_places find(const char *path, const char *name,
			       struct nearest *nearest)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	struct usdt_places places = {0};

	REQUIRE(!elf_file_open(path, &file));
	REQUIRE(!usdt_find(file, "unit", name, nearest, &places));
	return places;
}

static unsigned read_at(const char *path, uint64_t offset, size_t size)
{
	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	unsigned value = 0;

	REQUIRE(fd >= 0 && pread(fd, &value, size, (off_t)offset) == (ssize_t)size);
	return value;
}

static void intact(void)
{
	struct nearest nearest = {.wanted = "unit:gate"};
	struct usdt_places places = find("/proc/self/exe", "gated", NULL);

	STAP_PROBE(unit, gated);
	REQUIRE(places.list.len == 1);
	/* A nop, and the initial value of the semaphore. */
	CHECK_INT(read_at("/proc/self/exe", places.list.data[0].file_offset, 1), 0x90);
	CHECK_INT(read_at("/proc/self/exe", places.list.data[0].semaphore, 2), 0x4711);
	CHECK_INT(places.list.data[0].args[0].kind, USDT_ARG_NONE);
	vec_deinit(&places.list);
	places = find("/proc/self/exe", "gate", &nearest);
	CHECK_INT(places.list.len, 0);
	REQUIRE(nearest.count == 1);
	CHECK_STR(nearest.best[0].name, "unit:gated");
	vec_deinit(&places.list);
}

/* Operands as this compiler writes them. */
static void arguments(void)
{
	struct usdt_places places = find("/proc/self/exe", "arguments", NULL);
	char *volatile address = NULL;

	STAP_PROBE2(unit, arguments, address, -5);
	REQUIRE(places.list.len == 1);

	const struct usdt_arg *args = places.list.data[0].args;

	CHECK(args[0].kind == USDT_ARG_REGISTER || args[0].kind == USDT_ARG_MEMORY);
	CHECK_INT(args[0].size_bytes, 8);
	CHECK_INT(args[1].kind, USDT_ARG_CONSTANT);
	CHECK_INT(args[1].size_bytes, 4);
	CHECK(args[1].is_signed);
	CHECK_INT(args[1].value, -5);
	CHECK_INT(args[2].kind, USDT_ARG_NONE);
	vec_deinit(&places.list);
}

/* The position of the notes in the file. */
static void find_notes(uint64_t *offset, uint64_t *size)
{
	_cleanup_(elf_file_closep) struct elf_file *file = NULL;
	Elf_Scn *scn = NULL;
	size_t names;
	GElf_Shdr sh;

	REQUIRE(!elf_file_open("/proc/self/exe", &file));
	REQUIRE(!elf_file_begin(file));
	REQUIRE(!elf_getshdrstrndx(file->elf, &names));
	while ((scn = elf_nextscn(file->elf, scn))) {
		REQUIRE(gelf_getshdr(scn, &sh));
		if (!strcmp(elf_strptr(file->elf, names, sh.sh_name), ".note.stapsdt")) {
			*offset = sh.sh_offset;
			*size = sh.sh_size;
			return;
		}
	}
	REQUIRE(!"a section .note.stapsdt");
}

/* Damaged notes: each place must still be in the file. */
static void damaged(void)
{
	_cleanup_(fclosep) FILE *from = fopen("/proc/self/exe", "re"), *to = tmpfile();
	uint64_t offset, size, found = 0;
	unsigned char intact[4096];
	unsigned random = 1;
	struct stat st;
	char path[64];
	int c;

	REQUIRE(from && to);
	while ((c = fgetc(from)) != EOF)
		fputc(c, to);
	REQUIRE(!fflush(to) && !fstat(fileno(to), &st));
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fileno(to));
	find_notes(&offset, &size);
	REQUIRE(size <= sizeof(intact) &&
		pread(fileno(to), intact, size, (off_t)offset) == (ssize_t)size);
	for (unsigned i = 0; i < DAMAGES; i++) {
		struct usdt_places places;
		unsigned char after;
		off_t at;

		random = random * 1664525 + 1013904223;
		at = (off_t)(offset + (random >> 8) % size);
		after = (unsigned char)(random >> 3 & 1 ? 0xff : random >> 24);
		REQUIRE(pwrite(fileno(to), &after, 1, at) == 1);
		places = find(path, "gated", NULL);
		vec_foreach (place, &places.list)
			CHECK(place->file_offset < (uint64_t)st.st_size &&
			      place->semaphore < (uint64_t)st.st_size);
		found += places.list.len;
		vec_deinit(&places.list);
		/* Up to four kinds of damage at once. */
		if (i % 4 == 3)
			REQUIRE(pwrite(fileno(to), intact, size, (off_t)offset) ==
				(ssize_t)size);
	}
	/* Some damage is fatal, some is not. */
	CHECK(found > 0 && found < DAMAGES);
}

int main(void)
{
	RUN(intact);
	RUN(arguments);
	RUN(damaged);
	return check_done();
}
