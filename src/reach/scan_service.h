/* SPDX-License-Identifier: Apache-2.0 */
/* The child's side of scanner.h: its requests, and the table that both sides share. */
#ifndef REACH_SCAN_SERVICE_H
#define REACH_SCAN_SERVICE_H

#include <stddef.h>
#include <stdint.h>

#include "confined/confined.h"
#include "reach/scan.h"

enum scan_request {
	SCAN_FIRST,  /* pid, count, 1 if it is whole, deadline; the table's
			descriptor */
	SCAN_STOP,   /* pid, deadline */
	SCAN_VERIFY, /* as SCAN_FIRST */
	SCAN_RELEASE,
	SCAN_END,
};

/* The bytes of a table of `count` blocks. */
size_t scan_table_bytes(uint32_t count);

/* The arrays of a table that begins at `bytes`, which is not whole. */
struct reach_table scan_table_at(void *bytes, uint32_t count);

void scan_effort_put(struct strbuf *out, const struct reach_effort *effort);
struct reach_effort scan_effort_get(struct wire *in);

struct scan_service;

/* NULL: memory is out. `words` is copied. */
struct scan_service *scan_service_create(const struct reach_words *words);
void scan_service_destroy(struct scan_service *service);
struct confined_service scan_service_entry(struct scan_service *service);

#endif
