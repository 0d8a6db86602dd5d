// SPDX-License-Identifier: Apache-2.0
#include "progress/progress.h"

#include <unistd.h>

#include "progress/wait.h"
#include "util/cleanup.h"
#include "util/saturate.h"
#include "util/strbuf.h"
#include "util/units.h"

/* ECMA-48: erase from the cursor to the end of the line. */
#define ERASE_LINE "\r\033[K"

void progress_init(struct progress *progress, bool quiet)
{
	*progress =
		(struct progress){.out = !quiet && isatty(STDERR_FILENO) ? stderr : NULL};
}

void progress_show(void *arg, const char *phase)
{
	struct progress *progress = arg;

	if (!progress->out)
		return;
	fprintf(progress->out, ERASE_LINE "memtrace: %s ...", phase);
	fflush(progress->out);
	progress->showing = true;
}

void progress_stay(struct progress *progress, const char *text)
{
	if (!progress->out)
		return;
	fprintf(progress->out, ERASE_LINE "memtrace: %s", text);
	fflush(progress->out);
	progress->showing = true;
}

static void append_section(struct strbuf *text, const struct report_section *section)
{
	static const char *const words[BLOCK_CLASS_COUNT] = {
		[BLOCK_HEAP] = "live",
		[BLOCK_MAPPING] = "mapped",
		[BLOCK_KERNEL] = "in the kernel",
	};

	if (section->class == BLOCK_EVENT)
		strbuf_appendf(text, "; %s events",
			       units_format_count(section->live.count).s);
	else
		strbuf_appendf(text, "; %s %s",
			       units_format_bytes(section->live.estimated_bytes).s,
			       words[section->class]);
}

void progress_report(struct progress *progress, const struct report *report,
		     uint64_t duration_ns)
{
	const struct snapshot *snap = report->snapshot;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	unsigned lossy = 0;

	strbuf_appendf(&text, "%s traced", units_format_duration(report->elapsed_ns).s);
	if (duration_ns)
		strbuf_appendf(&text, ", %s left",
			       units_format_duration(
				       saturate_subtract(duration_ns, report->elapsed_ns))
				       .s);
	for (size_t i = 0; i < report->section_count; i++)
		append_section(&text, &report->sections[i]);
	for (size_t i = 0; i < LOSS_COUNT; i++)
		lossy += snap->losses[i] != 0;
	strbuf_append(&text, lossy ? "; not everything was recorded" : "; nothing lost");
	strbuf_append(&text, "; Ctrl-C ends");
	progress_stay(progress, strbuf_text(&text));
}

void progress_erase_echo(struct progress *progress)
{
	if (!progress->out)
		return;
	fputs(ERASE_LINE, progress->out);
	fflush(progress->out);
}

uint64_t progress_stopping_ns(void *arg)
{
	const struct progress *progress = arg;

	return progress->waiter ? waiter_stopping_ns(progress->waiter) : 0;
}

void progress_clear(struct progress *progress)
{
	if (!progress->showing)
		return;
	fputs(ERASE_LINE, progress->out);
	fflush(progress->out);
	progress->showing = false;
}
