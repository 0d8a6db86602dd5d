/* SPDX-License-Identifier: Apache-2.0 */
/* Text in XML. Private to render/. */
#ifndef RENDER_XML_H
#define RENDER_XML_H

#include "util/strbuf.h"

/*
 * Append text that is escaped by util/escape.h, so that it can stand between tags and in
 * a quoted attribute: the five special characters become references, and U+FFFE and
 * U+FFFF, which XML 1.0 has no way to write (section 2.2, Char), \xNN of each byte.
 */
void xml_append(struct strbuf *out, const char *text);

#endif
