// SPDX-License-Identifier: Apache-2.0
#include "render/verdict_words.h"

#include <inttypes.h>
#include <stdio.h>

#include "render/brief_rate.h"
#include "render/class_words.h"
#include "render/text_words.h"

/* "45 s", "12 min", "1.8 h", "3.2 days". */
static struct units_text format_time(double seconds)
{
	static const struct {
		const char *name;
		double seconds, from_s;
	} units[] = {{"s", 1, 0},
		     {"min", 60, 120},
		     {"h", 3600, 3600},
		     {"days", 86400, 172800}};
	struct units_text text;
	size_t i = 0;
	uint64_t tenths;

	while (i + 1 < sizeof(units) / sizeof(*units) && seconds >= units[i + 1].from_s)
		i++;
	tenths = report_round(seconds / units[i].seconds * 10);
	if (tenths >= 100 || i == 0)
		snprintf(text.s, sizeof(text.s), "%" PRIu64 " %s", (tenths + 5) / 10,
			 units[i].name);
	else
		snprintf(text.s, sizeof(text.s), "%" PRIu64 ".%u %s", tenths / 10,
			 (unsigned)(tenths % 10), units[i].name);
	return text;
}

/* Round numbers: "1 GiB", not "1.0 GiB". */
static void append_amount(struct strbuf *text, uint64_t bytes)
{
	static const char *const units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
	size_t i = 0;

	while (i < 4 && bytes >= 1024 && bytes % 1024 == 0) {
		bytes /= 1024;
		i++;
	}
	strbuf_appendf(text, "%" PRIu64 " %s", bytes, units[i]);
}

static void append_live(struct strbuf *text, const struct verdict *v)
{
	strbuf_appendf(text, "%s live", units_format_bytes(v->live.estimated_bytes).s);
}

static void append_share(struct verdict_words *words, const struct verdict *v)
{
	if (v->cause)
		strbuf_appendf(&words->share, ", %u %% from ", v->share_percent);
}

static void describe_leak(struct verdict_words *words, const struct verdict *v)
{
	struct brief_rate rate;

	brief_rate_init(&rate, v->slope_bytes_per_s);
	strbuf_appendf(&words->what, "leaking %s",
		       brief_rate_format(&rate, v->slope_bytes_per_s).s);
	append_share(words, v);
	strbuf_append(&words->more, "; +");
	append_amount(&words->more, v->more_bytes);
	strbuf_appendf(&words->more, " in %s", format_time(v->more_s).s);
}

static void describe_early(struct verdict_words *words, const struct verdict *v)
{
	strbuf_append(&words->what, "too early");
	strbuf_appendf(&words->more, ": leak suspects after %" PRIu64 " more %s",
		       v->reports, text_plural(v->reports, "report", "reports"));
	if (v->wait_ns)
		strbuf_appendf(&words->more, " (%s)",
			       format_time((double)v->wait_ns / 1e9).s);
}

static void describe_short(struct verdict_words *words, const struct verdict *v)
{
	append_live(&words->what, v);
	append_share(words, v);
	strbuf_appendf(&words->more, "; too short to find leaks: %d reports are needed",
		       REPORT_SUSPECT_INTERVALS + 1);
}

static void describe_exit(struct verdict_words *words, const struct verdict *v)
{
	if (!v->live.count) {
		strbuf_append(&words->what, "exited with nothing live");
		return;
	}
	strbuf_append(&words->what, "exited: ");
	append_live(&words->what, v);
	append_share(words, v);
}

static void describe(struct verdict_words *words, const struct verdict *v)
{
	switch (v->kind) {
	case VERDICT_LEAKING:
		describe_leak(words, v);
		break;
	case VERDICT_EARLY:
		describe_early(words, v);
		break;
	case VERDICT_SHORT:
		describe_short(words, v);
		break;
	case VERDICT_EXITED:
		describe_exit(words, v);
		break;
	case VERDICT_UNSTEADY:
		strbuf_append(&words->what, "grows unsteadily");
		strbuf_appendf(&words->more, ": %s in %s; no leak suspects%s",
			       text_format_growth(v->growth_bytes).s,
			       format_time((double)v->growth_ns / 1e9).s,
			       v->is_filtered ? " that the filters show" : "");
		break;
	case VERDICT_QUIET:
		strbuf_append(&words->what, "nothing grows");
		strbuf_append(&words->more, ": ");
		append_live(&words->more, v);
		break;
	case VERDICT_HELD:
		append_live(&words->what, v);
		append_share(words, v);
		break;
	case VERDICT_FILTERED:
		strbuf_append(&words->what, "no stack matches the filters");
		break;
	case VERDICT_EMPTY:
		strbuf_append(&words->what, "nothing live");
		strbuf_append(&words->more, " that was allocated since the attach");
		break;
	}
}

void verdict_words_init(struct verdict_words *ret, const struct verdict *verdict)
{
	*ret = (struct verdict_words){0};
	if (verdict->class != BLOCK_HEAP)
		strbuf_appendf(&ret->what, "%s: ", class_words(verdict->class)->name);
	describe(ret, verdict);
}

void verdict_words_deinit(struct verdict_words *words)
{
	strbuf_deinit(&words->what);
	strbuf_deinit(&words->share);
	strbuf_deinit(&words->more);
}

bool verdict_words_failed(const struct verdict_words *words)
{
	return words->what.failed || words->share.failed || words->more.failed;
}
