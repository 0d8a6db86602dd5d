/* SPDX-License-Identifier: Apache-2.0 */
/* Unpacks profiles that were served. */
#ifndef TESTS_SERVE_PROFILE_H
#define TESTS_SERVE_PROFILE_H

#include <zlib.h>

#include "http.h"
#include "profile.pb-c.h"

#define PROFILE_CAP ((size_t)8 << 20)

/* The caller calls pprof__profile__free_unpacked(). `ret_bytes`: before compression; may
 * be NULL. */
static inline Pprof__Profile *profile_of(const struct http_answer *a, size_t *ret_bytes)
{
	uint8_t *bytes = malloc(PROFILE_CAP);
	z_stream stream = {.next_in = (unsigned char *)a->body,
			   .avail_in = (uInt)a->body_len,
			   .next_out = bytes,
			   .avail_out = PROFILE_CAP};
	Pprof__Profile *p;

	/* 16: only the gzip format. */
	REQUIRE(bytes && inflateInit2(&stream, 15 + 16) == Z_OK);
	REQUIRE(inflate(&stream, Z_FINISH) == Z_STREAM_END);
	inflateEnd(&stream);
	p = pprof__profile__unpack(NULL, stream.total_out, bytes);
	REQUIRE(p);
	free(bytes);
	if (ret_bytes)
		*ret_bytes = stream.total_out;
	return p;
}

/* The sum of all samples' values of this type. */
static inline int64_t profile_sum(const Pprof__Profile *p, const char *type)
{
	int64_t total = 0;

	for (size_t i = 0; i < p->n_sample_type; i++) {
		if (strcmp(p->string_table[p->sample_type[i]->type], type) != 0)
			continue;
		for (size_t k = 0; k < p->n_sample; k++)
			total += p->sample[k]->value[i];
	}
	return total;
}

#endif
