/* SPDX-License-Identifier: Apache-2.0 */
/* The fragments of probes/ and the runs that need them. */
#ifndef COMPILE_SOURCE_FRAGMENTS_H
#define COMPILE_SOURCE_FRAGMENTS_H

#include "compile/source_flags.h"
#include "util/strbuf.h"

/* Append the fragments that this run needs. Each builds on earlier ones. */
void source_append_fragments(struct strbuf *text, const struct source_facts *facts);

#endif
