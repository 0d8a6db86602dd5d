// SPDX-License-Identifier: Apache-2.0
#include "render/texts.h"

void texts_deinit(struct texts *texts)
{
	strbuf_deinit(&texts->all);
	vec_deinit(&texts->starts);
}

void texts_end(struct texts *texts)
{
	strbuf_append_char(&texts->all, '\0');
	if (!vec_push(&texts->starts, texts->next))
		texts->all.failed = true;
	texts->next = texts->all.len;
}

const char *texts_get(const struct texts *texts, size_t index)
{
	return texts->all.data + texts->starts.data[index];
}
