// SPDX-License-Identifier: Apache-2.0
#include "util/nearest.h"

#include <string.h>

#include "util/escape.h"

static unsigned min3(unsigned a, unsigned b, unsigned c)
{
	unsigned ab = a < b ? a : b;

	return ab < c ? ab : c;
}

unsigned nearest_distance(const char *a, size_t a_len, const char *b, size_t b_len)
{
	unsigned rows[3][NEAREST_NAME_MAX + 1];
	unsigned *before = rows[0], *above = rows[1], *row = rows[2];

	for (size_t j = 0; j <= b_len; j++)
		above[j] = (unsigned)j;
	for (size_t i = 1; i <= a_len; i++) {
		row[0] = (unsigned)i;
		for (size_t j = 1; j <= b_len; j++) {
			unsigned replace = above[j - 1] + (a[i - 1] != b[j - 1]);

			row[j] = min3(above[j] + 1, row[j - 1] + 1, replace);
			if (i > 1 && j > 1 && a[i - 1] == b[j - 2] &&
			    a[i - 2] == b[j - 1] && before[j - 2] + 1 < row[j])
				row[j] = before[j - 2] + 1;
		}

		unsigned *unused = before;

		before = above;
		above = row;
		row = unused;
	}
	return above[b_len];
}

struct nearest_choice nearest_choice_begin(const char *given, size_t len)
{
	return (struct nearest_choice){
		.given = given,
		.len = len,
		.limit = len < 6 ? 2 : (unsigned)len / 3 + 1,
	};
}

void nearest_choice_offer(struct nearest_choice *choice, const char *name)
{
	size_t name_len = name ? strlen(name) : 0, len = choice->len;
	unsigned distance = 0;

	if (!len || !name_len || name_len > NEAREST_NAME_MAX)
		return;
	if (len < 2 || strncmp(name, choice->given, len) != 0)
		distance = nearest_distance(choice->given, len, name, name_len);
	if (distance < choice->limit) {
		choice->best = name;
		choice->limit = distance;
	}
}

static unsigned far_from(size_t len)
{
	if (len < 3)
		return 1;
	return len < 6 ? 2 : (unsigned)len / 3 + 1;
}

void nearest_offer(struct nearest *nearest, const char *name, size_t len)
{
	size_t wanted_len = strlen(nearest->wanted);
	unsigned distance = far_from(wanted_len);
	size_t at = nearest->count;

	if (!len || len > NEAREST_NAME_MAX || !wanted_len ||
	    wanted_len > NEAREST_NAME_MAX)
		return;
	if (len < wanted_len + distance && wanted_len < len + distance)
		distance = nearest_distance(nearest->wanted, wanted_len, name, len);
	if (distance >= far_from(wanted_len)) {
		/* A name that contains the wanted one ranks after names with a
		 * misspelling. */
		if (wanted_len < 3 || !memmem(name, len, nearest->wanted, wanted_len))
			return;
		distance = far_from(wanted_len) + (unsigned)(len - wanted_len);
	}
	for (size_t i = 0; i < nearest->count; i++)
		if (strlen(nearest->best[i].name) == len &&
		    !memcmp(nearest->best[i].name, name, len))
			return;
	while (at && nearest->best[at - 1].distance > distance)
		at--;
	if (at == NEAREST_MAX)
		return;
	if (nearest->count < NEAREST_MAX)
		nearest->count++;
	memmove(&nearest->best[at + 1], &nearest->best[at],
		(nearest->count - 1 - at) * sizeof(nearest->best[0]));
	memcpy(nearest->best[at].name, name, len);
	nearest->best[at].name[len] = '\0';
	nearest->best[at].distance = distance;
}

void nearest_append(const struct nearest *nearest, struct strbuf *ret)
{
	for (size_t i = 0; i < nearest->count; i++) {
		strbuf_append(ret, i                    ? ", "
				   : nearest->count > 1 ? ": the nearest are "
							: ": the nearest is ");
		escape_text(ret, nearest->best[i].name);
	}
}
