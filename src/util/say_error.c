// SPDX-License-Identifier: Apache-2.0
#include "util/say_error.h"

#include <stdio.h>

#include "util/cleanup.h"
#include "util/escape.h"

void say_error(const char *before, const struct error *err, const char *after)
{
	_cleanup_(freep) char *message = escape_dup(err->message);

	fprintf(stderr, "memtrace: %s%s%s\n", before, message ? message : "out of memory",
		after);
}
