// SPDX-License-Identifier: Apache-2.0
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "util/strbuf.h"

#define MANGLED_MAX_BYTES   16384
#define DEMANGLED_MAX_BYTES 65536

struct output {
	struct strbuf text;
	jmp_buf full;
};

/* There is no other way to stop the demangler, and substitutions within substitutions let
 * it run for years. It is safe: with a callback it keeps everything on the stack, but for
 * the letters of one punycode identifier, which may be lost. */
static void add(const char *bytes, size_t size, void *opaque)
{
	struct output *output = opaque;
	size_t room = DEMANGLED_MAX_BYTES - output->text.len;

	strbuf_append_bytes(&output->text, bytes, size < room ? size : room);
	if (size >= room || output->text.failed)
		longjmp(output->full, 1);
}

char *demangle(const char *name)
{
	struct output output = {.text = {0}};
	/* Written before setjmp(), read after longjmp(). */
	volatile int ok = 1;
	int options = DMGL_PARAMS | DMGL_ANSI;

	if (name[0] != '_' || strnlen(name, MANGLED_MAX_BYTES + 1) > MANGLED_MAX_BYTES)
		return NULL;
	if (!setjmp(output.full)) {
		/* First, as a legacy name of Rust is one of C++ too. */
		ok = rust_demangle_callback(name, options, add, &output);
		if (!ok) {
			strbuf_deinit(&output.text);
			ok = cplus_demangle_v3_callback(name, options, add, &output);
		}
	}
	if (!ok || !output.text.len) {
		strbuf_deinit(&output.text);
		return NULL;
	}
	return strbuf_steal(&output.text);
}
