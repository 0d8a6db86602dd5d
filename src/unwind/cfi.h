/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind information of one ELF image: a file, or the vDSO in memory. The image is
 * hostile input; entries that are not understood are ignored.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi_row.h"
#include "util/error.h"

struct cfi;
struct code_pages;

/* The result of a lookup. */
enum cfi_result {
	CFI_FOUND,
	CFI_NONE, /* no FDE contains the address */
	CFI_BAD,  /* the FDE's program is malformed or too long */
};

/*
 * Read the unwind information of an ELF file, if it has any: .eh_frame, found by
 * PT_GNU_EH_FRAME or else by its section, and .debug_frame (uncompressed only), for code
 * that .eh_frame does not cover. Takes ownership of `fd`, also on failure. It stays open
 * until cfi_close_fd() or cfi_close(), so that no other file gets its inode number.
 * ERROR_MALFORMED, ERROR_UNSUPPORTED (another class or machine), ERROR_IO.
 */
struct error *cfi_open_file(int fd, struct cfi **ret) __attribute__((warn_unused_result));

/* The same for an image that is mapped at `data`, which must outlive the result. */
struct error *cfi_open_memory(const void *data, size_t size_bytes, struct cfi **ret)
	__attribute__((warn_unused_result));
void cfi_close(struct cfi *cfi);

/* Close the descriptor and map the file instead (unwind/elf_image.h). `pages` is for
 * elf_image_map_code(). ERROR_IO. */
struct error *cfi_close_fd(struct cfi *cfi, struct code_pages *pages)
	__attribute__((warn_unused_result));

/* Find the row at `address` in the image's address space. It lives as long as `cfi`. */
enum cfi_result cfi_find_row(const struct cfi *cfi, uint64_t address,
			     struct cfi_row *ret);

/*
 * Call `each` for the rows of the addresses [start, end), ascending, cut at both ends.
 * Addresses without a row are left out. Each address gets the row that cfi_find_row()
 * returns for it. Runs at most 2 * `max_steps` instructions. Returns false if
 * `max_steps` were not enough; then the rows given so far must not be used.
 */
bool cfi_each_row(const struct cfi *cfi, uint64_t start, uint64_t end, unsigned max_steps,
		  cfi_row_fn *each, void *arg);

/* Find the FDE that contains `address`; false: none. */
bool cfi_find_fde(const struct cfi *cfi, uint64_t address, struct cfi_fde *ret);

/* The number to add to the image's addresses if the bytes from `file_offset` are mapped
 * at `start`; false if no executable segment has that offset. */
bool cfi_bias(const struct cfi *cfi, uint64_t start, uint64_t file_offset, uint64_t *ret);

/* The memory that the tables take. */
uint64_t cfi_size_bytes(const struct cfi *cfi);

/* The image's entry point (e_entry). */
uint64_t cfi_entry_point(const struct cfi *cfi);

/* How many bytes of code the image has from the address on; 0: none. */
uint64_t cfi_code_bytes(const struct cfi *cfi, uint64_t address);

/* Copy code; false if the image does not have `size` bytes of code there. */
bool cfi_read_code(const struct cfi *cfi, uint64_t address, void *buffer, size_t size)
	__attribute__((warn_unused_result));

#endif
