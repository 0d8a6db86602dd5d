// SPDX-License-Identifier: Apache-2.0
#include "util/say_error.h"

#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_note.h"

void say_error(const char *before, const struct error *err, const char *after)
{
	_cleanup_(freep) char *message = escape_dup(err->message);

	say_note("%s%s%s", before, message ? message : "out of memory", after);
}
