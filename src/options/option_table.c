// SPDX-License-Identifier: Apache-2.0
#include "options/option_table.h"

#include <string.h>

#include "bpf/cache.h"
#include "util/units.h"

#define FIELD(member)                                                                    \
	.offset = offsetof(struct options, member),                                      \
	.size = sizeof(((struct options *)NULL)->member)

/* One year: far from the range where sums of nanoseconds overflow. */
#define TIME_MIN_NS (10 * UNITS_NS_PER_MS)
#define TIME_MAX_NS (8760 * UNITS_NS_PER_HOUR)

#define PATTERN                                                                          \
	"a file name, which may contain %p (process), %t (time), %n (number) and %%, "   \
	"or '-'"

/* Why a search for unreachable blocks does not work with an option that leaves blocks
 * untraced. */
#define SOME_BLOCKS                                                                      \
	"traces some blocks only: what an untraced lost block points to would seem "     \
	"reachable"
#define NOT_ALL_BLOCKS "does not trace all blocks: others would count as free memory"

/* "; NAME: WORDS" for each value of --format. */
#define SEPARATOR_LENGTH          2
#define HELP_REPORTS(name, words) "; " name ": " words
#define HELP_HIDDEN(name, words)
#define FORMAT(name, shown, file, able, words) HELP_##shown(#name, words)
static const char format_help[] =
#include "render/format_rows.h"
	;
#undef FORMAT

#define VIEW(name, words) #name words ", "
static const char view_help[] = "what text reports and --csv show: "
#include "render/views/view_rows.h"
				"each in its own order unless --sort is given";
#undef VIEW

/* For option_denial.applies. */
static bool waits(const struct options *options)
{
	return options->wait_for;
}

static bool takes_hashes(const struct options *options)
{
	return options->trace.tables == TABLES_HASHES;
}

static bool skips_allocations(const struct options *options)
{
	return options->trace.sampling.every > 1;
}

#define OPTION(id, ...) [OPTION_##id] = {__VA_ARGS__, .group = GROUP},

const struct option_row option_rows[OPTION_ID_COUNT] = {
#include "options/option_rows.h"
};

void option_append_expected(const struct option_row *row, struct strbuf *text)
{
	if (row->expected) {
		strbuf_append(text, row->expected);
		return;
	}
	for (size_t i = 0; row->choices[i]; i++)
		strbuf_appendf(text, "%s'%s'",
			       !i                    ? ""
			       : row->choices[i + 1] ? ", "
						     : " or ",
			       row->choices[i]);
}

const char *option_group_name(enum option_group group)
{
	static const char *const names[GROUP_COUNT] = {
		[GROUP_TARGET] = "Target",
		[GROUP_REPORTS] = "Reports",
		[GROUP_UNREACHABLE] = "Unreachable blocks",
		[GROUP_FILTER] = "Filter",
		[GROUP_LIMITS] = "Limits",
		[GROUP_NAMES] = "Names",
		[GROUP_OUTPUT] = "Output",
		[GROUP_ADVANCED] = "Advanced",
	};

	return names[group];
}
