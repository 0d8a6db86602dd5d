// SPDX-License-Identifier: Apache-2.0
/* Selects and loads the programs that a run needs. */
#include <string.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"
#include "trace/tracer_state.h"

/* --- which ------------------------------------------------------------------------ */

/* A plain free needs no return probe, and therefore a smaller program. */
static bool is_plain_free(const struct plan_site *site)
{
	return site->function->effect == EFFECT_FREE && !site->wants_return;
}

/* Is one probe used for entry and return? */
static bool is_session(const struct tracer *t, const struct attach_ops *ops,
		       const struct plan_site *site)
{
	return site->wants_return && tracer_uses_sessions(t, ops) &&
	       site->return_offset == site->entry_offset;
}

/* Do sites inside the function see its results? */
static bool is_inside(const struct tracer *t, const struct attach_ops *ops,
		      const struct plan_site *site)
{
	return (site->body.count || site->returns.is_complete) &&
	       tracer_uses_bodies(t, ops);
}

/* The source_run.programs that a plan needs. */
unsigned tracer_plan_programs(const struct tracer *t, const struct attach_ops *ops,
			      const struct plan *plan)
{
	unsigned programs = 0;

	vec_foreach (object, &plan->objects) {
		vec_foreach (site, &object->sites) {
			if (is_inside(t, ops, site)) {
				programs |= 1u << SOURCE_ON_RESULT | 1u << SOURCE_ON_CALL;
				continue;
			}
			if (is_session(t, ops, site)) {
				programs |= 1u << SOURCE_ON_SESSION;
				continue;
			}
			programs |= 1u << (is_plain_free(site) ? SOURCE_ON_FREE
							       : SOURCE_ON_CALL);
			if (site->wants_return)
				programs |= 1u << SOURCE_ON_RETURN;
		}
	}
	return programs;
}

/* The index in tracer.programs of the program for the site's entry. */
static size_t entry_program(const struct tracer *t, const struct plan_site *site,
			    uint64_t meaning)
{
	if (is_session(t, t->attachment.ops, site))
		return PROGRAM_SESSION;
	if (!t->features.cookies)
		return PROGRAM_ENTRY + source_site_index(t->source, meaning);
	return is_plain_free(site) ? PROGRAM_FREE : PROGRAM_CALL;
}

unsigned tracer_wanted_programs(const struct tracer *t, const struct plan *const plans[],
				size_t count)
{
	const struct attach_ops *ops = tracer_preferred_ops(t);
	unsigned programs = 0;

	if (!tracer_can(t, MODE_FUNCTIONS))
		return 0;
	for (size_t i = 0; i < count; i++)
		programs |= tracer_plan_programs(t, ops, plans[i]);
	if (programs && t->features.cookies)
		return programs;
	return tracer_uses_sessions(t, ops)
		       ? 1u << SOURCE_ON_SESSION | 1u << SOURCE_ON_FREE
		       : 1u << SOURCE_ON_RETURN | 1u << SOURCE_ON_CALL |
				 1u << SOURCE_ON_FREE;
}

/* --- load ------------------------------------------------------------------------- */

/* The number of programs from PROGRAM_ENTRY on. */
static size_t entry_count(const struct tracer *t)
{
	return t->features.cookies ? 0 : t->source->sites.len;
}

static void program_name(const struct tracer *t, size_t i, char ret[PROGRAM_NAME_MAX])
{
	static const char *const names[] = {
		[PROGRAM_RETURN] = "on_return",
		[PROGRAM_CODE_CHANGE] = "on_code_change",
		[PROGRAM_MOVE] = "on_move",
		[PROGRAM_MOVED] = "on_moved",
		[PROGRAM_SESSION] = "on_session",
		[PROGRAM_RESULT] = "on_result",
		[PROGRAM_CHECK] = "on_check",
		[PROGRAM_FREE] = "on_free",
		[PROGRAM_CALL] = "on_call",
	};

	if (i == PROGRAM_FREE && t->source->one_process &&
	    t->attachment.ops == &attach_uprobe_multi)
		snprintf(ret, PROGRAM_NAME_MAX, "on_free_here");
	else if (i == PROGRAM_CALL && t->source->one_process &&
		 t->attachment.ops == &attach_uprobe_multi)
		snprintf(ret, PROGRAM_NAME_MAX, "on_call_here");
	else if (i < PROGRAM_ENTRY)
		snprintf(ret, PROGRAM_NAME_MAX, "%s", names[i]);
	else
		source_entry_name(i - PROGRAM_ENTRY, ret);
}

static struct error *load_from(struct tracer *t, struct compiler *compiler, size_t i)
{
	const struct program_kind kind = {BPF_PROG_TYPE_KPROBE,
					  i == PROGRAM_SESSION
						  ? ATTACH_TYPE_UPROBE_SESSION
						  : t->attachment.ops->attach_type};
	char name[PROGRAM_NAME_MAX];
	struct error *err;

	if (t->programs[i] >= 0)
		return NULL;
	program_name(t, i, name);
	err = compiler_load(compiler, name, kind, &t->programs[i]);
	if (err)
		t->programs[i] = -1;
	return err;
}

struct error *tracer_load(struct tracer *t, size_t i)
{
	return load_from(t, t->compiler, i);
}

struct error *tracer_load_entry(struct tracer *t, const struct plan_site *site,
				uint64_t meaning, int *ret)
{
	size_t i = entry_program(t, site, meaning);
	struct error *err = tracer_load(t, i);

	*ret = t->programs[i];
	return err;
}

struct error *tracer_load_own(struct tracer *t, const char *name,
			      struct program_kind kind, int *ret)
{
	struct own_program program;
	struct error *err;

	vec_foreach (own, &t->own_programs) {
		if (strcmp(own->name, name))
			continue;
		*ret = own->fd;
		return NULL;
	}
	snprintf(program.name, sizeof(program.name), "%s", name);
	err = compiler_load(t->compiler, name, kind, &program.fd);
	if (err)
		return err;
	*ret = program.fd;
	if (vec_push(&t->own_programs, program))
		return NULL;
	close(program.fd);
	return error_no_memory();
}

struct error *tracer_begin_programs(struct tracer *t, const struct attach_ops *ops)
{
	if (entry_count(t) > ENTRY_PROGRAMS)
		return error_create(ERROR_UNSUPPORTED,
				    "%zu kinds of probes are more than memtrace has room "
				    "for: name one allocator with --lib PATH",
				    entry_count(t));
	t->attachment.ops = ops;
	return NULL;
}

/* Indexes of the source_run.programs in tracer.programs. */
static const size_t program_index[SOURCE_PROGRAM_COUNT] = {
	[SOURCE_ON_SESSION] = PROGRAM_SESSION, [SOURCE_ON_RETURN] = PROGRAM_RETURN,
	[SOURCE_ON_CALL] = PROGRAM_CALL,       [SOURCE_ON_FREE] = PROGRAM_FREE,
	[SOURCE_ON_RESULT] = PROGRAM_RESULT,
};

struct error *tracer_load_programs(struct tracer *t, struct compiler *compiler,
				   unsigned programs)
{
	struct error *err = NULL;

	for (size_t i = 0; i < SOURCE_PROGRAM_COUNT && !err; i++)
		if (programs & 1u << i)
			err = load_from(t, compiler, program_index[i]);
	if (!err && programs & 1u << SOURCE_ON_RESULT && tracer_has_checks(t))
		err = load_from(t, compiler, PROGRAM_CHECK);
	return err;
}

void tracer_load_rest(struct tracer *t)
{
	if (t->handler)
		tracer_load_code_programs(t);
	/* A program that cannot be loaded is reported when it is needed. */
	for (size_t i = 0; i < entry_count(t); i++)
		error_destroy(tracer_load(t, PROGRAM_ENTRY + i));
}

void tracer_load_code_programs(struct tracer *t)
{
	static const size_t programs[] = {PROGRAM_CODE_CHANGE, PROGRAM_MOVE,
					  PROGRAM_MOVED};

	if (!t->attachment.ops)
		return;
	for (size_t i = 0; i < sizeof(programs) / sizeof(*programs); i++)
		error_destroy(tracer_load(t, programs[i]));
}

void tracer_close_programs(struct tracer *t)
{
	for (size_t i = 0; i < MAX_PROGRAMS; i++) {
		if (t->programs[i] >= 0)
			close(t->programs[i]);
		t->programs[i] = -1;
	}
	vec_foreach (own, &t->own_programs)
		close(own->fd);
	vec_deinit(&t->own_programs);
}
