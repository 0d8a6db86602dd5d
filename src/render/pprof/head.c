// SPDX-License-Identifier: Apache-2.0
/* Writes the head of a profile: value types, times, and a comment. */
#include <inttypes.h>

#include "render/class_words.h"
#include "render/pprof/parts.h"
#include "util/cleanup.h"
#include "util/escape.h"

/* The default sample type. */
static enum pprof_value shown_value(const struct pprof_builder *b)
{
	if (b->options->shows_allocs && pprof_has_value(b, ALLOC_SPACE))
		return ALLOC_SPACE;
	return pprof_weight(snapshot_main_class(b->report->snapshot));
}

/* Types come in pairs of count and bytes, except the last. */
static bool is_bytes(enum pprof_value value)
{
	return value % 2;
}

static void write_value_types(struct pprof_builder *b, Pprof__Profile *part)
{
	static const char *const types[PPROF_VALUES] = {
		[MAPPED_OBJECTS] = "mapped_objects",
		[MAPPED_SPACE] = "mapped_space",
		[KERNEL_OBJECTS] = "kernel_objects",
		[KERNEL_SPACE] = "kernel_space",
		[ALLOC_OBJECTS] = "alloc_objects",
		[ALLOC_SPACE] = "alloc_space",
		[PEAK_OBJECTS] = "peak_objects",
		[PEAK_SPACE] = "peak_space",
		[LOST_OBJECTS] = "lost_objects",
		[LOST_SPACE] = "lost_space",
		[INUSE_OBJECTS] = "inuse_objects",
		[INUSE_SPACE] = "inuse_space",
		[EVENTS] = "events",
	};
	Pprof__ValueType values[PPROF_VALUES], period = PPROF__VALUE_TYPE__INIT;
	Pprof__ValueType *list[PPROF_VALUES];
	int64_t count = pprof_write_string(b, "count");
	enum pprof_value shown = shown_value(b);

	b->bytes = pprof_write_string(b, "bytes");
	for (int i = 0; i < PPROF_VALUES; i++) {
		if (!pprof_has_value(b, (enum pprof_value)i))
			continue;
		pprof__value_type__init(&values[i]);
		values[i].type = pprof_write_string(b, types[i]);
		values[i].unit = is_bytes((enum pprof_value)i) ? b->bytes : count;
		list[part->n_sample_type++] = &values[i];
	}
	part->sample_type = list;
	part->default_sample_type = values[shown].type;
	period.type =
		is_bytes(shown) ? pprof_write_string(b, "space") : values[shown].type;
	period.unit = values[shown].unit;
	part->period_type = &period;
	/* Numbers are already scaled, so each byte stands for itself. */
	part->period = 1;
	pprof_write_part(b, part);
}

static int64_t write_comment(struct pprof_builder *b)
{
	const struct snapshot *snap = b->report->snapshot;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	strbuf_append(&text, "memtrace " MEMTRACE_VERSION ", ");
	if (snap->processes.len == 1) {
		class_append_target(&text, snap, escape_text);
	} else {
		strbuf_appendf(&text, "%zu processes", snap->processes.len);
	}
	if (snap->event) {
		strbuf_append(&text, "; ");
		escape_text(&text, snap->event);
	}
	if (sampling_is_on(&snap->sampling) && !sampling_is_by_size(&snap->sampling))
		strbuf_appendf(&text,
			       "; heap numbers are estimates from one allocation in %s",
			       sampling_format_interval(&snap->sampling).s);
	for (size_t i = 0; i < LOSS_COUNT; i++) {
		if (snap->losses[i])
			strbuf_appendf(&text, "; incomplete: %s %" PRIu64,
				       loss_name((enum loss)i), snap->losses[i]);
	}
	if (snap->inconsistent)
		strbuf_append(&text, "; not of one moment");
	if (b->folded)
		strbuf_appendf(&text, "; %zu call paths are folded into [other]",
			       b->folded);
	if (text.failed)
		b->failed = true;
	return pprof_write_string(b, strbuf_text(&text));
}

/*
 * Functions that allocate for others, as an expression of RE2. pprof matches it with
 * whole names without parameters, and leaves out these frames and everything they call
 * (Profile.RemoveUninteresting() of github.com/google/pprof/profile). So the caller has
 * the bytes. The names may be without template arguments, too: see system_name_of().
 */
static const char drop_frames[] =
	"operator new(\\[\\])?|"
	"std::allocator(<.*|::.*)|std::allocator_traits(<.*|::.*)|"
	"std::__new_allocator(<.*|::.*)|__gnu_cxx::new_allocator(<.*|::.*)|"
	"std::_Vector_base(<.*)?::_M_allocate.*|"
	"__rust_alloc.*|__rdl_alloc.*|<?alloc::alloc::.*|<?alloc::raw_vec::.*";

void pprof_write_head(struct pprof_builder *b)
{
	const struct report *report = b->report;
	Pprof__Profile part = PPROF__PROFILE__INIT;
	int64_t comment;

	pprof_write_string(b, "");
	b->thread = pprof_write_string(b, "thread");
	comment = write_comment(b);
	part.n_comment = 1;
	part.comment = &comment;
	if (class_words_main(report->snapshot)->is_live)
		part.drop_frames = pprof_write_string(b, drop_frames);
	part.time_nanos = pprof_clamp(report->snapshot->wall_ns);
	part.duration_nanos =
		pprof_clamp(b->options->changes ? report->since_ns : report->elapsed_ns);
	write_value_types(b, &part);
}
