// SPDX-License-Identifier: Apache-2.0
#include "golden/target.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "symbol_table.h"

static char long_name[5001];

static struct symbol_row rows[] = {
	{LOOP_AT, LOOP_AT + 0x100, "main_loop", "/srv/app/bin/leaky"},
	{INSERT_AT, INSERT_AT + 0x100, "Cache::insert(std::string const&)",
	 "/srv/app/bin/leaky"},
	{HOSTILE_AT, HOSTILE_AT + 0x10, "\x1b[31mred\x1b[0m\r\n\tnew\"line\\",
	 "/tmp/evil\ndir/\x1b]0;title\a.so"},
	{HOSTILE_AT + 0x10, HOSTILE_AT + 0x20, "bad \xff\xc3\x28 good \xc3\xa9",
	 "/tmp/\xf0\x28\x8c\x28"},
	{HOSTILE_AT + 0x20, HOSTILE_AT + 0x30, long_name, "/tmp/long/"},
	{HOSTILE_AT + 0x30, HOSTILE_AT + 0x40, NULL, "[vdso]\x7f"},
	{MALLOC_AT, MALLOC_AT + 0x400, "malloc", "/usr/lib/libc.so.6"},
	{STRIPPED_AT, STRIPPED_AT + 0x10000, NULL, "/opt/vendor/libblob.so"},
};

/* What debug information says about some return addresses. `rows` has the other names. */
static const struct sourced {
	uint64_t call;
	struct source_frame frames[3];
	size_t count;
} sourced[] = {
	{INSERT_AT + 0x33,
	 {{"_ZN5Cache4growEm", "/srv/app/src/cache.h", 12, 9, true},
	  {"_RNvC3app6innerf", "/srv/app/src/cache.h", 40, 0, true},
	  {"_ZN5Cache6insertERKSs", "/srv/app/src/cache.cpp", 88, 17, false}},
	 3},
	{LOOP_AT + 0x55, {{"main_loop", "/srv/app/src/main.c", 120, 3, false}}, 1},
	/* A file without a line number. The name is only in debug information. */
	{STRIPPED_AT + 0x1233, {{"blob_read", "blob.S", 0, 0, false}}, 1},
	{HOSTILE_AT + 1,
	 {{"in\x1b[2Jlined\n", "/tmp/\x1b]0;x\a\n\t\t0x1/evil.c", 4294967295u, 7, true},
	  {NULL, NULL, 0, 0, false}},
	 2},
	{HOSTILE_AT + 0x11,
	 {{NULL, "/tmp/no name.c", 1, 0, true}, {"x", "", 3, 0, false}},
	 2},
};

struct sourced_symbolizer {
	struct symbolizer base;
	struct symbolizer *names; /* owned */
};

static struct error *sourced_resolve(struct symbolizer *base, uint64_t address,
				     struct symbol *ret)
{
	struct symbolizer *names = ((struct sourced_symbolizer *)base)->names;

	return names->ops->resolve(names, address, ret);
}

static struct error *sourced_find(struct symbolizer *base, uint64_t address,
				  struct source_frames *ret)
{
	(void)base;
	*ret = (struct source_frames){.function_offset = 0x33};
	for (size_t i = 0; i < sizeof(sourced) / sizeof(*sourced); i++) {
		for (size_t j = 0; sourced[i].call == address && j < sourced[i].count;
		     j++) {
			struct source_frame frame = sourced[i].frames[j];

			frame.function = frame.function ? strdup(frame.function) : NULL;
			frame.file = frame.file ? strdup(frame.file) : NULL;
			REQUIRE(vec_push(&ret->list, frame));
		}
	}
	return NULL;
}

static void sourced_destroy(struct symbolizer *base)
{
	symbolizer_destroy(((struct sourced_symbolizer *)base)->names);
	free(base);
}

static const struct symbolizer_ops sourced_ops = {
	.resolve = sourced_resolve,
	.find_sources = sourced_find,
	.destroy = sourced_destroy,
};

struct symbolizer *target_names(bool with_lines)
{
	struct sourced_symbolizer *made = calloc(1, sizeof(*made));
	struct symbolizer *names;

	REQUIRE(made);
	memset(long_name, 'N', sizeof(long_name) - 1);
	REQUIRE(!symbolizer_table_create(rows, sizeof(rows) / sizeof(*rows), &names));
	if (!with_lines) {
		free(made);
		return names;
	}
	*made = (struct sourced_symbolizer){{.ops = &sourced_ops}, names};
	return &made->base;
}
