/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A list of texts in one buffer. For each text: append it to `all`, then call
 * texts_end(). Private to render/.
 */
#ifndef RENDER_TEXTS_H
#define RENDER_TEXTS_H

#include "util/strbuf.h"
#include "util/vec.h"

struct texts {
	struct strbuf all;  /* failed if out of memory, also for `starts` */
	VEC(size_t) starts; /* offset of each text in `all` */
	size_t next;        /* offset of the text that is being appended */
};

void texts_deinit(struct texts *texts);

/* End the text that was appended since the last call. */
void texts_end(struct texts *texts);

/* Borrowed. Call it only after all texts were added and none has failed. */
const char *texts_get(const struct texts *texts, size_t index);

#endif
