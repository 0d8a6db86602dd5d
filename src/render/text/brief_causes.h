/* SPDX-License-Identifier: Apache-2.0 */
/* The list of causes in the brief report. Private to render/. */
#ifndef RENDER_TEXT_BRIEF_CAUSES_H
#define RENDER_TEXT_BRIEF_CAUSES_H

#include "render/text/brief_page.h"
#include "causes/causes.h"

/*
 * Put the leak suspects, then the other causes, each with its size, callers and parts,
 * below headings that follow an empty line. In a list all slopes have one unit. The list
 * takes at most `most` lines behind its first heading, as long as the first cause fits
 * into them. A last line has the sum of what is left out.
 */
void brief_put_causes(struct brief_page *page, const struct report_section *section,
		      const struct causes *causes, size_t most);

/* Append "2 leak suspects, fastest first", or the heading of the other causes. */
void brief_append_heading(struct strbuf *text, const struct report_section *section,
			  const struct causes *causes, bool of_suspects);

/* Append "in 1200 blocks, +8.1 KiB, oldest 25 s", escaped. With `with_trend` a leak
 * suspect has "grew in 6 of 6 intervals" instead of its growth. */
void brief_append_blocks(struct strbuf *text, const struct report *report,
			 const struct report_section *section, const struct cause *cause,
			 bool with_trend);

/* Append why a section has no causes, escaped; nothing if it has no blocks. */
void brief_append_none(struct strbuf *text, const struct report *report,
		       const struct report_section *section);

#endif
