// SPDX-License-Identifier: Apache-2.0
#include "process/maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "process/file_names.h"
#include "util/cleanup.h"
#include "util/regular_file.h"

#define DELETED        " (deleted)"
#define DELETED_LEN    (sizeof(DELETED) - 1)
#define NEWLINE_ESCAPE "\\012"
#define NEWLINE_LEN    (sizeof(NEWLINE_ESCAPE) - 1)

/* The rest of a line. */
struct cursor {
	const char *p, *end;
};

static bool eat(struct cursor *c, char want)
{
	if (c->p == c->end || *c->p != want)
		return false;
	c->p++;
	return true;
}

static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

/* Read a number: at least one digit, no sign, no prefix, at most `max`. */
static bool eat_number(struct cursor *c, unsigned base, uint64_t max, uint64_t *ret)
{
	const char *start = c->p;
	uint64_t value = 0;

	for (; c->p < c->end; c->p++) {
		int digit = digit_value(*c->p);

		if (digit < 0 || digit >= (int)base)
			break;
		if (value > (max - (uint64_t)digit) / base)
			return false;
		value = value * base + (uint64_t)digit;
	}
	*ret = value;
	return c->p > start;
}

/* Read one flag: the letter `set` or the letter `unset` (mostly "-"). */
static bool eat_flag(struct cursor *c, char set, char unset, bool *ret)
{
	if (c->p == c->end || (*c->p != set && *c->p != unset))
		return false;
	*ret = *c->p++ == set;
	return true;
}

static char *decode_path(const char *p, const char *end, bool *deleted)
{
	/* Only paths of files get the suffix; "[heap]" and "socket:[1]" do not. */
	*deleted = p < end && *p == '/' && (size_t)(end - p) > DELETED_LEN &&
		   !memcmp(end - DELETED_LEN, DELETED, DELETED_LEN);
	if (*deleted)
		end -= DELETED_LEN;

	char *path = malloc((size_t)(end - p) + 1), *out = path;

	if (!path)
		return NULL;
	while (p < end) {
		if ((size_t)(end - p) >= NEWLINE_LEN &&
		    !memcmp(p, NEWLINE_ESCAPE, NEWLINE_LEN)) {
			*out++ = '\n';
			p += NEWLINE_LEN;
		} else {
			*out++ = *p++;
		}
	}
	*out = '\0';
	return path;
}

static bool parse_line(struct cursor c, struct proc_mapping *ret, struct cursor *path)
{
	struct proc_mapping m = {0};
	uint64_t dev_major, dev_minor;

	if (!eat_number(&c, 16, UINT64_MAX, &m.start) || !eat(&c, '-') ||
	    !eat_number(&c, 16, UINT64_MAX, &m.end) || !eat(&c, ' ') ||
	    !eat_flag(&c, 'r', '-', &m.readable) ||
	    !eat_flag(&c, 'w', '-', &m.writable) ||
	    !eat_flag(&c, 'x', '-', &m.executable) ||
	    !eat_flag(&c, 's', 'p', &m.shared) || !eat(&c, ' ') ||
	    !eat_number(&c, 16, UINT64_MAX, &m.file_offset) || !eat(&c, ' ') ||
	    !eat_number(&c, 16, UINT32_MAX, &dev_major) || !eat(&c, ':') ||
	    !eat_number(&c, 16, UINT32_MAX, &dev_minor) || !eat(&c, ' ') ||
	    !eat_number(&c, 10, UINT64_MAX, &m.inode))
		return false;
	if (m.start >= m.end || (c.p < c.end && *c.p != ' '))
		return false;
	/* Padding; paths do not begin with a space. */
	while (eat(&c, ' '))
		;
	if (memchr(c.p, '\0', (size_t)(c.end - c.p)))
		return false;
	m.dev_major = (uint32_t)dev_major;
	m.dev_minor = (uint32_t)dev_minor;
	*ret = m;
	*path = c;
	return true;
}

struct error *maps_parse(const char *text, size_t size_bytes, struct proc_maps *ret)
{
	const char *p = text, *end = text + size_bytes;

	for (size_t number = 1; p < end; number++) {
		const char *newline = memchr(p, '\n', (size_t)(end - p));
		struct proc_mapping m;
		struct cursor path = {0};

		if (!newline || !parse_line((struct cursor){p, newline}, &m, &path))
			return error_create(ERROR_MALFORMED,
					    "line %zu of the mappings is malformed",
					    number);
		p = newline + 1;

		size_t len = ret->mappings.len;
		if (len && m.start < ret->mappings.data[len - 1].end)
			continue;

		m.path = decode_path(path.p, path.end, &m.deleted);
		if (!m.path)
			return error_no_memory();
		if (!vec_push(&ret->mappings, m)) {
			free(m.path);
			return error_no_memory();
		}
	}
	return NULL;
}

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
		len += *p == '\n' ? NEWLINE_LEN : 1;

	char *text = malloc(len + 1), *out = text;

	if (!text)
		return NULL;
	for (const char *p = path; *p; p++) {
		if (*p == '\n') {
			memcpy(out, NEWLINE_ESCAPE, NEWLINE_LEN);
			out += NEWLINE_LEN;
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
		err = try_name(root_fd, m, m->path, DELETED, &settled);
		if (err || settled)
			return err;
	}
	if (!has_newline || (!was_deleted && maps_same_file(root_fd, m->path, m)))
		return NULL;
	literal = encode_newlines(m->path);
	if (!literal)
		return error_no_memory();
	return try_name(root_fd, m, literal, was_deleted ? DELETED : "", &settled);
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

void proc_maps_deinit(struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->mappings.len; i++)
		free(maps->mappings.data[i].path);
	vec_deinit(&maps->mappings);
}
