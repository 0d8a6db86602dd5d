// SPDX-License-Identifier: Apache-2.0
#include "manual/template.h"

#include <string.h>

#define NAME_CHARS "ABCDEFGHIJKLMNOPQRSTUVWXYZ_"

#define PARTS_MAX  64

/* The length of NAME if `at` is the '@' of @NAME@, else 0. */
static size_t name_length(const char *at)
{
	size_t len = strspn(at + 1, NAME_CHARS);

	return at[len + 1] == '@' ? len : 0;
}

static const struct template_part *find_part(const struct template_part *parts,
					     const char *name, size_t len)
{
	while (parts->name &&
	       (strlen(parts->name) != len || memcmp(parts->name, name, len)))
		parts++;
	return parts;
}

static struct error *check_all_used(const struct template_part *parts, uint64_t used)
{
	for (size_t i = 0; parts[i].name; i++) {
		if (!(used & (UINT64_C(1) << i)))
			return error_create(ERROR_MALFORMED,
					    "@%s@ is not in the template", parts[i].name);
	}
	return NULL;
}

struct error *template_expand(const char *text, const struct template_part *parts,
			      struct strbuf *to)
{
	uint64_t used = 0; /* a bit for each of `parts` */

	while (*text) {
		size_t before = strcspn(text, "@"), len;
		const struct template_part *part;

		strbuf_append_bytes(to, text, before);
		text += before;
		len = *text ? name_length(text) : 0;
		if (!len) {
			if (*text)
				strbuf_append_char(to, *text++);
			continue;
		}
		part = find_part(parts, text + 1, len);
		if (!part->name || part - parts >= PARTS_MAX)
			return error_create(ERROR_MALFORMED, "@%.*s@ is unknown",
					    (int)len, text + 1);
		part->write(to);
		used |= UINT64_C(1) << (part - parts);
		text += len + 2;
		if (*text == '\n' && to->len && to->data[to->len - 1] == '\n')
			text++;
	}
	return to->failed ? error_no_memory() : check_all_used(parts, used);
}
