/* SPDX-License-Identifier: Apache-2.0 */
/* Measures the consecutive phases of some work. All zero: not started. */
#ifndef UTIL_PHASES_H
#define UTIL_PHASES_H

#include <stddef.h>
#include <stdint.h>

#include "util/strbuf.h"

#define PHASES_MAX 16

struct phase {
	const char *name; /* static string */
	uint64_t time_ns;
};

struct phases {
	struct phase list[PHASES_MAX];
	size_t count;
	/* start time of list[count - 1]; after phases_end() its end time */
	uint64_t last_ns;
};

/* Begin the phase `name` at `now_ns`, by any clock that never goes back. The previous
 * phase ends. A phase beyond PHASES_MAX counts as part of the last one. `phases` may be
 * NULL: nothing is recorded. */
void phases_begin(struct phases *phases, const char *name, uint64_t now_ns);

/* End the last phase at `now_ns`. */
void phases_end(struct phases *phases, uint64_t now_ns);

/* Append, for example, "0.231 s: planning 12 ms, compiling 219 ms". */
void phases_append(const struct phases *phases, struct strbuf *ret);

#endif
