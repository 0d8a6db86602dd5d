/* SPDX-License-Identifier: Apache-2.0 */
/* The groups of options, and the words that options take, each list ended by NULL. */
#ifndef OPTIONS_OPTION_CHOICES_H
#define OPTIONS_OPTION_CHOICES_H

/* In the order of the help text. */
enum option_group {
	GROUP_TARGET,
	GROUP_REPORTS,
	GROUP_UNREACHABLE,
	GROUP_FILTER,
	GROUP_LIMITS,
	GROUP_NAMES,
	GROUP_OUTPUT,
	GROUP_ADVANCED,
	GROUP_COUNT,
};

extern const char *const choice_view_names[];
extern const char *const choice_sorts[];
extern const char *const choice_groups[];
extern const char *const choice_flame_ofs[];
extern const char *const choice_colors[];
extern const char *const choice_formats[];
extern const char *const choice_attaches[];
extern const char *const choice_tables[];
extern const char *const choice_unwinds[];
extern const char *const choice_forms[];
extern const char *const choice_hidden[];
extern const char *const choice_headers[];
extern const char *const choice_topics[];

#endif
