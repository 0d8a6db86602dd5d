/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A growing array of one type: `VEC(struct frame) frames = {0};`. The vector owns
 * its storage; elements are plain values and what they point to is the caller's.
 */
#ifndef UTIL_VEC_H
#define UTIL_VEC_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define VEC(type)                                                                        \
	struct {                                                                         \
		type *data;                                                              \
		size_t len, cap;                                                         \
	}

/* Make room for `want` elements of `size` bytes; false when memory is out. */
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

/* Reserve room for n elements in all; false when memory is out. */
#define vec_reserve(v, n)                                                                \
	vec_grow_((void **)&(v)->data, &(v)->cap, (n), sizeof(*(v)->data))

/* Append by value; false when memory is out. */
#define vec_push(v, ...)                                                                 \
	(vec_reserve((v), (v)->len + 1) ? ((v)->data[(v)->len++] = (__VA_ARGS__), true)  \
					: false)

/* Append all elements of another one of the type; false, and nothing is appended, when
 * memory is out. */
#define vec_copy(from, to)                                                               \
	(vec_reserve((to), (to)->len + (from)->len) &&                                   \
	 (vec_append_((to)->data, &(to)->len, (from)->data, (from)->len,                 \
		      sizeof(*(to)->data)),                                              \
	  true))

#define vec_foreach(it, v)                                                               \
	for (__typeof__(*(v)->data) *it = (v)->data; it && it < (v)->data + (v)->len;    \
	     it++)

/* How many elements have a `member` of at most `limit`, in a vector in ascending order of
 * `member`: the index of the first that is above it. `limit` is read again and again. */
#define vec_count_up_to(v, member, limit)                                                \
	__extension__({                                                                  \
		size_t low_ = 0, high_ = (v)->len;                                       \
                                                                                         \
		while (low_ < high_) {                                                   \
			size_t middle_ = low_ + (high_ - low_) / 2;                      \
                                                                                         \
			if ((v)->data[middle_].member <= (limit))                        \
				low_ = middle_ + 1;                                      \
			else                                                             \
				high_ = middle_;                                         \
		}                                                                        \
		low_;                                                                    \
	})

#define vec_deinit(v)                                                                    \
	do {                                                                             \
		free((v)->data);                                                         \
		(v)->data = NULL;                                                        \
		(v)->len = (v)->cap = 0;                                                 \
	} while (0)

#endif
