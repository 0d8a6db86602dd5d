/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of texts in one piece of memory: append to `all`, then texts_end(), and so on.
 * Private to render/.
 */
#ifndef RENDER_TEXTS_H
#define RENDER_TEXTS_H

#include "util/strbuf.h"
#include "util/vec.h"

struct texts {
	struct strbuf all;  /* failed when memory has run out, also for `starts` */
	VEC(size_t) starts; /* of each text in `all` */
	size_t next;        /* where the one begins that is not ended */
};

void texts_deinit(struct texts *texts);

/* What was appended since the last call is a text. */
void texts_end(struct texts *texts);

/* Borrowed; only once all texts have been made, and none has failed. */
const char *texts_get(const struct texts *texts, size_t index);

#endif
