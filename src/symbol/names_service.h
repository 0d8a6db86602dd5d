/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service of the confined process that reads symbols and debug info: it answers
 * requests for names and lines of processes (symbol/bcc.c, dwarf/lines.c) over its
 * socket.
 */
#ifndef SYMBOL_NAMES_SERVICE_H
#define SYMBOL_NAMES_SERVICE_H

#include <stdbool.h>

#include "confined/confined.h"

struct names_options {
	bool keep_mangled;
	bool no_lines;
	bool debuginfod; /* the parent fetches debug files: confined_ask() with a text,
			    the build-id in hex */
	const char *const *debug_dirs; /* as in struct line_options. Borrowed. */
};

struct names_service;

/* Create the service's state in the parent, before the child is started. NULL when out
 * of memory. */
struct names_service *names_service_create(const struct names_options *options);
void names_service_destroy(struct names_service *service);

/* The service in the form that confined_start() takes. */
struct confined_service names_service_entry(struct names_service *service);

#endif
