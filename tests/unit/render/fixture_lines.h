/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines and inlined functions for the fixture's standard case. Set f->wrap to
 * fixture_lines before the report is made. */
#ifndef TESTS_RENDER_FIXTURE_LINES_H
#define TESTS_RENDER_FIXTURE_LINES_H

#include "fixture.h"

struct fixture_lines {
	struct symbolizer base;
	struct symbolizer *names;
};

static inline struct error *fixture_lines_resolve(struct symbolizer *base,
						  uint64_t address, struct symbol *ret)
{
	struct symbolizer *names = ((struct fixture_lines *)base)->names;

	return names->ops->resolve(names, address, ret);
}

static inline void fixture_lines_push(struct source_frames *list, const char *function,
				      const char *file, unsigned line, bool inlined)
{
	REQUIRE(vec_push(&list->list, (struct source_frame){
					      .function = strdup(function),
					      .file = file ? strdup(file) : NULL,
					      .line = line,
					      .inlined = inlined,
				      }));
}

/* main_loop is in main.c:120. Cache::insert is in cache.cc:88, with Cache::grow inlined
 * into it and allocate<T> into that. The other symbols have no lines. */
static inline struct error *fixture_lines_find(struct symbolizer *base, uint64_t address,
					       struct source_frames *ret)
{
	(void)base;
	*ret = (struct source_frames){.function_offset = address % 0x100};
	if ((address - FIXTURE_BASE) / 0x100 == 1) {
		fixture_lines_push(ret, "main_loop", "/srv/app/src/main.c", 120, false);
	} else if ((address - FIXTURE_BASE) / 0x100 == 2) {
		fixture_lines_push(ret, "allocate<T>", "/srv/app/src/a \"new\".h", 7,
				   true);
		fixture_lines_push(ret, "Cache::grow", "/srv/app/src/cache.cc", 12, true);
		fixture_lines_push(ret, "Cache::insert(std::string const&)",
				   "/srv/app/src/cache.cc", 88, false);
	}
	return NULL;
}

static inline void fixture_lines_destroy(struct symbolizer *base)
{
	symbolizer_destroy(((struct fixture_lines *)base)->names);
	free(base);
}

static inline struct symbolizer *fixture_lines(struct fixture *f,
					       struct symbolizer *names)
{
	static const struct symbolizer_ops ops = {
		.resolve = fixture_lines_resolve,
		.find_sources = fixture_lines_find,
		.destroy = fixture_lines_destroy,
	};
	struct fixture_lines *lines = calloc(1, sizeof(*lines));

	(void)f;
	REQUIRE(lines);
	*lines = (struct fixture_lines){.base = {.ops = &ops}, .names = names};
	return &lines->base;
}

#endif
