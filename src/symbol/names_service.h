/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the confined process does that reads symbols and debug info: names and lines of
 * processes (symbol/bcc.c, symbol/lines.c), answered over its socket.
 */
#ifndef SYMBOL_NAMES_SERVICE_H
#define SYMBOL_NAMES_SERVICE_H

#include <stdbool.h>

#include "confined/confined.h"

struct names_options {
	bool keep_mangled;
	bool no_lines;
	bool debuginfod; /* the parent fetches debug files: confined_ask(), a text, the
			    build-id in hex */
	const char *const *debug_dirs; /* as of struct line_options. Borrowed. */
};

struct names_service;

/* For the parent, before the child is there: what the child answers from. NULL when
 * memory is out. */
struct names_service *names_service_create(const struct names_options *options);
void names_service_destroy(struct names_service *service);

/* The service as confined_start() takes it. */
struct confined_service names_service_entry(struct names_service *service);

#endif
