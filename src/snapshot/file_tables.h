/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is in a snapshot file: tables, described once for writer and reader. A field that
 * is added to a struct of snapshot.h is one line in file_tables.c: readers that do not
 * know it pass over it, and in a file that does not have it it is 0. Private to
 * snapshot/.
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

/* A column of a table: a member of the struct that is a row. */
struct file_field {
	const char *name;
	size_t offset; /* of the member */
	enum file_kind kind;
	uint8_t width;  /* of one element in memory, bytes */
	uint16_t count; /* elements, those of an array */
};

struct file_table {
	const char *name;
	size_t offset;    /* in struct file_content, of a VEC() or of the first row */
	size_t rows;      /* how many there always are; 0: a VEC() */
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
	char *name; /* stack_end_name() of the number that is its index */
};

/* A snapshot in the shape of its tables. What is pointed to is the snapshot's. */
struct file_content {
	struct snapshot snap;
	VEC(struct file_module) modules; /* in the order of processes */
	VEC(struct file_loss) losses;
	VEC(struct file_end) ends;
};

/* Free the vectors of its own; the snapshot stays. */
void file_content_deinit(struct file_content *content);

extern const struct file_table file_tables[];
extern const size_t file_table_count;

/* The rows of a table: their number and the first. */
struct file_rows {
	char *first;
	size_t count;
};
struct file_rows file_rows_get(const struct file_table *table,
			       struct file_content *content);

/* Make `count` zeroed rows in a VEC() that is empty; those that there always are stay.
 * False when memory is out. */
bool file_rows_make(const struct file_table *table, struct file_content *content,
		    size_t count) __attribute__((warn_unused_result));

/* Bytes of one element in the file. */
size_t file_field_bytes(const struct file_field *field);

/* What stands for the kind in the file. */
char file_kind_letter(enum file_kind kind);

/* A number of `width` bytes, 1, 2, 4 or 8, from the byte order of the machine to that of
 * the file (little endian), or back, which is the same. Neither needs alignment. */
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
