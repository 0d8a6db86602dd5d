// SPDX-License-Identifier: Apache-2.0
#include "render/format.h"

#include <stddef.h>
#include <string.h>

static const struct format formats[] = {
#define FORMAT(name, shown, file, able, words) {#name, OUTPUT_##file, able},
#include "render/format_rows.h"
#undef FORMAT
};

#define FORMATS (sizeof(formats) / sizeof(*formats))

const struct format *format_find(const char *name)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (!strcmp(formats[i].name, name))
			return &formats[i];
	return NULL;
}

const struct format *format_of_file(enum output_kind file)
{
	for (size_t i = 0; i < FORMATS; i++)
		if (formats[i].file == file)
			return &formats[i];
	return NULL;
}
