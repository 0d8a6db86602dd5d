// SPDX-License-Identifier: Apache-2.0
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "util/strbuf.h"

/* libiberty's parser takes up to 300 bytes of stack for each byte of a name: less than 3
 * MB. Its own limit, 1024 bytes, is too low for real names of C++. */
#define MANGLED_MAX_BYTES   8192
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

typedef int demangle_function(const char *mangled, int options,
			      demangle_callbackref callback, void *opaque);

/* True when there is text, all of it or as much as is wanted. */
static bool run(demangle_function *function, int options, const char *name,
		struct output *output)
{
	strbuf_deinit(&output->text);
	if (setjmp(output->full))
		return !output->text.failed;
	return function(name, DMGL_PARAMS | DMGL_ANSI | options, add, output) &&
	       output->text.len;
}

char *demangle(const char *name)
{
	struct output output = {.text = {0}};

	if (name[0] != '_' || strnlen(name, MANGLED_MAX_BYTES + 1) > MANGLED_MAX_BYTES)
		return NULL;
	/* Rust first, as its legacy names are names of C++ too. */
	if (run(rust_demangle_callback, 0, name, &output) ||
	    run(cplus_demangle_v3_callback, DMGL_NO_RECURSE_LIMIT, name, &output))
		return strbuf_steal(&output.text);
	strbuf_deinit(&output.text);
	return NULL;
}
