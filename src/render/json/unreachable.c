// SPDX-License-Identifier: Apache-2.0
#include "render/json/unreachable.h"

#include "render/columns.h"

#define WRITE_SUM(name)                                                                  \
	json_stream_unsigned(s, #name "_bytes", u->name.bytes);                          \
	json_stream_unsigned(s, #name "_blocks", u->name.count);

static void write_sums(struct json_stream *s, const struct snapshot_unreachable *u)
{
	UNREACHABLE_COLUMNS(WRITE_SUM);
}

void json_write_unreachable(struct json_stream *stream, const struct report_row *row)
{
	if (!row->unreachable)
		return;
	json_stream_open(stream, "unreachable", '{');
	write_sums(stream, row->unreachable);
	json_stream_close(stream, '}');
}

void json_write_search(struct json_stream *stream, const struct snapshot *snap)
{
	const struct snapshot_search *search = &snap->search;

	if (!search->count)
		return;
	json_stream_open(stream, "search", '{');
	json_stream_unsigned(stream, "searches", search->count);
	json_stream_unsigned(
		stream, "age_ns",
		snap->time_ns > search->time_ns ? snap->time_ns - search->time_ns : 0);
	json_stream_unsigned(stream, "took_ns", search->took_ns);
	json_stream_unsigned(stream, "pause_ns", search->pause_ns);
	json_stream_unsigned(stream, "read_bytes", search->read_bytes);
	json_stream_unsigned(stream, "threads", search->threads);
	json_stream_unsigned(stream, "processes", search->processes);
	json_stream_unsigned(stream, "unsearched", search->unsearched);
	json_stream_unsigned(stream, "unseen_rings", search->has_rings);
	write_sums(stream, &search->total);
	json_stream_close(stream, '}');
}
