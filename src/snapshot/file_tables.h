/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of a snapshot file, described once for writer and reader. A field that is
 * added to a struct of snapshot.h is one line in file_tables.c: readers that do not
 * know it skip it, and it is 0 when a file does not have it. Private to snapshot/.
 */
#ifndef SNAPSHOT_FILE_TABLES_H
#define SNAPSHOT_FILE_TABLES_H

#include <endian.h>
#include <string.h>

#include "snapshot/snapshot.h"

enum file_kind {
	FILE_INTEGER, /* of 1, 2, 4 or 8 bytes, with or without sign */
	FILE_FLAG,    /* bool: one byte, 0 or 1 */
	FILE_FLOAT,   /* double: IEEE 754 binary64 */
	FILE_TEXT,    /* char *: the index of a string, 4 bytes */
};

/* A column of a table: a member of the row's struct. */
struct file_field {
	const char *name;
	size_t offset; /* of the member */
	enum file_kind kind;
	uint8_t width;  /* of one element in memory, bytes */
	uint16_t count; /* elements; more than 1 for an array */
};

struct file_table {
	const char *name;
	size_t offset;    /* in struct file_content, of a VEC() or of the first row */
	size_t rows;      /* fixed number of rows; 0: a VEC() */
	size_t row_bytes; /* in memory */
	const struct file_field *fields;
	size_t field_count;
};

struct file_module {
	uint32_t process; /* index */
	struct snapshot_module module;
};

struct file_loss {
	char *name; /* loss_name() */
	uint64_t count;
};

struct file_end {
	char *name; /* stack_end_name() of the end whose number is the row's index */
};

/* A snapshot in the form of its tables. The snapshot owns all data pointed to. */
struct file_content {
	struct snapshot snap;
	VEC(struct file_module) modules; /* in the order of processes */
	VEC(struct file_loss) losses;
	VEC(struct file_end) ends;
};

/* Free the vectors of `content` itself, but not the snapshot's. */
void file_content_deinit(struct file_content *content);

extern const struct file_table file_tables[];
extern const size_t file_table_count;

/* The rows of a table: the first one and their number. */
struct file_rows {
	char *first;
	size_t count;
};
struct file_rows file_rows_get(const struct file_table *table,
			       struct file_content *content);

/* Make `count` rows in an empty VEC(), zeroed if `is_zeroed`; fixed rows stay as they
 * are. False when out of memory. */
bool file_rows_make(const struct file_table *table, struct file_content *content,
		    size_t count, bool is_zeroed) __attribute__((warn_unused_result));

/* Can the rows be copied from memory to memory? Only a VEC() without strings. */
bool file_table_is_plain(const struct file_table *table);

/* The size of one element in the file, in bytes. */
size_t file_field_bytes(const struct file_field *field);

/* The letter for the kind in the file. */
char file_kind_letter(enum file_kind kind);

/* Convert a number of `width` (1, 2, 4 or 8) bytes between the machine's byte order and
 * the file's (little-endian), in either direction. Neither needs alignment. */
static inline void file_copy_integer(void *to, const void *from, size_t width)
{
	uint16_t half;
	uint32_t word;
	uint64_t whole;

	switch (width) {
	case 1:
		memcpy(to, from, 1);
		break;
	case 2:
		memcpy(&half, from, sizeof(half));
		half = htole16(half);
		memcpy(to, &half, sizeof(half));
		break;
	case 4:
		memcpy(&word, from, sizeof(word));
		word = htole32(word);
		memcpy(to, &word, sizeof(word));
		break;
	default:
		memcpy(&whole, from, sizeof(whole));
		whole = htole64(whole);
		memcpy(to, &whole, sizeof(whole));
		break;
	}
}

#endif
