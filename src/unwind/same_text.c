// SPDX-License-Identifier: Apache-2.0
#include "unwind/same_text.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "arch/arch.h"
#include "process/live_thread.h"
#include "unwind/cfi.h"
#include "util/cleanup.h"
#include "util/fd_table.h"

#define TEXT_MAX_BYTES (UINT64_C(256) << 20)
#define PART_BYTES     8192

static bool same_part(const uint8_t *memory, const uint8_t *file, size_t size)
{
	if (!memcmp(memory, file, size))
		return true;
	for (size_t i = 0; i < size; i++)
		if (memory[i] != file[i] && memory[i] != arch.breakpoint)
			return false;
	return true;
}

static bool are_there(int pagemap, uint64_t first, uint64_t count)
{
	uint64_t entries[512];

	while (count) {
		uint64_t n = count < 512 ? count : 512;

		if (pread(pagemap, entries, n * sizeof(*entries),
			  (off_t)(first * sizeof(*entries))) !=
		    (ssize_t)(n * sizeof(*entries)))
			return false;
		for (uint64_t i = 0; i < n; i++)
			if (!(entries[i] >> 62))
				return false;
		first += n;
		count -= n;
	}
	return true;
}

/* Are all pages present? Reading a missing page could block, if a userfaultfd(2)
 * handler is to provide it. Bits 63 and 62: the page is in memory, or in swap
 * (Documentation/admin-guide/mm/pagemap.rst). */
static bool is_there(int pid, uint64_t start, uint64_t end)
{
	uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE), first = start / page_bytes;
	bool is;
	int fd;

	fd_table_hold();
	fd = live_thread_open(pid, "pagemap", O_RDONLY | O_CLOEXEC);
	is = fd >= 0 && are_there(fd, first, (end - 1) / page_bytes + 1 - first);
	closep(&fd);
	fd_table_release();
	return is;
}

static bool read_memory(int pid, uint64_t address, void *ret, size_t size)
{
	bool is_read;

	/* Hold the table: live_thread_read() may open /proc files to find a thread. */
	fd_table_hold();
	is_read = live_thread_read(pid, address, ret, size);
	fd_table_release();
	return is_read;
}

bool same_text(int pid, uint64_t start, uint64_t end, const struct walk_code *code)
{
	uint8_t memory[PART_BYTES], file[PART_BYTES];

	if (!code->cfi || end - start > TEXT_MAX_BYTES || !is_there(pid, start, end))
		return false;
	for (uint64_t at = start; at < end; at += PART_BYTES) {
		size_t size = end - at < PART_BYTES ? (size_t)(end - at) : PART_BYTES;

		if (!read_memory(pid, at, memory, size) ||
		    !cfi_read_code(code->cfi, at - code->bias, file, size) ||
		    !same_part(memory, file, size))
			return false;
	}
	return true;
}
