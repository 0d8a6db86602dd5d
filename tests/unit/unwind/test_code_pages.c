// SPDX-License-Identifier: Apache-2.0
/* The code of mapped images, read with copies of pages: the same bytes as in the file. */
#include "check.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "unwind/code_pages.h"
#include "unwind/elf_image.h"

struct file {
	int fd;
	struct elf_image image;
	uint64_t start, size_bytes; /* of the first executable segment in the file */
};

static int copy_of_this_program(void)
{
	char name[] = "/tmp/memtrace-pages-XXXXXX";
	int fd = mkstemp(name), from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0 && from >= 0 && !unlink(name));
	while (sendfile(fd, from, NULL, 1 << 20) > 0)
		;
	close(from);
	return fd;
}

static struct file map_program(struct code_pages *pages)
{
	struct file f = {.fd = copy_of_this_program()};

	REQUIRE(!elf_image_init_file(&f.image, dup(f.fd)));
	REQUIRE(!elf_image_map_code(&f.image, pages));
	for (size_t i = 0; i < f.image.segment_count && !f.size_bytes; i++) {
		const Elf64_Phdr *p = &f.image.segments[i];

		if (p->p_type == PT_LOAD && p->p_flags & PF_X) {
			f.start = p->p_offset;
			f.size_bytes = p->p_filesz;
		}
	}
	REQUIRE(f.size_bytes > 2 * CODE_PAGE_BYTES);
	return f;
}

static void unmap_program(struct file *f)
{
	elf_image_deinit(&f->image);
	close(f->fd);
}

static void check_same(const struct file *f, uint64_t offset, size_t size)
{
	uint8_t got[2 * CODE_PAGE_BYTES], want[2 * CODE_PAGE_BYTES];

	REQUIRE(size <= sizeof(got));
	REQUIRE(pread(f->fd, want, size, (off_t)offset) == (ssize_t)size);
	CHECK(elf_image_read(&f->image, offset, got, size));
	CHECK(!memcmp(got, want, size));
}

/* Twice, so that the second time reads copies. */
static void bytes_of_the_file(void)
{
	static const size_t sizes[] = {1, 7, 1024, CODE_PAGE_BYTES, CODE_PAGE_BYTES + 1};
	struct code_pages *pages = code_pages_create();
	struct file f;

	REQUIRE(pages);
	f = map_program(pages);
	for (int round = 0; round < 2; round++)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			for (uint64_t at = 0; at + sizes[i] <= f.size_bytes; at += 509)
				check_same(&f, f.start + at, sizes[i]);
	/* Up to the last byte, which is seldom the end of a page, and not beyond. */
	check_same(&f, f.start + f.size_bytes - 5, 5);
	CHECK(!elf_image_read(&f.image, f.start + f.size_bytes - 5, (uint8_t[6]){0}, 6));
	unmap_program(&f);
	code_pages_destroy(pages);
}

/* A page that was read is not read again, also if the file has become shorter. Without
 * copies each read sees the file as it is. */
static void pages_are_kept(void)
{
	struct code_pages *pages = code_pages_create();
	struct file kept, bare;
	uint8_t byte;

	REQUIRE(pages);
	kept = map_program(pages);
	bare = map_program(NULL);
	check_same(&kept, kept.start, 8);
	check_same(&bare, bare.start, 8);
	REQUIRE(!ftruncate(kept.fd, 0) && !ftruncate(bare.fd, 0));
	CHECK(elf_image_read(&kept.image, kept.start + CODE_PAGE_BYTES - 1, &byte, 1));
	CHECK(!elf_image_read(&kept.image, kept.start + CODE_PAGE_BYTES, &byte, 1));
	CHECK(!elf_image_read(&kept.image, kept.start + CODE_PAGE_BYTES - 1,
			      (uint8_t[2]){0}, 2));
	CHECK(!elf_image_read(&bare.image, bare.start, &byte, 1));
	unmap_program(&kept);
	unmap_program(&bare);
	code_pages_destroy(pages);
}

/* Images share the places, but no image gets the bytes of another one, or of one that is
 * closed. */
static void images_do_not_mix(void)
{
	struct code_pages *pages = code_pages_create();
	struct file first, other;
	uint8_t was, is;

	REQUIRE(pages);
	first = map_program(pages);
	other = map_program(pages);
	REQUIRE(elf_image_read(&first.image, first.start, &was, 1));
	is = (uint8_t)~was;
	REQUIRE(pwrite(other.fd, &is, 1, (off_t)other.start) == 1);
	check_same(&other, other.start, 1);
	check_same(&first, first.start, 1);
	unmap_program(&first);

	/* The next image may be at the same address in memory. */
	first = map_program(pages);
	is = (uint8_t)(was ^ 1);
	REQUIRE(pwrite(first.fd, &is, 1, (off_t)first.start) == 1);
	check_same(&first, first.start, 1);
	unmap_program(&first);
	unmap_program(&other);
	code_pages_destroy(pages);
}

int main(void)
{
	RUN(bytes_of_the_file);
	RUN(pages_are_kept);
	RUN(images_do_not_mix);
	code_pages_destroy(NULL);
	return check_done();
}
