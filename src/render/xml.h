/* SPDX-License-Identifier: Apache-2.0 */
/* Text in XML. Private to render/. */
#ifndef RENDER_XML_H
#define RENDER_XML_H

#include "util/strbuf.h"

/*
 * Append text for use between tags or in a quoted attribute. It must already be escaped
 * by util/escape.h. The five special characters become references. U+FFFE and U+FFFF
 * cannot be written in XML 1.0 (section 2.2, Char); their bytes are written as \xNN.
 */
void xml_append(struct strbuf *out, const char *text);

#endif
