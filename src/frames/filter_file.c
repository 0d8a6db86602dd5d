// SPDX-License-Identifier: Apache-2.0
#include "frames/filter.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "frames/filter_pattern.h"
#include "util/cleanup.h"
#include "util/escape.h"

#define FILE_MAX_BYTES ((size_t)1 << 20)
#define BLANKS         " \t\r\v\f"

/* Read the whole file and append a NUL. */
static struct error *read_all(const char *path, char **ret, size_t *len)
{
	_cleanup_(fclosep) FILE *file = fopen(path, "re");
	_cleanup_(freep) char *text = malloc(FILE_MAX_BYTES + 1);

	if (!text)
		return error_no_memory();
	if (!file)
		return error_errno(ERROR_USAGE, errno, "cannot read %s", path);
	*len = fread(text, 1, FILE_MAX_BYTES, file);
	if (ferror(file))
		return error_errno(ERROR_USAGE, errno, "cannot read %s", path);
	if (*len == FILE_MAX_BYTES)
		return error_create(ERROR_USAGE,
				    "%s: expected a list of patterns; it is larger than "
				    "a mebibyte",
				    path);
	text[*len] = '\0';
	*ret = take(text);
	return NULL;
}

static struct error *add_suppression(struct report_filter *filter, const char *line)
{
	const char *template = line + strlen("leak:");

	if (!strncmp(line, "leak:", strlen("leak:")) && *template)
		return report_filter_add_template(filter, template);

	_cleanup_(freep) char *shown = escape_dup(line);

	return shown ? error_create(ERROR_USAGE, "expected leak:PATTERN; got '%s'", shown)
		     : error_no_memory();
}

/* Add one line, ended by NUL. Blanks at its ends are removed. */
static struct error *add_line(struct report_filter *filter, enum filter_use use,
			      char *line)
{
	size_t len;

	line += strspn(line, BLANKS);
	for (len = strlen(line); len && strchr(BLANKS, line[len - 1]); len--)
		line[len - 1] = '\0';
	if (!*line || *line == '#')
		return NULL;
	return use == FILTER_SUPPRESS ? add_suppression(filter, line)
				      : report_filter_add(filter, use, line);
}

struct error *report_filter_read(struct report_filter *filter, enum filter_use use,
				 const char *path)
{
	_cleanup_(freep) char *text = NULL;
	size_t len, number = 1;
	struct error *err = read_all(path, &text, &len);
	char *next;

	for (char *line = text; !err && line; line = next, number++) {
		next = memchr(line, '\n', (size_t)(text + len - line));
		if (next)
			*next++ = '\0';
		if (strlen(line) != (size_t)((next ? next - 1 : text + len) - line))
			err = error_create(ERROR_USAGE, "expected text; there is a NUL");
		else
			err = add_line(filter, use, line);
		if (err && err->code == ERROR_USAGE)
			err = error_prefix(err, "%s: line %zu", path, number);
	}
	return err;
}
