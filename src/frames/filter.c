// SPDX-License-Identifier: Apache-2.0
#include "frames/filter.h"

#include <stdlib.h>
#include <string.h>

#include "frames/filter_pattern.h"
#include "util/vec.h"

struct report_filter {
	VEC(struct filter_pattern) patterns[FILTER_USES];
};

/* Frames of the start of processes and threads, in C (musl too) and Rust, and frames
 * between a container or operator and the allocator. */
const char *const report_filter_noise[] = {
	"fn:_start",
	"fn:_start_c",
	"fn:libc_start_main_stage2",
	"fn:__libc_start_main*",
	"fn:__libc_start_call_main",
	"fn:start_thread",
	"fn:clone",
	"fn:__clone",
	"fn:clone3",
	"fn:__clone3",
	"fn:operator new*",
	"fn:std::allocator<*",
	"fn:std::allocator_traits<*",
	"fn:std::__new_allocator<*",
	"fn:__gnu_cxx::new_allocator<*",
	"fn:std::_Vector_base<*::_M_allocate*",
	"fn:__rust_alloc*",
	"fn:__rdl_alloc*",
	"fn:alloc::alloc::*",
	"fn:<alloc::alloc::Global*",
	"fn:alloc::raw_vec::*",
	"fn:std::rt::lang_start*",
	"fn:std::panicking::*",
	"fn:std::panic::catch_unwind*",
	"fn:*::__rust_begin_short_backtrace*",
	"fn:core::ops::function::*::call_once*",
	"fn:*as core::ops::function::FnOnce*::call_once*",
	NULL,
};

struct report_filter *report_filter_create(void)
{
	return calloc(1, sizeof(struct report_filter));
}

void report_filter_destroy(struct report_filter *filter)
{
	if (!filter)
		return;
	for (size_t i = 0; i < FILTER_USES; i++) {
		vec_foreach (pattern, &filter->patterns[i])
			filter_pattern_deinit(pattern);
		vec_deinit(&filter->patterns[i]);
	}
	free(filter);
}

/* Takes ownership of the pattern, also on failure. */
static struct error *push(struct report_filter *filter, enum filter_use use,
			  struct filter_pattern *pattern)
{
	if (vec_push(&filter->patterns[use], *pattern))
		return NULL;
	filter_pattern_deinit(pattern);
	return error_no_memory();
}

struct error *report_filter_add(struct report_filter *filter, enum filter_use use,
				const char *text)
{
	struct filter_pattern pattern;
	struct error *err = filter_pattern_init(text, &pattern);

	if (err)
		return err;
	/* Patterns that hide frames know the whole names. */
	pattern.by_short_name = use == FILTER_KEEP || use == FILTER_EXCLUDE;
	return push(filter, use, &pattern);
}

struct error *report_filter_add_template(struct report_filter *filter, const char *text)
{
	struct filter_pattern pattern;
	struct error *err = filter_pattern_init_template(text, &pattern);

	return err ? err : push(filter, FILTER_SUPPRESS, &pattern);
}

struct error *report_filter_hide_noise(struct report_filter *filter)
{
	struct error *err = NULL;

	for (size_t i = 0; !err && report_filter_noise[i]; i++)
		err = report_filter_add(filter, FILTER_HIDE, report_filter_noise[i]);
	return err;
}

const char *report_filter_kept(const struct report_filter *filter, size_t index)
{
	return index < filter->patterns[FILTER_KEEP].len
		       ? filter->patterns[FILTER_KEEP].data[index].glob
		       : NULL;
}

bool report_filter_keeps_all(const struct report_filter *filter)
{
	return !filter->patterns[FILTER_KEEP].len &&
	       !filter->patterns[FILTER_EXCLUDE].len &&
	       !filter->patterns[FILTER_SUPPRESS].len;
}

unsigned report_filter_match(const struct report_filter *filter,
			     struct report_frame *frame)
{
	unsigned matches = 0;

	for (size_t use = 0; use < FILTER_USES; use++) {
		vec_foreach (pattern, &filter->patterns[use]) {
			if (filter_pattern_matches(pattern, frame)) {
				matches |= 1u << use;
				break;
			}
		}
	}
	frame->hidden = matches & FILTER_MATCH_HIDE;
	return matches;
}

enum filter_verdict report_filter_judge(const struct report_filter *filter,
					unsigned matches)
{
	if (filter->patterns[FILTER_KEEP].len && !(matches & FILTER_MATCH_KEEP))
		return FILTER_LEFT_OUT;
	if (matches & FILTER_MATCH_EXCLUDE)
		return FILTER_LEFT_OUT;
	return matches & FILTER_MATCH_SUPPRESS ? FILTER_SUPPRESSED : FILTER_SHOWN;
}
