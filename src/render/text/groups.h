/* SPDX-License-Identifier: Apache-2.0 */
/* Names of functions and other groups of frames in tables. For render/ and screen/. */
#ifndef RENDER_TEXT_GROUPS_H
#define RENDER_TEXT_GROUPS_H

#include "render/text/page.h"
#include "report/groups.h"

/* Append the name of a group, escaped and cut to a readable length: "Shop::add",
 * "[libxml2.so.2]", "[truncated: ...]". Returns the columns that it takes. */
size_t text_append_group(struct strbuf *text, const struct report *report,
			 const struct groups *groups, const struct group *group);

/* Append " [libxml2.so.2]" to a function that has a name, and to a line of a function its
 * place: " (tree.c:12)". */
void text_append_group_place(struct strbuf *text, const struct report *report,
			     const struct groups *groups, const struct group *group);

#endif
