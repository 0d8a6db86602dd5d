// SPDX-License-Identifier: Apache-2.0
/* Writes a profile in parts. */
#include "render/pprof/parts.h"

#include "util/cleanup.h"
#include "util/escape.h"

#define FLUSH_BYTES ((size_t)64 * 1024)

void pprof_flush(struct pprof_builder *b)
{
	gzip_write(&b->gzip, b->packed.data, b->packed.len);
	b->packed.len = 0;
}

uint8_t *pprof_extend(struct pprof_builder *b, size_t size)
{
	if (b->packed.len >= FLUSH_BYTES && !b->keeps_packed)
		pprof_flush(b);
	if (!vec_reserve(&b->packed, b->packed.len + size)) {
		b->failed = true;
		return NULL;
	}
	b->packed.len += size;
	return b->packed.data + b->packed.len - size;
}

void pprof_write_part(struct pprof_builder *b, const Pprof__Profile *part)
{
	uint8_t *to = pprof_extend(b, pprof__profile__get_packed_size(part));

	if (to)
		pprof__profile__pack(part, to);
}

int64_t pprof_write_string(struct pprof_builder *b, const char *text)
{
	Pprof__Profile part = PPROF__PROFILE__INIT;
	char *list[] = {(char *)text};

	part.n_string_table = 1;
	part.string_table = list;
	pprof_write_part(b, &part);
	return b->strings++;
}

int64_t pprof_write_text(struct pprof_builder *b, const char *text)
{
	_cleanup_(freep) char *escaped = text ? escape_dup(text) : NULL;

	if (text && !escaped)
		b->failed = true;
	return escaped && *escaped ? pprof_write_string(b, escaped) : 0;
}
