/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The outer form of a snapshot file: a stream of bytes in compressed, checked chunks. See
 * FORMAT.md. Private to snapshot/.
 */
#ifndef SNAPSHOT_FILE_CHUNKS_H
#define SNAPSHOT_FILE_CHUNKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "util/error.h"

#define FILE_VERSION 1

/* At most so much content is in a chunk, bytes. */
#define CHUNK_CONTENT ((size_t)256 * 1024)
/* What a chunk has in the file is at least its content divided by this. */
#define CHUNK_RATIO 64

struct chunk_writer {
	FILE *out;              /* borrowed */
	unsigned char *content; /* CHUNK_CONTENT bytes, `filled` of them in use */
	unsigned char *packed;  /* room for any chunk */
	size_t filled, packed_size;
	uint32_t crc; /* of all that was written */
	bool failed;  /* memory is out */
};

/* Write the head of the file. */
struct error *chunk_writer_init(struct chunk_writer *ret, FILE *out)
	__attribute__((warn_unused_result));
void chunk_writer_deinit(struct chunk_writer *writer);

/* Room for `size` bytes (at most CHUNK_CONTENT) of content, to be filled at once. */
unsigned char *chunk_writer_room(struct chunk_writer *writer, size_t size);
void chunk_writer_add(struct chunk_writer *writer, const void *data, size_t size);
void chunk_writer_add_u64(struct chunk_writer *writer, uint64_t n);

/* Write what is left and the end. Fails when memory was out at any time. */
struct error *chunk_writer_finish(struct chunk_writer *writer)
	__attribute__((warn_unused_result));

struct chunk_reader {
	FILE *in;            /* borrowed */
	uint64_t left_bytes; /* of the file, that were not read */
	unsigned char *content, *packed;
	size_t at, filled; /* of the content */
	uint32_t crc;
	bool ended;
};

/* Read and judge the head. `ret` is the caller's to deinit, also after an error. */
struct error *chunk_reader_init(struct chunk_reader *ret, FILE *in, uint64_t size_bytes)
	__attribute__((warn_unused_result));
void chunk_reader_deinit(struct chunk_reader *reader);

/* Up to `size` bytes of content, at least one unless the content has ended. Borrowed
 * until the next call. */
struct error *chunk_reader_get(struct chunk_reader *reader, size_t size,
			       const unsigned char **ret, size_t *ret_size)
	__attribute__((warn_unused_result));

/* Take back the last `size` bytes of those. */
void chunk_reader_unget(struct chunk_reader *reader, size_t size);

/* Exactly `size` bytes into `data` (NULL: to be left out). */
struct error *chunk_reader_fill(struct chunk_reader *reader, void *data, uint64_t size)
	__attribute__((warn_unused_result));
struct error *chunk_reader_get_u64(struct chunk_reader *reader, uint64_t *ret)
	__attribute__((warn_unused_result));

/* The most content that the file can still have, in bytes. */
uint64_t chunk_reader_most(const struct chunk_reader *reader);

/* printf-style "is damaged: ...". */
struct error *file_damaged(const char *format, ...)
	__attribute__((format(printf, 1, 2), warn_unused_result));

#endif
