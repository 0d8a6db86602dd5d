/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a gzip stream (RFC 1952) to a FILE. Equal input gives equal output, because the
 * header contains no time and no name. Private to render/. */
#ifndef RENDER_GZIP_H
#define RENDER_GZIP_H

#include <stddef.h>
#include <stdio.h>

#include <zlib.h>

#include "util/error.h"

struct gzip {
	z_stream stream;
	FILE *out;
};

/* Begin a stream. The caller checks `out` (borrowed) for failed writes. Fails only if
 * out of memory; then no deinit is needed. */
struct error *gzip_init(struct gzip *ret, FILE *out) __attribute__((warn_unused_result));
void gzip_deinit(struct gzip *gzip);

void gzip_write(struct gzip *gzip, const void *data, size_t size_bytes);

/* Write the remaining data and the end of the stream. */
void gzip_finish(struct gzip *gzip);

#endif
