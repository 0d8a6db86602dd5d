/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The service of a confined process that reads debug files for a stored snapshot
 * (symbol/debug_store.h). It opens nothing: it gets each file as a descriptor.
 */
#ifndef SYMBOL_STORED_SERVICE_H
#define SYMBOL_STORED_SERVICE_H

#include "confined/confined.h"

enum stored_request {
	/* A file. Answer: its build-id in lower-case hex, or NULL */
	STORED_IDENTIFY = 0x200,
	/* A file, and the path and the build-id of the module that it is for. Answer: a
	   handle, which other requests use to name it */
	STORED_OPEN,
	/* handle, whether lines are wanted (0 or 1), bytes of the mapping, its offset in
	   the file, offset of the code in the mapping. Answer: names_put_frame() */
	STORED_LOOK_UP,
	STORED_END,
};

struct stored_service;

/* Create the service's state in the parent, before the child is started. NULL when out
 * of memory. */
struct stored_service *stored_service_create(void);
void stored_service_destroy(struct stored_service *service);

/* The service in the form that confined_start() takes. It asks (confined_ask()) for
 * supplementary files (dwz) with a text, the build-id in hex. */
struct confined_service stored_service_entry(struct stored_service *service);

#endif
