/* SPDX-License-Identifier: Apache-2.0 */
/* How a text ends. */
#ifndef UTIL_ENDS_WITH_H
#define UTIL_ENDS_WITH_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

/* Do the `len` bytes of `text` end with `end`, with something before it? */
static inline bool ends_with(const char *text, size_t len, const char *end)
{
	size_t end_len = strlen(end);

	return len > end_len && !memcmp(text + len - end_len, end, end_len);
}

#endif
