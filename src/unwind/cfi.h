/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unwind information of one ELF image: a file, or the vDSO in memory. The image is
 * hostile input; what is not understood is as good as not there.
 */
#ifndef UNWIND_CFI_H
#define UNWIND_CFI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "unwind/cfi_row.h"
#include "util/error.h"

struct cfi;

/* What is known of an address. */
enum cfi_result {
	CFI_FOUND,
	CFI_NONE, /* no FDE is around it */
	CFI_BAD,  /* there is one, but its program is malformed or beyond all bounds */
};

/*
 * Find the unwind information of an ELF file: .eh_frame, by PT_GNU_EH_FRAME or else by
 * its section, and .debug_frame, for code that .eh_frame does not cover (uncompressed
 * only). `fd` is taken, closed also on failure, and stays open until cfi_close_fd() or
 * cfi_close(): its inode number cannot be given to another file meanwhile.
 * ERROR_MALFORMED, ERROR_UNSUPPORTED (another class or machine), ERROR_IO. An image
 * without unwind information is no error.
 */
struct error *cfi_open_file(int fd, struct cfi **ret) __attribute__((warn_unused_result));

/* The same of an image that is mapped at `data`, which must outlive it. */
struct error *cfi_open_memory(const void *data, size_t size_bytes, struct cfi **ret)
	__attribute__((warn_unused_result));
void cfi_close(struct cfi *cfi);

/* Close the descriptor; the file is mapped instead (unwind/elf_image.h). ERROR_IO. */
struct error *cfi_close_fd(struct cfi *cfi) __attribute__((warn_unused_result));

/* The row at `address` of the image's address space. It lives as long as `cfi`. */
enum cfi_result cfi_find_row(const struct cfi *cfi, uint64_t address,
			     struct cfi_row *ret);

/*
 * Call `each` for the rows of the addresses from `start` up to `end`, ascending, cut at
 * both ends; what has no row is left out. The row that cfi_find_row() gives for an
 * address is the one that is given for it. Runs at most `max_steps` instructions and as
 * many again; false when that did not suffice: then nothing that was given is of use.
 */
bool cfi_each_row(const struct cfi *cfi, uint64_t start, uint64_t end, unsigned max_steps,
		  cfi_row_fn *each, void *arg);

/* The FDE around `address`; false: there is none. */
bool cfi_find_fde(const struct cfi *cfi, uint64_t address, struct cfi_fde *ret);

/* What is to be added to the image's addresses when the bytes from `file_offset` are
 * mapped at `start`; false when no executable segment has that offset. */
bool cfi_bias(const struct cfi *cfi, uint64_t start, uint64_t file_offset, uint64_t *ret);

/* Memory that the tables take. */
uint64_t cfi_size_bytes(const struct cfi *cfi);

/* Where the image starts to run (e_entry). */
uint64_t cfi_entry_point(const struct cfi *cfi);

/* How many bytes of code the image has from the address on; 0: none is there. */
uint64_t cfi_code_bytes(const struct cfi *cfi, uint64_t address);

/* Copy code; false when the image has not so much of it there. */
bool cfi_read_code(const struct cfi *cfi, uint64_t address, void *buffer, size_t size)
	__attribute__((warn_unused_result));

#endif
