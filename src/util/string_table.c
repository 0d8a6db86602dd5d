// SPDX-License-Identifier: Apache-2.0
#include "util/string_table.h"

#include <string.h>

void string_table_deinit(struct string_table *table)
{
	vec_deinit(&table->bytes);
	vec_deinit(&table->starts);
	hashmap_deinit(&table->by_hash);
	*table = (struct string_table){0};
}

/* FNV-1a with a random seed: the target may choose the names. */
static uint64_t hash(const struct string_table *table, const char *text)
{
	uint64_t h = UINT64_C(14695981039346656037) ^ table->by_hash.seed;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(1099511628211);
	return h;
}

static void begin_hashing(struct string_table *table)
{
	if (table->is_hashed)
		return;
	hashmap_init(&table->by_hash, hashmap_seed());
	table->is_hashed = true;
}

static bool append(struct string_table *table, const char *text)
{
	size_t start = table->bytes.len, size = strlen(text) + 1;

	if (table->starts.len >= STRING_NONE || size > UINT32_MAX - start ||
	    !vec_reserve(&table->bytes, start + size) ||
	    !vec_push(&table->starts, (uint32_t)start))
		return false;
	memcpy(table->bytes.data + start, text, size);
	table->bytes.len += size;
	return true;
}

bool string_table_add(struct string_table *table, const char *text, uint32_t *ret)
{
	uint64_t key, index;

	*ret = STRING_NONE;
	if (!text)
		return true;
	if (table->is_fixed)
		return false;
	begin_hashing(table);
	/* If texts have the same hash, they get consecutive keys. */
	for (key = hash(table, text); hashmap_get(&table->by_hash, key, &index); key++) {
		if (!strcmp(table->bytes.data + table->starts.data[index], text)) {
			*ret = (uint32_t)index;
			return true;
		}
	}
	if (!append(table, text))
		return false;
	*ret = (uint32_t)table->starts.len - 1;
	if (hashmap_put(&table->by_hash, key, *ret))
		return true;
	table->bytes.len = table->starts.data[--table->starts.len];
	return false;
}

const char *string_table_get(const struct string_table *table, uint32_t index)
{
	return index < table->starts.len ? table->bytes.data + table->starts.data[index]
					 : NULL;
}

bool string_table_take(struct string_table *table, char *bytes, size_t len)
{
	size_t count = 0;

	if (len > UINT32_MAX || (len && bytes[len - 1]))
		return false;
	for (const char *at = bytes; at < bytes + len; at += strlen(at) + 1)
		count++;
	if (!vec_reserve(&table->starts, count))
		return false;
	for (const char *at = bytes; at < bytes + len; at += strlen(at) + 1)
		table->starts.data[table->starts.len++] = (uint32_t)(at - bytes);
	table->bytes.data = bytes;
	table->bytes.len = table->bytes.cap = len;
	table->is_fixed = true;
	return true;
}

bool string_table_copy(const struct string_table *from, struct string_table *to)
{
	to->is_fixed = true;
	return vec_copy(&from->bytes, &to->bytes) && vec_copy(&from->starts, &to->starts);
}

bool string_table_owns(const struct string_table *table, const char *text)
{
	uintptr_t from = (uintptr_t)table->bytes.data, at = (uintptr_t)text;

	return text && at >= from && at - from < table->bytes.len;
}

uint32_t string_table_index(const struct string_table *table, const char *text)
{
	uint32_t start = (uint32_t)(text - table->bytes.data);

	return (uint32_t)bisect(table->starts.len, at, table->starts.data[at] <= start) -
	       1;
}
