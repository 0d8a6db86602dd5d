/* SPDX-License-Identifier: Apache-2.0 */
/* A gzip stream (RFC 1952) into a FILE. Equal input gives equal output: no time and no
 * name is in it. Private to render/. */
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

/* Begin a stream. A failed write of `out` (borrowed) is for its owner to see. Fails only
 * when memory is out; then there is nothing to deinit. */
struct error *gzip_init(struct gzip *ret, FILE *out) __attribute__((warn_unused_result));
void gzip_deinit(struct gzip *gzip);

void gzip_write(struct gzip *gzip, const void *data, size_t size_bytes);

/* Write what is left and the end of the stream. */
void gzip_finish(struct gzip *gzip);

#endif
