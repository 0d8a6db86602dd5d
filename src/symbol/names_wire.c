// SPDX-License-Identifier: Apache-2.0
#include "symbol/names_wire.h"

#include <string.h>

#include "util/cleanup.h"

/* The smallest source frame: sizes of two texts, two numbers and a flag. */
#define SOURCE_MIN_BYTES 20

static void put_source(struct strbuf *out, const struct source_frame *frame)
{
	wire_put_text(out, frame->function);
	wire_put_text(out, frame->file);
	wire_put_u32(out, frame->line);
	wire_put_u32(out, frame->column);
	wire_put_u32(out, frame->inlined);
}

void names_put_frame(struct strbuf *out, const struct symbol *symbol,
		     const struct source_frames *sources)
{
	wire_put_text(out, symbol->name);
	wire_put_text(out, symbol->module);
	wire_put_u64(out, symbol->offset);
	wire_put_u64(out, sources->function_offset);
	wire_put_u32(out, (uint32_t)sources->list.len);
	vec_foreach (frame, &sources->list)
		put_source(out, frame);
}

void names_put_left_out(struct strbuf *out, const struct names_left_out *left_out)
{
	wire_put_u64(out, left_out->names.of_perf_map);
	wire_put_u64(out, left_out->names.mappings);
	wire_put_u64(out, left_out->lines);
}

struct names_left_out names_get_left_out(struct wire *in)
{
	struct names_left_out left_out;

	left_out.names.of_perf_map = wire_get_u64(in);
	left_out.names.mappings = wire_get_u64(in);
	left_out.lines = wire_get_u64(in);
	return left_out;
}

/* A copy of the next text, cut to NAMES_TEXT_MAX; false when out of memory. */
static bool get_copy(struct wire *in, char **ret)
{
	const char *text = wire_get_text(in);

	*ret = text ? strndup(text, NAMES_TEXT_MAX) : NULL;
	return !text || *ret;
}

static bool get_source(struct wire *in, struct source_frames *ret)
{
	struct source_frame frame = {.line = 0};
	bool is_whole = get_copy(in, &frame.function);

	is_whole = get_copy(in, &frame.file) && is_whole;
	frame.line = wire_get_u32(in);
	frame.column = wire_get_u32(in);
	frame.inlined = wire_get_u32(in) != 0;
	if (is_whole && vec_push(&ret->list, frame))
		return true;
	free(frame.function);
	free(frame.file);
	return false;
}

struct error *names_get_frame(struct wire *in, struct symbol *ret_symbol,
			      struct source_frames *ret_sources)
{
	struct source_frames sources = {.function_offset = 0};
	struct symbol symbol = {.is_plain = true};
	uint32_t count;
	bool is_whole = get_copy(in, &symbol.name);

	is_whole = get_copy(in, &symbol.module) && is_whole;
	symbol.offset = wire_get_u64(in);
	sources.function_offset = wire_get_u64(in);
	count = wire_get_count(in, SOURCE_MIN_BYTES);
	for (uint32_t i = 0; i < count && i < NAMES_SOURCES_MAX && is_whole; i++)
		is_whole = get_source(in, &sources);
	if (is_whole && wire_is_done(in)) {
		*ret_symbol = symbol;
		*ret_sources = sources;
		return NULL;
	}
	symbol_deinit(&symbol);
	source_frames_deinit(&sources);
	return is_whole ? error_create(ERROR_MALFORMED, "an answer about a frame is "
							"malformed")
			: error_no_memory();
}

int names_ask_debug_file(struct confined_server *server, const struct build_id *id)
{
	_cleanup_(strbuf_deinit) struct strbuf question = {0}, hex = {0};

	build_id_append(&hex, id);
	wire_put_text(&question, strbuf_text(&hex));
	return hex.failed ? -1 : confined_ask(server, &question);
}
