/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fills in a template: @NAME@ stands for a part that is written from the option table.
 * Names are capital letters and '_'. All else is copied.
 */
#ifndef MANUAL_TEMPLATE_H
#define MANUAL_TEMPLATE_H

#include "util/error.h"
#include "util/strbuf.h"

struct template_part {
	const char *name;                 /* without the '@'s */
	void (*write)(struct strbuf *to); /* appends the part */
};

/* Append the text of a template to `to`, with its parts filled in. `parts` is ended by a
 * NULL name. A line end after @NAME@ is left out if the part ends with one. Fails if a
 * part has no such name, and if one of `parts` is not used. */
struct error *template_expand(const char *text, const struct template_part *parts,
			      struct strbuf *to) __attribute__((warn_unused_result));

#endif
