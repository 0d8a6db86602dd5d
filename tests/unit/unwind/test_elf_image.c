// SPDX-License-Identifier: Apache-2.0
/* A file that lacks something, and a file that cannot be read. */
#include "check.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unwind/elf_image.h"

/* A copy of this program. */
static int copy_own(void)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open("/tmp", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char bytes[65536];
	ssize_t n;

	REQUIRE(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		REQUIRE(write(to, bytes, (size_t)n) == n);
	REQUIRE(!n && !close(from));
	return to;
}

static void check_io(struct error *err)
{
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_IO);
	error_destroy(err);
}

static void unreadable_is_not_missing(void)
{
	static const char *const names[] = {".eh_frame"};
	struct elf_image image;
	struct elf_bytes bytes;
	Elf64_Shdr header;
	bool is_found;
	int fd = copy_own();

	REQUIRE(!elf_image_init_file(&image, fd));
	REQUIRE(!elf_image_find_section(&image, names[0], &is_found, &header));
	CHECK(is_found);
	REQUIRE(!elf_image_find_section(&image, ".no_such", &is_found, &header));
	CHECK(!is_found);
	REQUIRE(!elf_image_load_sections(&image, names, 1, &bytes));
	CHECK(bytes.data);
	free(bytes.data);

	/* As on a bad disk: what should be there cannot be read. */
	REQUIRE(!ftruncate(fd, sizeof(Elf64_Ehdr)));
	check_io(elf_image_find_section(&image, names[0], &is_found, &header));
	CHECK(!is_found);
	check_io(elf_image_load_sections(&image, names, 1, &bytes));
	CHECK(!bytes.data);
	check_io(elf_image_load_type(&image, SHT_SYMTAB, &bytes));
	check_io(elf_image_load(&image, image.header.e_entry, 16, &bytes));
	elf_image_deinit(&image);

	/* Its headers can be found, but not be read. */
	check_io(elf_image_init_file(&image, open("/proc/self/exe", O_PATH | O_CLOEXEC)));
}

int main(void)
{
	RUN(unreadable_is_not_missing);
	return check_done();
}
