// SPDX-License-Identifier: Apache-2.0
#include "process/maps_files.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/file_names.h"
#include "util/cleanup.h"
#include "util/regular_file.h"

bool maps_is_file(int place, const struct proc_mapping *mapping)
{
	const struct file_name name = file_name_of(mapping);
	struct file_names names;

	/* Skip the costly names if stat(2)'s numbers match. */
	return file_names_agree(place, &name) ||
	       (file_names_check(place, &name, &names) &&
		file_name_is(&names.listed, &name));
}

bool maps_same_file(int root_fd, const char *path, const struct proc_mapping *mapping)
{
	_cleanup_(closep) int place = place_find_plain(root_fd, path);

	return place >= 0 && maps_is_file(place, mapping);
}

/* Copy the path, with newlines escaped as the kernel does it. */
static char *encode_newlines(const char *path)
{
	size_t len = 0;

	for (const char *p = path; *p; p++)
		len += *p == '\n' ? MAPS_NEWLINE_LEN : 1;

	char *text = malloc(len + 1), *out = text;

	if (!text)
		return NULL;
	for (const char *p = path; *p; p++) {
		if (*p == '\n') {
			memcpy(out, MAPS_NEWLINE, MAPS_NEWLINE_LEN);
			out += MAPS_NEWLINE_LEN;
		} else {
			*out++ = *p;
		}
	}
	*out = '\0';
	return text;
}

/* Replace the mapping's path by `path` and `suffix` if a file of that name is the
 * mapped file. */
static struct error *try_name(int root_fd, struct proc_mapping *m, const char *path,
			      const char *suffix, bool *settled)
{
	_cleanup_(freep) char *name = NULL;

	if (asprintf(&name, "%s%s", path, suffix) < 0) {
		name = NULL;
		return error_no_memory();
	}
	if (maps_same_file(root_fd, name, m)) {
		free(m->path);
		m->path = take(name);
		m->deleted = false;
		*settled = true;
	}
	return NULL;
}

static struct error *settle_name(int root_fd, struct proc_mapping *m)
{
	bool has_newline = strchr(m->path, '\n'), was_deleted = m->deleted,
	     settled = false;
	_cleanup_(freep) char *literal = NULL;
	struct error *err;

	if (m->path[0] != '/' || (!has_newline && !was_deleted))
		return NULL;
	if (was_deleted) {
		err = try_name(root_fd, m, m->path, MAPS_DELETED, &settled);
		if (err || settled)
			return err;
	}
	if (!has_newline || (!was_deleted && maps_same_file(root_fd, m->path, m)))
		return NULL;
	literal = encode_newlines(m->path);
	if (!literal)
		return error_no_memory();
	return try_name(root_fd, m, literal, was_deleted ? MAPS_DELETED : "", &settled);
}

struct error *maps_settle_names(int root_fd, struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->mappings.len; i++) {
		struct error *err = settle_name(root_fd, &maps->mappings.data[i]);

		if (err)
			return err;
	}
	return NULL;
}
