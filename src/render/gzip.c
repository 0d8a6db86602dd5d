// SPDX-License-Identifier: Apache-2.0
#include "render/gzip.h"

#include <limits.h>
#include <stdbool.h>

/* The fastest level: level 3 takes a quarter longer and saves only a twentieth of the
 * size. */
#define LEVEL 1

/* For deflateInit2(): 15 is the largest window, 16 asks for a gzip header, and 8 is
 * zlib's default memLevel. */
#define WINDOW_BITS (15 + 16)
#define MEMORY      8

struct error *gzip_init(struct gzip *ret, FILE *out)
{
	*ret = (struct gzip){.out = out};
	if (deflateInit2(&ret->stream, LEVEL, Z_DEFLATED, WINDOW_BITS, MEMORY,
			 Z_DEFAULT_STRATEGY) != Z_OK)
		return error_no_memory();
	return NULL;
}

void gzip_deinit(struct gzip *gzip)
{
	deflateEnd(&gzip->stream);
}

/* Run deflate() until it has consumed the input and, with Z_FINISH, has written the end.
 * Either way it is done when it leaves room in the output buffer. */
static void deflate_all(struct gzip *gzip, int flush)
{
	unsigned char buf[16 * 1024];

	do {
		gzip->stream.next_out = buf;
		gzip->stream.avail_out = sizeof(buf);
		deflate(&gzip->stream, flush);
		fwrite(buf, 1, sizeof(buf) - gzip->stream.avail_out, gzip->out);
	} while (!gzip->stream.avail_out);
}

void gzip_write(struct gzip *gzip, const void *data, size_t size_bytes)
{
	const unsigned char *at = data;

	while (size_bytes) {
		uInt part = size_bytes > UINT_MAX / 2 ? UINT_MAX / 2 : (uInt)size_bytes;

		/* The cast is safe: zlib only reads the input. */
		gzip->stream.next_in = (unsigned char *)at;
		gzip->stream.avail_in = part;
		deflate_all(gzip, Z_NO_FLUSH);
		at += part;
		size_bytes -= part;
	}
}

void gzip_finish(struct gzip *gzip)
{
	gzip->stream.next_in = NULL;
	gzip->stream.avail_in = 0;
	deflate_all(gzip, Z_FINISH);
}
