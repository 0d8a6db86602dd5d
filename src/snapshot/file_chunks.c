// SPDX-License-Identifier: Apache-2.0
#include "snapshot/file_chunks.h"

#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <zlib.h>

#include "util/cleanup.h"

/* Like the signature of PNG: a non-text byte, a name, and line ends that a transfer as
 * text would change. */
static const unsigned char magic[8] = {0x8f, 'm', 't', 's', '\r', '\n', 0x1a, '\n'};

struct head {
	unsigned char magic[8];
	uint32_t version;
	uint32_t crc; /* of the fields above */
};

struct chunk_head {
	uint32_t content_bytes; /* 0: end of the file */
	uint32_t packed_bytes;  /* 0: the content follows as it is */
	uint32_t crc;           /* of the file up to this field, and the packed bytes */
};

/* zlib's fastest level; the result is a tenth larger than with the default. */
#define LEVEL 1

_Static_assert(sizeof(struct head) == 16, "as in snapshot-format.md");
_Static_assert(sizeof(struct chunk_head) == 12, "as in snapshot-format.md");

/* The most bytes that a packed chunk can have: incompressible content grows slightly. */
static size_t packed_max(void)
{
	return compressBound(CHUNK_CONTENT);
}

static uint32_t update(uint32_t crc, const void *data, size_t size)
{
	return (uint32_t)crc32(crc, data, (uInt)size);
}

/* --- writing ------------------------------------------------------------------------ */

struct error *chunk_writer_init(struct chunk_writer *ret, FILE *out)
{
	struct head head = {.version = htole32(FILE_VERSION)};

	*ret = (struct chunk_writer){.out = out, .packed_size = packed_max()};
	ret->content = malloc(CHUNK_CONTENT);
	ret->packed = malloc(ret->packed_size);
	if (!ret->content || !ret->packed) {
		chunk_writer_deinit(ret);
		return error_no_memory();
	}
	memcpy(head.magic, magic, sizeof(magic));
	ret->crc = update(0, &head, offsetof(struct head, crc));
	head.crc = htole32(ret->crc);
	fwrite(&head, sizeof(head), 1, out);
	return NULL;
}

void chunk_writer_deinit(struct chunk_writer *writer)
{
	free(writer->content);
	free(writer->packed);
	*writer = (struct chunk_writer){0};
}

/* Write content as it is. Memory needs no checksum, which would take most of the time. */
static void write_plain(struct chunk_writer *w, const void *data, size_t size)
{
	struct chunk_head head = {.content_bytes = htole32((uint32_t)size)};

	w->crc = update(w->crc, &head, offsetof(struct chunk_head, crc));
	head.crc = htole32(w->crc);
	fwrite(&head, sizeof(head), 1, w->out);
	fwrite(data, 1, size, w->out);
}

static void write_chunk(struct chunk_writer *w)
{
	uLongf size = w->packed_size;
	struct chunk_head head = {.content_bytes = htole32((uint32_t)w->filled)};

	if (w->failed)
		return;
	if (w->stores) {
		write_plain(w, w->content, w->filled);
		w->filled = 0;
		return;
	}
	if (!w->filled)
		size = 0;
	else if (compress2(w->packed, &size, w->content, w->filled, LEVEL) != Z_OK)
		w->failed = true;
	if (w->failed)
		return;
	/* Pad to CHUNK_RATIO: readers use the ratio to bound their memory. */
	if (size < w->filled / CHUNK_RATIO) {
		memset(w->packed + size, 0, w->filled / CHUNK_RATIO - size);
		size = w->filled / CHUNK_RATIO;
	}
	head.packed_bytes = htole32((uint32_t)size);
	w->crc = update(w->crc, &head, offsetof(struct chunk_head, crc));
	w->crc = update(w->crc, w->packed, size);
	head.crc = htole32(w->crc);
	fwrite(&head, sizeof(head), 1, w->out);
	fwrite(w->packed, 1, size, w->out);
	w->filled = 0;
}

unsigned char *chunk_writer_room(struct chunk_writer *w, size_t size)
{
	if (size > CHUNK_CONTENT - w->filled)
		write_chunk(w);
	/* When out of memory, drop the content. */
	if (w->failed)
		w->filled = 0;
	w->filled += size;
	return w->content + w->filled - size;
}

void chunk_writer_add(struct chunk_writer *w, const void *data, size_t size)
{
	for (const unsigned char *at = data; size;) {
		size_t part = size < CHUNK_CONTENT ? size : CHUNK_CONTENT;

		if (w->stores && part == CHUNK_CONTENT && !w->failed) {
			/* Without a copy. */
			if (w->filled)
				write_chunk(w);
			write_plain(w, at, part);
		} else {
			memcpy(chunk_writer_room(w, part), at, part);
		}
		at += part;
		size -= part;
	}
}

void chunk_writer_add_u64(struct chunk_writer *w, uint64_t n)
{
	n = htole64(n);
	chunk_writer_add(w, &n, sizeof(n));
}

struct error *chunk_writer_finish(struct chunk_writer *w)
{
	if (w->filled)
		write_chunk(w);
	if (!w->failed)
		write_chunk(w);
	return w->failed ? error_no_memory() : NULL;
}

/* --- reading ------------------------------------------------------------------------ */

struct error *file_damaged(const char *format, ...)
{
	_cleanup_(freep) char *what = NULL;
	va_list ap;
	int len;

	va_start(ap, format);
	len = vasprintf(&what, format, ap);
	va_end(ap);
	if (len < 0) {
		what = NULL;
		return error_no_memory();
	}
	return error_create(ERROR_MALFORMED,
			    "is damaged: %s (copy the file again, or save a new one)",
			    what);
}

static struct error *read_bytes(struct chunk_reader *r, void *data, size_t size)
{
	size_t got;

	errno = 0;
	got = fread(data, 1, size, r->in);
	if (got < size && ferror(r->in))
		return error_errno(ERROR_IO, errno ? errno : EIO, "cannot be read");
	if (got < size)
		return error_create(
			ERROR_MALFORMED,
			"is cut short: copy the file again, or save a new one");
	r->left_bytes -= size < r->left_bytes ? size : r->left_bytes;
	return NULL;
}

struct error *chunk_reader_init(struct chunk_reader *ret, FILE *in, uint64_t size_bytes)
{
	struct head head;
	struct error *err;

	*ret = (struct chunk_reader){.in = in, .left_bytes = size_bytes};
	ret->content = malloc(CHUNK_CONTENT);
	ret->packed = malloc(packed_max());
	if (!ret->content || !ret->packed)
		return error_no_memory();
	memset(&head, 0, sizeof(head));
	err = read_bytes(ret, &head, sizeof(head));
	if (err && err->code == ERROR_IO)
		return err;
	if (memcmp(head.magic, magic, sizeof(magic))) {
		error_destroy(err);
		return error_create(
			ERROR_MALFORMED,
			"is not a memtrace snapshot (a file that --save wrote)");
	}
	if (err)
		return err;
	ret->crc = update(0, &head, offsetof(struct head, crc));
	if (le32toh(head.crc) != ret->crc)
		return file_damaged("its head has a wrong checksum");
	if (le32toh(head.version) != FILE_VERSION)
		return error_create(
			ERROR_UNSUPPORTED,
			"is a snapshot in format %" PRIu32
			"; this memtrace reads format %d: use the memtrace that saved it",
			le32toh(head.version), FILE_VERSION);
	return NULL;
}

void chunk_reader_deinit(struct chunk_reader *reader)
{
	free(reader->content);
	free(reader->packed);
	*reader = (struct chunk_reader){0};
}

static struct error *unpack(struct chunk_reader *r, size_t packed, size_t content)
{
	z_stream stream = {.next_in = r->packed,
			   .avail_in = (uInt)packed,
			   .next_out = r->content,
			   .avail_out = (uInt)content};
	int result;

	if (inflateInit(&stream) != Z_OK)
		return error_no_memory();
	result = inflate(&stream, Z_FINISH);
	inflateEnd(&stream);
	if (result == Z_MEM_ERROR)
		return error_no_memory();
	if (result != Z_STREAM_END || stream.avail_out)
		return file_damaged("a chunk does not unpack to its size");
	r->at = 0;
	r->filled = content;
	return NULL;
}

/* Content that is not packed goes to `to`, if it fits into `room` bytes there, and
 * *ret_size becomes its size. All other content goes to r->content. */
static struct error *read_chunk(struct chunk_reader *r, void *to, size_t room,
				size_t *ret_size)
{
	struct chunk_head head;
	struct error *err = read_bytes(r, &head, sizeof(head));
	uint32_t content = err ? 0 : le32toh(head.content_bytes);
	uint32_t packed = err ? 0 : le32toh(head.packed_bytes);
	bool is_direct;

	if (err)
		return err;
	if (content > CHUNK_CONTENT || packed > packed_max() ||
	    (packed && content / CHUNK_RATIO > packed) || (!content && packed))
		return file_damaged("a chunk has a wrong size");
	is_direct = !packed && content && content <= room;
	err = packed ? read_bytes(r, r->packed, packed)
		     : read_bytes(r, is_direct ? to : r->content, content);
	if (err)
		return err;
	r->crc = update(r->crc, &head, offsetof(struct chunk_head, crc));
	r->crc = update(r->crc, r->packed, packed);
	if (le32toh(head.crc) != r->crc)
		return file_damaged("a chunk has a wrong checksum");
	if (packed)
		return unpack(r, packed, content);
	if (is_direct) {
		*ret_size = content;
		return NULL;
	}
	r->at = 0;
	r->filled = content;
	if (content)
		return NULL;
	r->ended = true;
	if (fgetc(r->in) != EOF)
		return file_damaged("something follows its end");
	return NULL;
}

struct error *chunk_reader_get(struct chunk_reader *r, size_t size,
			       const unsigned char **ret, size_t *ret_size)
{
	struct error *err = NULL;

	if (r->at == r->filled && !r->ended)
		err = read_chunk(r, NULL, 0, NULL);
	if (err)
		return err;
	*ret = r->content + r->at;
	*ret_size = size < r->filled - r->at ? size : r->filled - r->at;
	r->at += *ret_size;
	return NULL;
}

void chunk_reader_unget(struct chunk_reader *r, size_t size)
{
	r->at -= size;
}

struct error *chunk_reader_fill(struct chunk_reader *r, void *data, uint64_t size)
{
	unsigned char *to = data;

	while (size) {
		const unsigned char *from;
		size_t most = size < CHUNK_CONTENT ? (size_t)size : CHUNK_CONTENT;
		size_t got = 0;
		struct error *err = NULL;

		if (to && r->at == r->filled && !r->ended)
			err = read_chunk(r, to, most, &got);
		if (got) {
			to += got;
			size -= got;
			continue;
		}
		if (!err)
			err = chunk_reader_get(r, most, &from, &got);
		if (err)
			return err;
		if (!got)
			return file_damaged("its content is cut short");
		if (to) {
			memcpy(to, from, got);
			to += got;
		}
		size -= got;
	}
	return NULL;
}

struct error *chunk_reader_get_u64(struct chunk_reader *r, uint64_t *ret)
{
	struct error *err = chunk_reader_fill(r, ret, sizeof(*ret));

	if (!err)
		*ret = le64toh(*ret);
	return err;
}

uint64_t chunk_reader_most(const struct chunk_reader *r)
{
	uint64_t most;

	/* The heads of chunks count too, which makes up for the rounding of the
	 * division. */
	if (__builtin_mul_overflow(r->left_bytes, (uint64_t)CHUNK_RATIO, &most))
		most = UINT64_MAX / 2;
	return r->filled - r->at + most;
}
