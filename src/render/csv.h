/* SPDX-License-Identifier: Apache-2.0 */
/* Fields of a CSV file. Private to render/. */
#ifndef RENDER_CSV_H
#define RENDER_CSV_H

#include <stdio.h>

#include "snapshot/snapshot.h"

/*
 * Write text as a quoted field (RFC 4180). Where it begins with a character by which
 * spreadsheets know a formula, even in quotes (= + - @ TAB CR), an apostrophe goes
 * before it, which makes it text (OWASP, "CSV injection").
 */
void csv_write_field(const char *text, FILE *out);

/* "heap", "mapping" or "event". Static string. */
const char *csv_class_name(enum block_class class);

#endif
