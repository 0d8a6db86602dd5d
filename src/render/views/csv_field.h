/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a CSV file. Private to render/. */
#ifndef RENDER_VIEWS_CSV_FIELD_H
#define RENDER_VIEWS_CSV_FIELD_H

#include <stdio.h>

/*
 * Write text as a quoted field (RFC 4180). If it begins with a character that makes
 * spreadsheets treat it as a formula even in quotes (= + - @ TAB CR), an apostrophe is
 * put in front of it (OWASP, "CSV injection").
 */
void csv_write_field(const char *text, FILE *out);

#endif
