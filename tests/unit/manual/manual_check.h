/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for the tests of the generated files in MANUAL_DIR. */
#ifndef TESTS_MANUAL_CHECK_H
#define TESTS_MANUAL_CHECK_H

#include <stdbool.h>
#include <unistd.h>

#include "check.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

/* Run a shell command. Returns its stdout and stderr; owned by the caller. */
static inline char *output_of(const char *command)
{
	struct strbuf text = {0};
	char bytes[4096];
	size_t len;
	FILE *in = popen(command, "re");

	REQUIRE(in);
	strbuf_append(&text, "");
	while ((len = fread(bytes, 1, sizeof(bytes), in)))
		strbuf_append_bytes(&text, bytes, len);
	pclose(in);
	REQUIRE(!text.failed);
	return strbuf_steal(&text);
}

static inline bool has_program(const char *name)
{
	char command[256];

	snprintf(command, sizeof(command), "command -v %s >/dev/null", name);
	return system(command) == 0;
}

#endif
