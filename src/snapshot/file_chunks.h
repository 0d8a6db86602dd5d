/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer layer of a snapshot file: a stream of bytes in compressed chunks with
 * checksums, or in plain ones. See docs/snapshot-format.md. Private to snapshot/.
 */
#ifndef SNAPSHOT_FILE_CHUNKS_H
#define SNAPSHOT_FILE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

#define FILE_VERSION 1

/* The maximum content of a chunk, bytes. */
#define CHUNK_CONTENT ((size_t)256 * 1024)
/* A packed chunk has at least its content divided by this. */
#define CHUNK_RATIO 64

struct chunk_writer {
	FILE *out;              /* borrowed */
	unsigned char *content; /* CHUNK_CONTENT bytes, `filled` of them in use */
	unsigned char *packed;  /* room for any chunk */
	size_t filled, packed_size;
	uint32_t crc; /* of everything written so far */
	bool failed;  /* out of memory */
	bool stores;  /* plain chunks; may be set after chunk_writer_init() */
};

/* Write the head of the file. */
struct error *chunk_writer_init(struct chunk_writer *ret, FILE *out)
	__attribute__((warn_unused_result));
void chunk_writer_deinit(struct chunk_writer *writer);

/* Room for `size` bytes (at most CHUNK_CONTENT) of content, to be filled before the
 * next call. */
unsigned char *chunk_writer_room(struct chunk_writer *writer, size_t size);
void chunk_writer_add(struct chunk_writer *writer, const void *data, size_t size);
void chunk_writer_add_u64(struct chunk_writer *writer, uint64_t n);

/* Write the rest and the end. Fails if any call was out of memory. */
struct error *chunk_writer_finish(struct chunk_writer *writer)
	__attribute__((warn_unused_result));

struct chunk_reader {
	FILE *in;            /* borrowed */
	uint64_t left_bytes; /* unread bytes of the file */
	unsigned char *content, *packed;
	size_t at, filled; /* position in the content, and its size */
	uint32_t crc;
	bool ended;
};

/* Read and check the head. Call chunk_reader_deinit(), also after a failure. */
struct error *chunk_reader_init(struct chunk_reader *ret, FILE *in, uint64_t size_bytes)
	__attribute__((warn_unused_result));
void chunk_reader_deinit(struct chunk_reader *reader);

/* Get up to `size` bytes of content, and at least one before the content's end.
 * Borrowed until the next call. */
struct error *chunk_reader_get(struct chunk_reader *reader, size_t size,
			       const unsigned char **ret, size_t *ret_size)
	__attribute__((warn_unused_result));

/* Return the last `size` bytes of chunk_reader_get(). */
void chunk_reader_unget(struct chunk_reader *reader, size_t size);

/* Read exactly `size` bytes into `data`; NULL: skip them. */
struct error *chunk_reader_fill(struct chunk_reader *reader, void *data, uint64_t size)
	__attribute__((warn_unused_result));
struct error *chunk_reader_get_u64(struct chunk_reader *reader, uint64_t *ret)
	__attribute__((warn_unused_result));

/* An upper bound of the content left in the file, in bytes. */
uint64_t chunk_reader_most(const struct chunk_reader *reader);

/* An error "is damaged: ..." (printf-style), with what the user can do. */
struct error *file_damaged(const char *format, ...)
	__attribute__((format(printf, 1, 2), warn_unused_result));

#endif
