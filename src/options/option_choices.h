/* SPDX-License-Identifier: Apache-2.0 */
/* The words that options take, each list ended by NULL. For option_table.c. */
#ifndef OPTIONS_OPTION_CHOICES_H
#define OPTIONS_OPTION_CHOICES_H

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
