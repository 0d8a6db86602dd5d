/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many strings, each different one once, known by their index: 0, 1, 2... in the order
 * in which they came. `struct string_table names = {0};` is empty and ready.
 */
#ifndef UTIL_STRING_TABLE_H
#define UTIL_STRING_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/hashmap.h"
#include "util/vec.h"

/* The index of no string. */
#define STRING_NONE UINT32_MAX

struct string_table {
	VEC(char) bytes;          /* all of them, each ended by NUL */
	VEC(uint32_t) starts;     /* by index, in bytes */
	struct hashmap by_hash;   /* of the text, to an index */
	bool is_hashed, is_fixed; /* by_hash is in use; nothing can be added */
};

void string_table_deinit(struct string_table *table);

/* The index of `text`, which is copied if it is new; STRING_NONE for NULL. False when
 * memory is out or there are 4 GiB of text. */
bool string_table_add(struct string_table *table, const char *text, uint32_t *ret)
	__attribute__((warn_unused_result));

/* The string of an index, or NULL when there is none of it. Borrowed until the next one
 * is added. */
const char *string_table_get(const struct string_table *table, uint32_t index);

/*
 * Fill an empty table with `len` bytes from malloc(), which it then owns: strings, each
 * ended by NUL. Nothing can be added to it. False, with `bytes` still the caller's, when
 * the last one has no end, or when memory is out.
 */
bool string_table_take(struct string_table *table, char *bytes, size_t len)
	__attribute__((warn_unused_result));

/* True when `text` points into the table. */
bool string_table_owns(const struct string_table *table, const char *text);

/* The index of a string that the table owns. */
uint32_t string_table_index(const struct string_table *table, const char *text);

#endif
