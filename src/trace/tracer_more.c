// SPDX-License-Identifier: Apache-2.0
/* Programs that a later plan needs, and the first one did not. */
#include <unistd.h>

#include "trace/tracer_state.h"

/* Programs that read arguments. */
#define READERS (1u << SOURCE_ON_CALL | 1u << SOURCE_ON_SESSION | 1u << SOURCE_ON_FREE)

/* *ret_was_kept: the kernel has refused code from the cache. */
static struct error *compile_and_load(struct tracer *t, unsigned programs,
				      bool *ret_was_kept)
{
	struct compiler *compiler = NULL;
	struct error *err = tracer_compile_more(t, programs, &compiler);

	if (!err)
		err = tracer_load_programs(t, compiler, programs);
	if (compiler && !err)
		compiler_keep(compiler);
	if (compiler && err && err->code == ERROR_COMPILE) {
		compiler_drop(compiler);
		*ret_was_kept = compiler_had_code(compiler);
	}
	compiler_destroy(compiler);
	return err;
}

/* Compile and load, and try again if that may help: code from the cache is compiled anew,
 * and then with all passes of the compiler. */
static struct error *load_somehow(struct tracer *t, unsigned programs)
{
	for (;;) {
		bool was_kept = false;
		struct error *err = compile_and_load(t, programs, &was_kept);

		if (!err || err->code != ERROR_COMPILE || (t->run.thorough && !was_kept))
			return err;
		error_destroy(err);
		if (was_kept)
			t->is_refused = true;
		else
			t->run.thorough = true;
	}
}

/* Can the programs read the arguments at the site's probes? */
static bool serves(const struct tracer *t, const struct plan_site *site)
{
	bool inside = tracer_uses_bodies(t, t->attachment.ops);

	for (size_t i = 0; inside && i < site->body.count; i++)
		if (!source_serves(t->source,
				   source_body_site(site, &site->body.sites[i], 0, 0)))
			return false;
	vec_foreach (at, &site->returns.entries)
		if (inside &&
		    !source_serves(t->source, source_entry_site(site, at, 0, 0)))
			return false;
	return source_serves(t->source, source_site(site, 0, 0, false));
}

static bool serves_all(const struct tracer *t, const struct plan *plan)
{
	vec_foreach (object, &plan->objects)
		vec_foreach (site, &object->sites)
			if (!serves(t, site))
				return false;
	return true;
}

/* Compile programs that read arguments in all registers. Probes that are set keep the
 * programs that they have. */
static void read_all_registers(struct tracer *t)
{
	static const size_t readers[] = {PROGRAM_CALL, PROGRAM_SESSION, PROGRAM_FREE};

	t->run.all_registers = true;
	t->source->registers = SOURCE_ALL_REGISTERS;
	t->compiled &= ~READERS;
	for (size_t i = 0; i < sizeof(readers) / sizeof(*readers); i++) {
		if (t->programs[readers[i]] >= 0)
			close(t->programs[readers[i]]);
		t->programs[readers[i]] = -1;
	}
}

struct error *tracer_load_more(struct tracer *t, const struct plan *plan)
{
	struct error *err;
	unsigned more;

	if (!tracer_can(t, MODE_FUNCTIONS) || !t->features.cookies)
		return NULL;
	if (!serves_all(t, plan))
		read_all_registers(t);
	more = tracer_plan_programs(t, t->attachment.ops, plan) & ~t->compiled;
	if (!more)
		return NULL;
	err = load_somehow(t, more);
	if (!err)
		t->compiled |= more;
	return err;
}
