// SPDX-License-Identifier: Apache-2.0
#include "options/option_choices.h"

#include <stddef.h>

#include "options/options.h"

#define VIEW(name, words) #name,
const char *const choice_view_names[] = {
#include "render/views/view_rows.h"
	NULL,
};
#undef VIEW
const char *const choice_sorts[] = {[REPORT_SORT_SIZE] = "size",
				    [REPORT_SORT_COUNT] = "count",
				    [REPORT_SORT_TRAFFIC] = "traffic",
				    [REPORT_SORT_GROWTH] = "growth",
				    [REPORT_SORT_AGE] = "age",
				    [REPORT_SORT_PEAK] = "peak",
				    [REPORT_SORT_AT_PEAK] = "at-peak",
				    [REPORT_SORT_TEMPORARY] = "temporary",
				    [REPORT_SORT_LOST] = "lost",
				    [REPORT_SORT_CUMULATIVE] = "cumulative",
				    NULL};
const char *const choice_groups[] = {[REPORT_GROUP_PATH] = "stack",
				     [REPORT_GROUP_PROCESS] = "process",
				     [REPORT_GROUP_FUNCTION] = "function",
				     [REPORT_GROUP_CALLER] = "caller",
				     [REPORT_GROUP_MODULE] = "module",
				     [REPORT_GROUP_LIBRARY] = "library",
				     [REPORT_GROUP_SOURCE] = "source",
				     [REPORT_GROUP_LINE] = "line",
				     [REPORT_GROUP_ALLOCATOR] = "allocator",
				     [REPORT_GROUP_THREAD] = "thread",
				     NULL};
const char *const choice_flame_ofs[] = {
	[REPORT_FLAME_LIVE] = "live",       [REPORT_FLAME_PEAK] = "peak",
	[REPORT_FLAME_TRAFFIC] = "traffic", [REPORT_FLAME_LOST] = "lost",
	[REPORT_FLAME_COUNT] = "count",     NULL};
const char *const choice_colors[] = {
	[COLOR_AUTO] = "auto", [COLOR_ALWAYS] = "always", [COLOR_NEVER] = "never", NULL};
#define CHOICE_REPORTS(name) #name,
#define CHOICE_HIDDEN(name)
#define FORMAT(name, shown, file, able, words) CHOICE_##shown(name)
const char *const choice_formats[] = {
#include "render/format_rows.h"
	NULL,
};
#undef FORMAT
const char *const choice_attaches[] = {
	[ATTACH_AUTO] = "auto", [ATTACH_MULTI] = "multi", [ATTACH_PERF] = "perf", NULL};
const char *const choice_tables[] = {[TABLES_AUTO] = "auto",
				     [TABLES_ARRAYS] = "arrays",
				     [TABLES_HASHES] = "hashes",
				     NULL};
const char *const choice_unwinds[] = {[UNWIND_CHOICE_AUTO] = "auto",
				      [UNWIND_CHOICE_RULES] = "rules",
				      [UNWIND_CHOICE_FP] = "fp",
				      NULL};
const char *const choice_forms[] = {[REPORT_FORM_AUTO] = "auto",
				    [REPORT_FORM_FULL] = "full",
				    [REPORT_FORM_SHORT] = "short",
				    NULL};
const char *const choice_hidden[] = {"default", "none", NULL};
const char *const choice_headers[] = {
	[HEADERS_AUTO] = "auto", [HEADERS_EMBEDDED] = "embedded", NULL};

const char *const choice_topics[] = {[HELP_SHORT] = "short",
				     [HELP_ALL] = "all",
				     [HELP_EXAMPLES] = "examples",
				     [HELP_GROUP + GROUP_TARGET] = "target",
				     [HELP_GROUP + GROUP_REPORTS] = "reports",
				     [HELP_GROUP + GROUP_UNREACHABLE] = "unreachable",
				     [HELP_GROUP + GROUP_FILTER] = "filter",
				     [HELP_GROUP + GROUP_LIMITS] = "limits",
				     [HELP_GROUP + GROUP_NAMES] = "names",
				     [HELP_GROUP + GROUP_OUTPUT] = "output",
				     [HELP_GROUP + GROUP_ADVANCED] = "advanced",
				     NULL};
