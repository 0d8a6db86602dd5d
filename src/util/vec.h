/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing array: `VEC(struct frame) frames = {0};`. The vector owns its storage.
 * Elements are plain values; the caller owns what they point to.
 */
#ifndef UTIL_VEC_H
#define UTIL_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "util/bisect.h"

#define VEC(type)                                                                        \
	struct {                                                                         \
		type *data;                                                              \
		size_t len, cap;                                                         \
	}

/* Make room for `want` elements of `size` bytes. False: memory is out. */
static inline bool vec_grow_(void **data, size_t *cap, size_t want, size_t size)
{
	if (want <= *cap)
		return true;

	size_t cap_new = *cap ? *cap : 8;

	while (cap_new < want) {
		if (cap_new > SIZE_MAX / 2)
			return false;
		cap_new *= 2;
	}
	if (cap_new > SIZE_MAX / size)
		return false;

	void *p = realloc(*data, cap_new * size);

	if (!p)
		return false;
	*data = p;
	*cap = cap_new;
	return true;
}

static inline void vec_append_(void *data, size_t *len, const void *from, size_t count,
			       size_t size)
{
	if (count)
		memcpy((char *)data + *len * size, from, count * size);
	*len += count;
}

/* Make room for n elements in total; false: memory is out. */
#define vec_reserve(v, n)                                                                \
	vec_grow_((void **)&(v)->data, &(v)->cap, (n), sizeof(*(v)->data))

/* Append by value; false: memory is out. */
#define vec_push(v, ...)                                                                 \
	(vec_reserve((v), (v)->len + 1) ? ((v)->data[(v)->len++] = (__VA_ARGS__), true)  \
					: false)

/* Append all elements of another vector of the same type; false: memory is out, and
 * nothing was appended. */
#define vec_copy(from, to)                                                               \
	(vec_reserve((to), (to)->len + (from)->len) &&                                   \
	 (vec_append_((to)->data, &(to)->len, (from)->data, (from)->len,                 \
		      sizeof(*(to)->data)),                                              \
	  true))

#define vec_foreach(it, v)                                                               \
	for (__typeof__(*(v)->data) *it = (v)->data; it && it < (v)->data + (v)->len;    \
	     it++)

/* The number of elements with `member` <= `limit`, in a vector sorted by `member`: the
 * index of the first element above. `limit` is evaluated repeatedly. */
#define vec_count_up_to(v, member, limit)                                                \
	bisect((v)->len, at_, (v)->data[at_].member <= (limit))

#define vec_deinit(v)                                                                    \
	do {                                                                             \
		free((v)->data);                                                         \
		(v)->data = NULL;                                                        \
		(v)->len = (v)->cap = 0;                                                 \
	} while (0)

#endif
