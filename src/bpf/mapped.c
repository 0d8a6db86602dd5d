// SPDX-License-Identifier: Apache-2.0
#include "bpf/mapped.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#define WINDOW_BYTES (2u << 20)

static uint64_t gcd(uint64_t a, uint64_t b)
{
	while (b) {
		uint64_t t = a % b;

		a = b;
		b = t;
	}
	return a;
}

static struct error *walk(int fd, int protection, uint32_t begin, uint32_t count,
			  uint32_t element_bytes, mapped_fn fn, void *arg)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	/* A window begins both on a page and on an element. */
	uint64_t unit = element_bytes / gcd(element_bytes, page) * page;
	uint64_t window = unit * (WINDOW_BYTES > unit ? WINDOW_BYTES / unit : 1);
	uint32_t step = (uint32_t)(window / element_bytes);

	for (uint32_t first = 0; first < count; first += step) {
		uint32_t n = count - first < step ? count - first : step;
		size_t bytes = (size_t)n * element_bytes;
		void *p = mmap(NULL, bytes, protection, MAP_SHARED, fd,
			       ((off_t)begin + first) * element_bytes);

		if (p == MAP_FAILED)
			return error_errno(ERROR_IO, errno, "cannot map a BPF table");

		bool go_on = fn(p, begin + first, n, arg);

		munmap(p, bytes);
		if (!go_on)
			return error_no_memory();
		if (count - first <= step)
			break;
	}
	return NULL;
}

struct error *mapped_walk(int fd, uint32_t count, uint32_t element_bytes, mapped_fn fn,
			  void *arg)
{
	return walk(fd, PROT_READ, 0, count, element_bytes, fn, arg);
}

struct error *mapped_walk_writable(int fd, uint32_t count, uint32_t element_bytes,
				   mapped_fn fn, void *arg)
{
	return walk(fd, PROT_READ | PROT_WRITE, 0, count, element_bytes, fn, arg);
}

struct error *mapped_walk_part(int fd, uint32_t begin, uint32_t count,
			       uint32_t element_bytes, mapped_fn fn, void *arg)
{
	return walk(fd, PROT_READ | PROT_WRITE, begin, count, element_bytes, fn, arg);
}

static size_t page_round(size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	return (bytes + page - 1) / page * page;
}

void *mapped_open(int fd, size_t bytes)
{
	void *p =
		mmap(NULL, page_round(bytes), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	return p == MAP_FAILED ? NULL : p;
}

void mapped_close(void *mapped, size_t bytes)
{
	if (mapped)
		munmap(mapped, page_round(bytes));
}
