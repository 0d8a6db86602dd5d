// SPDX-License-Identifier: Apache-2.0
#include "kernel_heap/kernel_functions.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/nearest.h"

struct walk {
	FILE *symbols;
	char *line;
	size_t cap;
	uint64_t address;
	const char *name; /* points into `line`, `len` bytes */
	size_t len;
};

/* Read the next code symbol. */
static bool walk_next(struct walk *w)
{
	while (w->symbols && getline(&w->line, &w->cap, w->symbols) > 0) {
		int at = 0, end = 0;
		char type;

		if (sscanf(w->line, "%" SCNx64 " %c %n%*s%n", &w->address, &type, &at,
			   &end) != 2 ||
		    end <= at || !strchr("tTwW", type))
			continue;
		w->name = w->line + at;
		w->len = (size_t)(end - at);
		return true;
	}
	return false;
}

static bool walk_is_at(const struct walk *w, const char *name)
{
	return w->len == strlen(name) && !memcmp(w->name, name, w->len);
}

struct error *kernel_functions_explain(FILE *symbols, const char *name)
{
	_cleanup_(strbuf_deinit) struct strbuf near = {0};
	struct walk w = {.symbols = symbols};
	struct nearest nearest = {.wanted = name};
	size_t count = 0;

	while (walk_next(&w)) {
		if (walk_is_at(&w, name))
			count++;
		nearest_offer(&nearest, w.name, w.len);
	}
	free(w.line);
	if (count > 1)
		return error_create(ERROR_UNSUPPORTED,
				    "this kernel has %zu functions named %s, and "
				    "memtrace cannot tell which one is meant",
				    count, name);
	if (count)
		return error_create(ERROR_UNSUPPORTED,
				    "this kernel permits no probe in its function %s",
				    name);
	nearest_append(&nearest, &near);
	if (near.failed)
		return error_no_memory();
	return error_create(ERROR_NOT_FOUND, "this kernel has no function %s%s", name,
			    strbuf_text(&near));
}

struct error *kernel_functions_check_offset(FILE *symbols, const char *name,
					    uint64_t offset)
{
	struct walk w = {.symbols = symbols};
	uint64_t begin = 0, next = UINT64_MAX;

	while (!begin && walk_next(&w))
		if (walk_is_at(&w, name))
			begin = w.address;
	if (begin)
		rewind(symbols);
	while (begin && walk_next(&w))
		if (w.address > begin && w.address < next)
			next = w.address;
	free(w.line);
	if (next == UINT64_MAX || offset < next - begin)
		return NULL;
	return error_create(ERROR_NOT_FOUND,
			    "the kernel's function %s has %" PRIu64 " bytes: +%" PRIu64
			    " is behind its end",
			    name, next - begin, offset);
}
