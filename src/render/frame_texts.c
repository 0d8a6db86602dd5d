// SPDX-License-Identifier: Apache-2.0
#include "render/frame_texts.h"

#include <stdlib.h>

bool frame_texts_init(struct frame_texts *ret, size_t count)
{
	/* One more, because calloc(0) may return NULL. */
	*ret = (struct frame_texts){.list = calloc(count + 1, sizeof(*ret->list)),
				    .count = count};
	return ret->list;
}

void frame_texts_deinit(struct frame_texts *texts)
{
	for (size_t i = 0; i < texts->count; i++)
		free(texts->list[i].text);
	free(texts->list);
}

void frame_texts_append(struct frame_texts *texts, const struct report_frame *frame,
			void (*make)(const void *arg, const struct report_frame *frame,
				     struct strbuf *text),
			const void *arg, struct strbuf *out)
{
	struct frame_text *known = &texts->list[frame->index];

	if (!known->text) {
		struct strbuf made = {0};

		make(arg, frame, &made);
		known->len = made.len;
		known->text = strbuf_steal(&made);
	}
	if (known->text)
		strbuf_append_bytes(out, known->text, known->len);
	else
		out->failed = true;
}
