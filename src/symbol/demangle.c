// SPDX-License-Identifier: Apache-2.0
#include "symbol/demangle.h"

#include <setjmp.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "util/strbuf.h"

/* libiberty's parser takes up to 300 bytes of stack for each byte of a name: less than
 * 3 MB for this length. Its own limit, 1024 bytes, is too low for real names of C++. */
#define MANGLED_MAX_BYTES   8192
#define DEMANGLED_MAX_BYTES 65536

struct output {
	struct strbuf text;
	jmp_buf full;
};

/* Leaves the demangler by longjmp() when the text is long enough. It offers no other way
 * to stop it, and nested substitutions can make it run for years. This is safe: with a
 * callback the demangler keeps all data on the stack, except the letters of one punycode
 * identifier, which may leak. */
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

/* True if there is text, complete or cut. */
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
	/* Rust first: its legacy names are also valid names of C++. */
	if (run(rust_demangle_callback, 0, name, &output) ||
	    run(cplus_demangle_v3_callback, DMGL_NO_RECURSE_LIMIT, name, &output))
		return strbuf_steal(&output.text);
	strbuf_deinit(&output.text);
	return NULL;
}
