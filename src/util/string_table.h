/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of distinct strings, identified by an index: 0, 1, 2... in the order of
 * adding. `struct string_table names = {0};` is empty and ready.
 */
#ifndef UTIL_STRING_TABLE_H
#define UTIL_STRING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hashmap.h"
#include "util/vec.h"

/* The index for NULL. */
#define STRING_NONE UINT32_MAX

struct string_table {
	VEC(char) bytes;          /* all strings, each ended by a NUL */
	VEC(uint32_t) starts;     /* offset of each string in `bytes` */
	struct hashmap by_hash;   /* hash of the text -> index */
	bool is_hashed, is_fixed; /* by_hash is filled; the table is read-only */
};

void string_table_deinit(struct string_table *table);

/* Get the index of `text`, and add a copy if it is new; STRING_NONE for NULL. False:
 * memory is out, or the table has 4 GiB of text. */
bool string_table_add(struct string_table *table, const char *text, uint32_t *ret)
	__attribute__((warn_unused_result));

/* The string with an index, or NULL. Borrowed until the next string is added. */
const char *string_table_get(const struct string_table *table, uint32_t index);

/*
 * Fill an empty table with `len` bytes from malloc(): strings, each ended by a NUL.
 * Takes ownership of `bytes`. The table is then read-only. False: the last string has
 * no end, or memory is out; the caller keeps `bytes`.
 */
bool string_table_take(struct string_table *table, char *bytes, size_t len)
	__attribute__((warn_unused_result));

/* Fill the empty table `to` with the strings of `from`. It is then read-only. False:
 * memory is out. */
bool string_table_copy(const struct string_table *from, struct string_table *to)
	__attribute__((warn_unused_result));

/* True when `text` points into the table. */
bool string_table_owns(const struct string_table *table, const char *text);

/* The index of a string that the table owns. */
uint32_t string_table_index(const struct string_table *table, const char *text);

#endif
