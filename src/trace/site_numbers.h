/* SPDX-License-Identifier: Apache-2.0 */
/* Numbers of sites. The probes tell the functions of nested calls apart by them. */
#ifndef TRACE_SITE_NUMBERS_H
#define TRACE_SITE_NUMBERS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"

/* {0}: all numbers are free. */
struct site_numbers {
	bool used[ABI_MAX_SITES];
};

/* Returns the lowest free number. If all are used, the last one, ABI_MAX_SITES - 1, which
 * all further sites share. */
unsigned site_numbers_find(const struct site_numbers *numbers);

#endif
