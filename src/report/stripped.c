// SPDX-License-Identifier: Apache-2.0
#include "report/stripped.h"

#include <stdlib.h>
#include <string.h>

/* More files than a line can name are not counted. */
#define FILES_MAX 100

static bool is_same(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : !a && !b;
}

static bool add(stripped_files *files, const struct report_row *row,
		const struct report_frame *frame)
{
	const char *build_id =
		frame->build_id && *frame->build_id ? frame->build_id : NULL;
	const struct stripped_file new = {.path = frame->module,
					  .build_id = build_id,
					  .process = row->frames_of,
					  .frames = 1};

	vec_foreach (file, files) {
		if (!strcmp(file->path, frame->module) &&
		    is_same(file->build_id, build_id)) {
			file->frames++;
			return true;
		}
	}
	return files->len >= FILES_MAX || vec_push(files, new);
}

static int compare(const void *pa, const void *pb)
{
	const struct stripped_file *a = pa, *b = pb;

	if (a->frames != b->frames)
		return a->frames > b->frames ? -1 : 1;
	return strcmp(a->path, b->path);
}

static bool lacks_name(const struct report_frame *frame)
{
	return !frame->symbol && !frame->inlined && !frame->is_gap && frame->module &&
	       frame->module[0] == '/';
}

/* The outermost frame of a file that has names: code of the start that the linker adds,
 * which has no name in musl. */
static bool is_start(const struct report_row *row, size_t i)
{
	if (i + 1 != row->depth)
		return false;
	while (i--)
		if (row->frames[i]->symbol && row->frames[i]->module &&
		    !strcmp(row->frames[i]->module, row->frames[row->depth - 1]->module))
			return true;
	return false;
}

static bool add_row(stripped_files *files, const struct report_row *row)
{
	for (size_t i = 0; i < row->depth; i++)
		if (lacks_name(row->frames[i]) && !is_start(row, i) &&
		    !add(files, row, row->frames[i]))
			return false;
	return true;
}

struct error *report_find_stripped(const struct report *report, stripped_files *ret)
{
	for (size_t s = 0; s < report->section_count; s++) {
		const struct report_section *section = &report->sections[s];

		for (size_t r = 0; r < section->row_count; r++)
			if (!add_row(ret, &section->rows[r]))
				return error_no_memory();
	}
	if (ret->len)
		qsort(ret->data, ret->len, sizeof(*ret->data), compare);
	return NULL;
}
