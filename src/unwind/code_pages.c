// SPDX-License-Identifier: Apache-2.0
#include "unwind/code_pages.h"

#include <stdlib.h>

#define PLACE_BITS 9

struct code_pages {
	uint64_t last_image;
	struct code_page place[1 << PLACE_BITS];
};

struct code_pages *code_pages_create(void)
{
	/* So large an array is not in memory before it is used. */
	return calloc(1, sizeof(struct code_pages));
}

void code_pages_destroy(struct code_pages *pages)
{
	free(pages);
}

uint64_t code_pages_add_image(struct code_pages *pages)
{
	return ++pages->last_image;
}

struct code_page *code_pages_place(struct code_pages *pages, uint64_t image,
				   uint64_t number)
{
	uint64_t mixed = (image << 32 ^ number) * UINT64_C(0x9e3779b97f4a7c15) >>
			 (64 - PLACE_BITS);

	return &pages->place[mixed];
}
