// SPDX-License-Identifier: Apache-2.0
/* Answers about code addresses: their limits, since the process that sends them may have
 * been taken over by what it reads. */
#include "check.h"

#include <stdlib.h>
#include <string.h>

#include "symbol/names_wire.h"
#include "util/cleanup.h"

/* Sends a frame with a name of so many bytes and so many source frames, and receives it.
 */
static struct error *pass(size_t name_bytes, unsigned source_count, struct symbol *symbol,
			  struct source_frames *sources)
{
	_cleanup_(strbuf_deinit) struct strbuf bytes = {0};
	struct source_frames sent = {.function_offset = 7};
	char *name = calloc(1, name_bytes + 1);
	struct symbol sent_symbol = {.name = name, .offset = 5};
	char function[] = "function", file[] = "file.c";
	struct wire in;

	REQUIRE(name);
	memset(name, 'x', name_bytes);
	for (unsigned i = 0; i < source_count; i++) {
		struct source_frame frame = {
			.function = function, .file = file, .line = i};

		REQUIRE(vec_push(&sent.list, frame));
	}
	names_put_frame(&bytes, &sent_symbol, &sent);
	vec_deinit(&sent.list);
	free(name);
	in = wire_read(&bytes);
	return names_get_frame(&in, symbol, sources);
}

static void a_frame_arrives(void)
{
	struct source_frames sources;
	struct symbol symbol;

	REQUIRE(!pass(12, 3, &symbol, &sources));
	CHECK_STR(symbol.name, "xxxxxxxxxxxx");
	CHECK_INT(symbol.offset, 5);
	CHECK_INT(sources.function_offset, 7);
	REQUIRE(sources.list.len == 3);
	CHECK_STR(sources.list.data[2].file, "file.c");
	CHECK_INT(sources.list.data[2].line, 2);
	symbol_deinit(&symbol);
	source_frames_deinit(&sources);
}

static void long_texts_are_cut(void)
{
	struct source_frames sources;
	struct symbol symbol;

	REQUIRE(!pass(NAMES_TEXT_MAX + 100, 0, &symbol, &sources));
	CHECK_INT(strlen(symbol.name), NAMES_TEXT_MAX);
	symbol_deinit(&symbol);
	source_frames_deinit(&sources);
}

static void too_many_frames_are_refused(void)
{
	struct source_frames sources;
	struct symbol symbol;
	struct error *err;

	REQUIRE(!pass(1, NAMES_SOURCES_MAX, &symbol, &sources));
	CHECK_INT(sources.list.len, NAMES_SOURCES_MAX);
	symbol_deinit(&symbol);
	source_frames_deinit(&sources);
	err = pass(1, NAMES_SOURCES_MAX + 1, &symbol, &sources);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_MALFORMED);
	error_destroy(err);
}

int main(void)
{
	RUN(a_frame_arrives);
	RUN(long_texts_are_cut);
	RUN(too_many_frames_are_refused);
	return check_done();
}
