// SPDX-License-Identifier: Apache-2.0
#include "symbol/kernel_names.h"

#include <stdlib.h>
#include <string.h>

#include "util/cleanup.h"
#include "util/vec.h"

/* The highest bit is set in every kernel address and in no user address
 * (Documentation/arch/x86/x86_64/mm.rst). */
#define KERNEL_BIT (UINT64_C(1) << 63)

struct kernel_symbol {
	uint64_t address;
	size_t name, module; /* offsets in `text`; module 0: none */
};

struct kernel_names {
	VEC(struct kernel_symbol) list; /* by address */
	VEC(char) text;                 /* strings, each ended by NUL */
	bool failed;
};

struct kernel_symbolizer {
	struct symbolizer base;
	struct symbolizer *user;
	const struct kernel_names *names;
};

/* Copy `len` bytes into `text`, and return the copy's offset. */
static size_t keep(struct kernel_names *names, const char *text, size_t len)
{
	size_t at = names->text.len;

	if (!vec_reserve(&names->text, at + len + 1)) {
		names->failed = true;
		return 0;
	}
	memcpy(names->text.data + at, text, len);
	names->text.data[at + len] = '\0';
	names->text.len += len + 1;
	return at;
}

static void add_line(struct kernel_names *names, const char *line)
{
	struct kernel_symbol symbol = {0};
	char *end;

	symbol.address = strtoull(line, &end, 16);
	/* "ffffffff81000000 T _text", "... t name\t[module]": code, strong or weak. */
	if (!(symbol.address & KERNEL_BIT) || end[0] != ' ' || !end[1] ||
	    !strchr("tTwW", end[1]) || end[2] != ' ')
		return;

	const char *name = end + 3, *module = strchr(name, '[');
	size_t len = strcspn(name, " \t\n");

	if (!len)
		return;
	symbol.name = keep(names, name, len);
	if (module && module > name + len)
		symbol.module = keep(names, module, strcspn(module, "\n"));
	if (names->failed || !vec_push(&names->list, symbol))
		names->failed = true;
}

static int compare(const void *pa, const void *pb)
{
	const struct kernel_symbol *a = pa, *b = pb;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	/* Of several names of one address the first one stays first. */
	return a->name < b->name ? -1 : a->name > b->name;
}

struct kernel_names *kernel_names_read(FILE *file)
{
	struct kernel_names *names = calloc(1, sizeof(*names));
	_cleanup_(freep) char *line = NULL;
	size_t cap = 0;

	if (!names)
		return NULL;
	keep(names, "", 0); /* so that no string is at 0 */
	while (getline(&line, &cap, file) > 0 && !names->failed)
		add_line(names, line);
	if (names->failed) {
		kernel_names_destroy(names);
		return NULL;
	}
	if (names->list.len)
		qsort(names->list.data, names->list.len, sizeof(*names->list.data),
		      compare);
	return names;
}

void kernel_names_destroy(struct kernel_names *names)
{
	if (!names)
		return;
	vec_deinit(&names->list);
	vec_deinit(&names->text);
	free(names);
}

bool kernel_names_are_hidden(const struct kernel_names *names)
{
	return !names->list.len;
}

bool kernel_names_each(const struct kernel_names *names,
		       bool (*fn)(const char *name, uint64_t start, uint64_t end,
				  void *arg),
		       void *arg)
{
	size_t next = 0;

	for (size_t i = 0; i < names->list.len; i++) {
		const struct kernel_symbol *symbol = &names->list.data[i];

		while (next < names->list.len &&
		       names->list.data[next].address <= symbol->address)
			next++;
		/* The end of the last function is unknown. */
		if (next == names->list.len)
			return true;
		if (!fn(names->text.data + symbol->name, symbol->address,
			names->list.data[next].address, arg))
			return false;
	}
	return true;
}

/* The last function that begins at or below `address`, or NULL. */
static const struct kernel_symbol *find(const struct kernel_names *names,
					uint64_t address)
{
	size_t low = vec_count_up_to(&names->list, address, address);

	if (!low)
		return NULL;
	address = names->list.data[--low].address;
	while (low && names->list.data[low - 1].address == address)
		low--;
	return &names->list.data[low];
}

static struct error *kernel_resolve(struct symbolizer *base, uint64_t address,
				    struct symbol *ret)
{
	struct kernel_symbolizer *self = (struct kernel_symbolizer *)base;
	const struct kernel_symbol *symbol;
	const char *text = self->names->text.data;

	if (!(address & KERNEL_BIT) && self->user)
		return self->user->ops->resolve(self->user, address, ret);
	*ret = (struct symbol){0};
	if (!(address & KERNEL_BIT))
		return NULL;
	symbol = find(self->names, address);
	if (!symbol)
		return NULL;
	ret->module = strdup(symbol->module ? text + symbol->module : "[kernel]");
	ret->name = strdup(text + symbol->name);
	if (!ret->module || !ret->name) {
		symbol_deinit(ret);
		return error_no_memory();
	}
	ret->offset = address - symbol->address;
	return NULL;
}

static bool kernel_mappings_changed(struct symbolizer *base)
{
	struct symbolizer *user = ((struct kernel_symbolizer *)base)->user;

	return user && user->ops->mappings_changed && user->ops->mappings_changed(user);
}

static void kernel_destroy(struct symbolizer *base)
{
	symbolizer_destroy(((struct kernel_symbolizer *)base)->user);
	free(base);
}

static struct error *kernel_find_sources(struct symbolizer *base, uint64_t address,
					 struct source_frames *ret)
{
	struct symbolizer *user = ((struct kernel_symbolizer *)base)->user;

	return user && user->ops->find_sources && !(address & KERNEL_BIT)
		       ? user->ops->find_sources(user, address, ret)
		       : NULL;
}

static const struct symbolizer_ops kernel_ops = {
	.resolve = kernel_resolve,
	.find_sources = kernel_find_sources,
	.mappings_changed = kernel_mappings_changed,
	.destroy = kernel_destroy,
};

struct error *symbolizer_with_kernel(struct symbolizer *user,
				     const struct kernel_names *names,
				     struct symbolizer **ret)
{
	struct kernel_symbolizer *self = calloc(1, sizeof(*self));

	if (!self) {
		symbolizer_destroy(user);
		return error_no_memory();
	}
	self->base.ops = &kernel_ops;
	self->user = user;
	self->names = names;
	*ret = &self->base;
	return NULL;
}
