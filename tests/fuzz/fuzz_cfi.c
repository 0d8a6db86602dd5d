// SPDX-License-Identifier: Apache-2.0
/* Unwind information: the input is an ELF file, whose rows are looked up. */
#include "fuzz.h"

#include "unwind/cfi.h"
#include "util/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct cfi *cfi;
	struct error *err = cfi_open_memory(data, size, &cfi);
	struct cfi_row row;

	if (err) {
		error_destroy(err);
		return 0;
	}
	for (uint64_t address = 0; address < 0x4000; address += 7)
		cfi_find_row(cfi, address, &row);
	/* The addresses that the file itself is likely to have. */
	for (size_t i = 0; i + 8 <= size && i < 4096; i += 8) {
		uint64_t address;

		__builtin_memcpy(&address, data + i, sizeof(address));
		cfi_find_row(cfi, address, &row);
	}
	cfi_close(cfi);
	return 0;
}
