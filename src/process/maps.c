// SPDX-License-Identifier: Apache-2.0
#include "process/maps.h"

#include <stdlib.h>
#include <string.h>

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
	*deleted = p < end && *p == '/' && (size_t)(end - p) > MAPS_DELETED_LEN &&
		   !memcmp(end - MAPS_DELETED_LEN, MAPS_DELETED, MAPS_DELETED_LEN);
	if (*deleted)
		end -= MAPS_DELETED_LEN;

	char *path = malloc((size_t)(end - p) + 1), *out = path;

	if (!path)
		return NULL;
	while (p < end) {
		if ((size_t)(end - p) >= MAPS_NEWLINE_LEN &&
		    !memcmp(p, MAPS_NEWLINE, MAPS_NEWLINE_LEN)) {
			*out++ = '\n';
			p += MAPS_NEWLINE_LEN;
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

struct error *proc_maps_copy(const struct proc_maps *maps, struct proc_maps *ret)
{
	vec_foreach (m, &maps->mappings) {
		struct proc_mapping copy = *m;

		copy.path = strdup(m->path);
		if (!copy.path || !vec_push(&ret->mappings, copy)) {
			free(copy.path);
			return error_no_memory();
		}
	}
	return NULL;
}

void proc_maps_deinit(struct proc_maps *maps)
{
	for (size_t i = 0; i < maps->mappings.len; i++)
		free(maps->mappings.data[i].path);
	vec_deinit(&maps->mappings);
}
