// SPDX-License-Identifier: Apache-2.0
#include "compile/compiler_key.h"

#include <stdlib.h>

#include "compile/embedded.h"
#include "bpf/kernel_identity.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

static void add_environment(struct strbuf *text, const char *name)
{
	const char *value = getenv(name);

	strbuf_appendf(text, "%s=%s\n", name, value ? value : "");
}

bool compiler_key(const struct source *source, const struct headers *headers,
		  struct cache_key *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if (!headers->is_embedded)
		return false;
	strbuf_append(&text, "memtrace " MEMTRACE_VERSION "\n");
	if (!kernel_identity_append(&text))
		return false;
	add_environment(&text, "LD_LIBRARY_PATH");
	add_environment(&text, "LD_PRELOAD");
	for (const struct embedded_file *f = embedded_headers; f->name; f++)
		strbuf_appendf(&text, "%s\n%s\n", f->name, f->text);
	for (size_t i = 0; i < source->flags.count; i++)
		strbuf_appendf(&text, "%s\n", source->flags.list[i]);
	strbuf_append(&text, source->text);
	return cache_key_make(&text, ret);
}
