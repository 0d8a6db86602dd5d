/* SPDX-License-Identifier: Apache-2.0 */
/* Whose code a frame is: the user's own or a library's. */
#ifndef FRAMES_OWN_CODE_H
#define FRAMES_OWN_CODE_H

#include <stddef.h>

#include "frames/frame.h"
#include "util/strbuf.h"

enum code_kind {
	CODE_OWN,       /* the executable, libraries outside the system's folders, code
			   of a JIT compiler */
	CODE_LIBRARY,   /* any other library */
	CODE_RUNTIME,   /* standard library or runtime of a language, start of threads */
	CODE_ALLOCATOR, /* allocation functions and wrappers of them ("xmalloc") */
	CODE_UNKNOWN,   /* neither name nor module, or a placeholder */
};

struct code_origin {
	enum code_kind kind;
	const char *library; /* for people: "libstdc++", "Rust's std", "libxml2"; not
				terminated; points to static text or into the frame;
				NULL for CODE_OWN and CODE_UNKNOWN */
	size_t library_len;  /* bytes */
};

/*
 * Judge a frame by its module, its source file and its name, which is what tells inlined
 * and statically linked library code apart. `executable` is the path of the program that
 * runs, as in its mappings, or NULL. `scratch` is overwritten. If memory is out, the
 * scratch fails and the judgement ignores the name.
 */
struct code_origin code_origin_of(const struct report_frame *frame,
				  const char *executable, struct strbuf *scratch);

#endif
