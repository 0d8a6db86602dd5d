// SPDX-License-Identifier: Apache-2.0
/* Programs that a later plan needs, and the first one did not. */
#include "trace/tracer_state.h"

static struct error *compile_and_load(struct tracer *t, unsigned programs)
{
	struct compiler *compiler = NULL;
	struct error *err = tracer_compile_more(t, programs, &compiler);

	if (!err)
		err = tracer_load_programs(t, compiler, programs);
	if (compiler && !err)
		compiler_keep(compiler);
	if (compiler && err && err->code == ERROR_COMPILE)
		compiler_drop(compiler);
	compiler_destroy(compiler);
	return err;
}

struct error *tracer_load_more(struct tracer *t, const struct plan *plan)
{
	unsigned more = tracer_plan_programs(t, t->attachment.ops, plan) & ~t->compiled;
	struct error *err;

	if (!more || !tracer_can(t, MODE_FUNCTIONS) || !t->features.cookies)
		return NULL;
	err = compile_and_load(t, more);
	if (err && err->code == ERROR_COMPILE && !t->run.thorough) {
		error_destroy(err);
		t->run.thorough = true;
		err = compile_and_load(t, more);
	}
	if (!err)
		t->compiled |= more;
	return err;
}
