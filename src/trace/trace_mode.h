/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A trace mode: what a run traces. Each mode is a file trace/mode_NAME.c that defines
 * trace_mode_NAME, and a row of compile/mode_rows.h. What differs between modes is in
 * this struct: other code calls its functions, or asks for an ability.
 */
#ifndef TRACE_TRACE_MODE_H
#define TRACE_TRACE_MODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "compile/source_mode.h"
#include "compile/trace_config.h"
#include "snapshot/snapshot.h"
#include "util/error.h"

struct drain_slots;
struct plan;
struct plan_site;
struct tracer;
struct tracer_setup;

struct trace_mode {
	/* Completes "--OPTION does not work with ..., which DOES". */
	const char *does;
	const char *
		event; /* the event that it counts; NULL: the event of --event, or none */
	/* Class of its blocks or hits: the section of reports that has them
	 * (render/class_words.h). */
	enum block_class class;
	struct source_mode source;
	/* Bytes of the mode's own data in a tracer (tracer.mode_state), zero at first. */
	size_t state_bytes;

	/* Functions that are NULL have nothing to do. */

	/* Check that the kernel has what the mode needs, and find it. */
	struct error *(*look)(struct tracer *t);
	/* Open the mode's own tables. */
	struct error *(*open_tables)(struct tracer *t);
	/* Load the programs, except those that are loaded beside (source_run.programs):
	 * does the kernel accept them? begin_load() is called first. */
	struct error *(*begin_load)(struct tracer *t);
	struct error *(*load)(struct tracer *t, unsigned beside);
	/* Attach what is attached once, without a plan. */
	struct error *(*attach_once)(struct tracer *t);
	/* As tracer_attach(). NULL: the mode has no plans. */
	struct error *(*attach)(struct tracer *t, const struct plan *plan, int pid,
				size_t *refused);
	/* Load the program for a site's entry if it is not loaded. *ret is its
	 * descriptor, which the tracer owns. Only with MODE_CALLS. */
	struct error *(*load_entry)(struct tracer *t, const struct plan_site *site,
				    uint64_t meaning, int *ret);
	/* Record the site. False: it cannot have this number. */
	bool (*take_site)(struct tracer *t, const struct plan_site *site,
			  unsigned number);
	/* Tracing of a process begins, and ends. */
	void (*begin_process)(struct tracer *t, int pid, uint32_t slot);
	void (*end_process)(struct tracer *t, uint32_t slot);
	/* Add what is live, or the hits, with stacks and totals. Never NULL. *settled is
	 * as in drain_blocks(). */
	struct error *(*drain)(struct tracer *t, const struct drain_slots *slots,
			       struct snapshot *snap, bool *settled);
	/* Drop the data of each slot with gone[slot]. Set held[slot] if the slot had
	 * data. */
	struct error *(*drop_slots)(struct tracer *t, const bool gone[], bool held[]);
	/* Detach what the state has attached, and free what it owns. Only with
	 * state_bytes; also called after tracer_create() has failed. */
	void (*close)(struct tracer *t);
	/* Are the probes of its plans events of the kernel, which --attach does not
	 * change? NULL: no. */
	bool (*is_in_kernel)(const struct tracer_setup *setup);
	/* How probes are attached, for -v; NULL: as attach_ops.name says. */
	const char *(*attach_name)(const struct tracer *t);
	/* For --dry-run: check and print the probes that are not in plans. */
	struct error *(*dry_run)(const struct tracer_setup *setup, FILE *out);
};

#define MODE(id, name) extern const struct trace_mode trace_mode_##name;
#include "compile/mode_rows.h"
#undef MODE

/* By enum trace_mode_id. */
extern const struct trace_mode *const trace_modes[TRACE_MODE_COUNT];

/* The mode of this configuration. */
static inline const struct trace_mode *trace_mode_of(const struct trace_config *config)
{
	return trace_modes[config->mode];
}

/* Can the mode of this configuration do all of `abilities` (enum mode_ability)? */
static inline bool trace_mode_can(const struct trace_config *config, unsigned abilities)
{
	return source_mode_can(&trace_mode_of(config)->source, abilities);
}

#endif
