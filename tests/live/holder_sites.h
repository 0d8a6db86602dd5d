/* SPDX-License-Identifier: Apache-2.0 */
/* What is true of the blocks of targets/holder.c, and what leak checkers call lost. */
#ifndef LIVE_HOLDER_SITES_H
#define LIVE_HOLDER_SITES_H

#include <stdbool.h>
#include <stdint.h>

/* The blocks that a function allocates. */
struct holder_site {
	const char *name;
	int64_t blocks;
	/* What memtrace must find. All other blocks are reached. */
	int64_t lost, held, possible;
	/* Blocks that LeakSanitizer (directly or indirectly) and Valgrind (definitely or
	 * indirectly) call lost. */
	int64_t by_lsan, by_valgrind;
	bool is_leak; /* can the program not use them any more? */
};

/* clang-format off */
static const struct holder_site holder_sites[] = {
	/*                     lost, held, possible; LeakSanitizer, Valgrind; leak */
	{"site_data",         1, 0, 0, 0, 0, 0, false},
	{"site_zeroed",       1, 0, 0, 0, 0, 0, false},
	{"site_tls",          1, 0, 0, 0, 0, 0, false},
	{"site_dynamic_tls",  1, 0, 0, 0, 0, 0, false},
	{"site_key",          1, 0, 0, 0, 0, 0, false},
	{"site_main_stack",   1, 0, 0, 0, 0, 0, false},
	{"site_thread_stack", 1, 0, 0, 0, 0, 0, false},
	{"site_register",     1, 0, 0, 0, 0, 0, false},
	{"site_vector",       1, 0, 0, 0, 0, 0, false},
	{"site_coroutine",    1, 0, 0, 0, 0, 0, false},
	{"site_signal_stack", 1, 0, 0, 0, 0, 0, false},
	{"site_shared",       1, 0, 0, 0, 1, 0, false},
	{"site_file",         1, 0, 0, 0, 1, 0, false},
	{"site_sealed",       1, 0, 0, 0, 1, 1, false},
	{"site_epoll",        1, 0, 0, 0, 1, 1, false},
	{"site_timer",        1, 0, 0, 0, 1, 1, false},
	{"site_older",        1, 0, 0, 0, 0, 0, false},
	{"site_freed",        1, 0, 0, 0, 1, 1, true},
	{"site_chain",        1, 0, 0, 0, 0, 0, false},
	{"site_chained",      1, 0, 0, 0, 0, 0, false},
	{"site_mangled",      1, 0, 0, 0, 1, 1, false},
	{"site_tagged",       1, 0, 0, 0, 1, 1, false},
	{"site_interior",     1, 0, 0, 1, 0, 0, false},
	{"site_past_end",     1, 0, 0, 1, 1, 1, false},
	{"site_low_tag",      1, 0, 0, 1, 0, 0, false},
	{"site_lost",         3, 3, 0, 0, 3, 3, true},
	{"site_list_head",    1, 1, 9, 0, 1, 1, true},
	{"site_list_rest",    9, 0, 0, 0, 9, 9, true},
	{"site_cycle",        2, 1, 1, 0, 2, 2, true},
	{"site_dead_stack",   1, 1, 0, 0, 1, 1, true},
	{"site_hidden",       1, 1, 0, 0, 1, 1, false},
};
/* clang-format on */

#define HOLDER_SITES (sizeof(holder_sites) / sizeof(*holder_sites))

#endif
