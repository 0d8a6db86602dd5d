/* SPDX-License-Identifier: Apache-2.0 */
/* How long the phases of some work take, one after the other. All zero: not begun. */
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
	uint64_t last_ns; /* when the phase list[count - 1] began or, once ended, ended */
};

/* Begin the phase `name` at `now_ns`, of any clock that never goes back; the phase before
 * ends. A phase beyond PHASES_MAX counts as part of the last one. `phases` may be NULL:
 * then nothing is recorded. */
void phases_begin(struct phases *phases, const char *name, uint64_t now_ns);

/* The last phase ends at `now_ns`. */
void phases_end(struct phases *phases, uint64_t now_ns);

/* Append, for example, "0.231 s: planning 12 ms, compiling 219 ms". */
void phases_append(const struct phases *phases, struct strbuf *ret);

#endif
