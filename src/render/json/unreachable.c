// SPDX-License-Identifier: Apache-2.0
#include "render/json/unreachable.h"

static void write_sums(struct json_stream *s, const struct snapshot_unreachable *u)
{
	const struct {
		const char *bytes, *blocks;
		const struct snapshot_sum *sum;
	} rows[] = {
		{"lost_bytes", "lost_blocks", &u->lost},
		{"held_bytes", "held_blocks", &u->held},
		{"possible_bytes", "possible_blocks", &u->possible},
		{"unverified_bytes", "unverified_blocks", &u->unverified},
		{"lost_but_freed_bytes", "lost_but_freed_blocks", &u->lost_but_freed},
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		json_stream_unsigned(s, rows[i].bytes, rows[i].sum->bytes);
		json_stream_unsigned(s, rows[i].blocks, rows[i].sum->count);
	}
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
