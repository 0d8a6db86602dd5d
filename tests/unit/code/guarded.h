/* SPDX-License-Identifier: Apache-2.0 */
/* Memory followed by an unreadable page: a read beyond the end faults. */
#ifndef UNIT_PLAN_GUARDED_H
#define UNIT_PLAN_GUARDED_H

#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "check.h"

/* Put code right before `end`, where an unreadable page begins. */
struct guarded {
	uint8_t *pages, *end;
	size_t size; /* bytes from `pages` to `end` */
};

/* Maps whole pages of at least `size` bytes. */
static inline struct guarded guarded_map(size_t size)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	struct guarded g = {.size = (size + page - 1) / page * page};

	g.pages = mmap(NULL, g.size + page, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(g.pages != MAP_FAILED);
	g.end = g.pages + g.size;
	REQUIRE(!mprotect(g.end, page, PROT_NONE));
	return g;
}

static inline void guarded_unmap(struct guarded *g)
{
	munmap(g->pages, g->size + (size_t)sysconf(_SC_PAGESIZE));
}

/* Copies code to right before the end. */
static inline const uint8_t *guarded_copy(const struct guarded *g, const uint8_t *code,
					  size_t size)
{
	REQUIRE(size <= g->size);
	return memcpy(g->end - size, code, size);
}

#endif
