// SPDX-License-Identifier: Apache-2.0
#include <sys/stat.h>

#include "bpf/tracer_state.h"
#include "target/linker.h"
#include "target/proc.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);

struct error *tracer_open_learner(struct tracer *t)
{
	struct learner_maps maps = {
		.control = t->control,
		.processes = t->processes,
		.sizes = &t->source->sizes,
		.stacks = t->maps.stacks,
		.no_frame_pointers = t->options.unwind == UNWIND_CHOICE_RULES,
		.marks_interrupted =
			t->options.told ||
			(t->options.event && t->options.event->kind != EVENT_URETPROBE),
		.scope = t->options.scope,
		.counts_hits = t->options.event,
	};
	const struct {
		const char *name;
		int *fd;
		bool is_wanted;
	} wanted[] = {
		{"misses", &maps.misses, true},
		{"rules", &maps.rules, true},
		{"rule_spill", &maps.rule_spill, true},
		{"stack_index", &maps.stack_index, !t->by_hash},
		{"stack_numbers", &maps.stack_numbers, t->by_hash},
		{"stack_claims", &maps.stack_claims, t->by_hash},
	};

	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		*wanted[i].fd = compiler_map(t->compiler, wanted[i].name);
		if (*wanted[i].fd < 0 && wanted[i].is_wanted)
			return error_create(ERROR_COMPILE,
					    "the compiled probes have no map %s",
					    wanted[i].name);
	}
	return learner_create(&maps, &t->learner);
}

/* --- changes of code -------------------------------------------------------------- */

/* The path by which we can open the dynamic linker, or NULL. */
static struct error *find_linker(int pid, char **ret)
{
	_cleanup_(proc_closep) struct proc *proc = NULL;
	struct proc_maps maps = {0};
	struct error *err = NULL;
	struct auxv auxv;

	auxv_read(pid, &auxv);
	if (auxv.linker_base)
		err = proc_open(pid, &proc);
	if (!err && proc)
		err = proc_read_maps(proc, &maps);
	vec_foreach (m, &maps.mappings)
		if (!err && m->start == auxv.linker_base && m->inode)
			err = proc_mapping_path(proc, m, ret);
	proc_maps_deinit(&maps);
	return err;
}

static bool is_watched(const struct tracer *t, const struct attached_site *site)
{
	vec_foreach (s, &t->linkers)
		if (s->pid == site->pid && s->device == site->device &&
		    s->inode == site->inode)
			return true;
	return false;
}

/* Be told when the process loads or unloads libraries. */
static struct error *watch_linker(struct tracer *t, int pid)
{
	_cleanup_(freep) char *path = NULL;
	struct attached_site site = {.pid = t->options.scope == SCOPE_PROCESSES ? pid
										: 0};
	struct attach_probe probe = {.function = LINKER_NOTICE,
				     .program = tracer_code_program(t)};
	struct error *err = find_linker(pid, &path);
	struct stat st;

	if (err || !path || stat(path, &st))
		return err;
	site.device = st.st_dev;
	site.inode = st.st_ino;
	if (is_watched(t, &site))
		return NULL;
	probe.path = path;
	err = linker_find_function(path, LINKER_NOTICE, &probe.offset);
	if (!err && probe.offset)
		err = t->attachment.ops->attach(&t->attachment, site.pid, &probe, 1,
						t->features.cookies);
	if (!err && !vec_push(&t->linkers, site))
		err = error_no_memory();
	return err;
}

void tracer_unwind_begin(struct tracer *t, int pid, uint32_t slot)
{
	if (!t->learner)
		return;
	/* Without it a change is noticed by what is mapped (probes/unwind.c). */
	if (tracer_code_program(t) >= 0)
		error_destroy(watch_linker(t, pid));
	learner_prepare(t->learner, slot);
}

/* --- numbers ---------------------------------------------------------------------- */

void tracer_catch_up(void *arg)
{
	struct tracer *t = arg;

	if (t->learner)
		learner_catch_up(t->learner);
}

uint32_t tracer_stack(void *arg, uint32_t stack)
{
	struct tracer *t = arg;

	return t->learner ? learner_stack(t->learner, stack) : stack;
}

void tracer_unwind_counts(const struct tracer *t, uint64_t *walks, uint64_t *rules)
{
	struct learner_counts counts = {0};

	if (t->learner)
		learner_count(t->learner, &counts);
	*walks = counts.walks;
	*rules = counts.rules;
}

void tracer_add_walks(struct tracer *t, struct snapshot *snap)
{
	struct learner_counts counts;

	if (!t->learner)
		return;
	learner_count(t->learner, &counts);
	snap->losses[LOSS_STACKS_UNREADABLE] += counts.unreadable;
	snap->losses[LOSS_STACKS_TRUNCATED] += counts.truncated;
	snap->losses[LOSS_WALKS_LOST] += counts.lost;
	snap->losses[LOSS_STACKS_FULL] += counts.stacks_refused;
}
