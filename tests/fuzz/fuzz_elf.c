// SPDX-License-Identifier: Apache-2.0
/* ELF files: build-ids, symbols and functions, as memtrace-elf reads them. */
#include "fuzz.h"

#include <sys/mman.h>
#include <unistd.h>

#include "elf/elf.h"
#include "util/nearest.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const names[] = {"malloc", "free", "main"};
	struct elf_symbol found[3];
	struct nearest nearest = {.wanted = "malloc"};
	struct elf_file *file;
	struct error *err;
	int fd = memfd_create("fuzz", MFD_CLOEXEC);

	FUZZ_REQUIRE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	err = elf_file_open_fd(fd, "fuzz", &file);
	if (err) {
		error_destroy(err);
		return 0;
	}
	error_destroy(elf_file_find_functions(file, names, 3, found));
	error_destroy(elf_file_offer_functions(file, &nearest));
	elf_file_build_id(file);
	elf_file_close(file);
	return 0;
}
