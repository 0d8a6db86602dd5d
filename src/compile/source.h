/* SPDX-License-Identifier: Apache-2.0 */
/* Builds the BPF program of one run: joins the fragments of probes/ into one text, and
 * sets sizes and features by -D flags, so that features that are off are not compiled. */
#ifndef COMPILE_SOURCE_H
#define COMPILE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "abi_sites.h"
#include "compile/source_run.h"
#include "compile/source_sites.h"
#include "compile/source_flags.h"
#include "util/error.h"

/* All that the four bits of a site (abi_sites.h) can name. */
#define SOURCE_ALL_REGISTERS (0xffffu & ~(1u << ABI_ARG_NONE))

struct source {
	char *text;
	struct source_flags flags;
	/* values that are neither in the text nor in the flags */
	struct run_values values;
	VEC(uint64_t) sites; /* meanings, without duplicates */
	unsigned registers;  /* bit n: an argument may be in register n */
	bool cookies;
	/* on_free_here replaces on_free, and on_session also serves only one process */
	bool one_process;
	bool keeps_tids; /* there is a program on_thread_end */
	struct source_sizes sizes;
};

/* Build the source for probes with these meanings. Without cookies each meaning gets a
 * program of its own, with the meaning compiled in; source_entry_name() gives its
 * name. */
struct error *source_build(const struct source_run *run, const struct meanings *meanings,
			   struct source **ret) __attribute__((warn_unused_result));
void source_destroy(struct source *source);

/* The index of a meaning in source.sites, or source.sites.len if it is missing. */
size_t source_site_index(const struct source *source, uint64_t site);

/* Can the compiled programs serve a probe with this meaning? Those given to
 * source_build() always; with cookies also others, if their arguments are in registers
 * that those meanings or the calling convention use. */
bool source_serves(const struct source *source, uint64_t site);

/* The name of the entry program for meaning number `index`, without cookies. */
void source_entry_name(size_t index, char ret[PROGRAM_NAME_MAX]);

#endif
