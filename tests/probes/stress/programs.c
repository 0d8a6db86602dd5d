// SPDX-License-Identifier: Apache-2.0
#include "probes/stress/programs.h"

#include PROBES_TEXT

#ifdef WITH_ON_SESSION
#define ENTER  on_session
#define FREE   on_free_here
#define RETURN on_session
#elif defined(WITH_ON_CALL)
#define ENTER  on_call
#define FREE   on_free
#define RETURN on_return
#else
#define RETURN on_return
#endif

#ifndef is_mapping /* no_mappings.c */
#define FREE_ENTER ENTER
#else
#define FREE_ENTER FREE
#endif

const struct host_programs host_programs = {
	.variant = VARIANT,
	.entry =
		{
#ifdef ENTER
			[FN_MALLOC] = ENTER,
			[FN_CALLOC] = ENTER,
			[FN_MEMALIGN] = ENTER,
			[FN_REALLOC] = ENTER,
			[FN_RESIZE] = ENTER,
			[FN_FREE] = FREE_ENTER,
			[FN_DELETE] = FREE_ENTER,
			[FN_MALLOC_INSIDE] = ENTER,
			[FN_REALLOC_INSIDE] = ENTER,
#else
			/* In the order of variant_meanings(). */
			[FN_MALLOC] = on_call_0,
			[FN_CALLOC] = on_call_1,
			[FN_MEMALIGN] = on_call_2,
			[FN_REALLOC] = on_call_3,
			[FN_RESIZE] = on_call_4,
			[FN_FREE] = on_call_5,
			[FN_DELETE] = on_call_6,
#endif
#ifndef is_mapping /* no_mappings.c */
			[FN_MMAP] = ENTER,
			[FN_MUNMAP] = ENTER,
			[FN_MREMAP] = ENTER,
#endif
		},
	.returned = RETURN,
#ifdef WITH_ON_RESULT
	.result = on_result,
#endif
#ifdef WITH_ON_FORK
	.fork = on_fork,
#endif
	.exec = on_exec,
#ifndef tid_ends /* tids/not_kept.c */
	.thread_end = on_thread_end,
#endif
#ifdef WITH_ON_SESSION
	.is_session = true,
#endif
#ifndef is_mapping /* no_mappings.c */
	.frees_return = true,
#endif
#ifdef THREAD_SLOTS
	.has_traffic = true,
#endif
#ifndef sample_of /* no_sample_bytes.c */
	.is_sampled_by_bytes = true,
#endif
};
