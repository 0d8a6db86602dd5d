// SPDX-License-Identifier: Apache-2.0
#include "compile/source.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "abi.h"
#include "compile/source_fragments.h"
#include "util/cleanup.h"
#include "arch/arch.h"
#include "util/strbuf.h"

DEFINE_CLEANUP(struct source *, source_destroy);

bool source_serves(const struct source *source, uint64_t site)
{
	if (!source->cookies)
		return source_site_index(source, site) < source->sites.len;
	return source_site_is_result(site) ||
	       !(source_site_registers(site) & ~source->registers);
}

size_t source_site_index(const struct source *source, uint64_t site)
{
	size_t i = 0;

	while (i < source->sites.len && source->sites.data[i] != site)
		i++;
	return i;
}

static bool collect_sites(struct source *source, const struct source_run *run,
			  const struct meanings *meanings)
{
	source->registers =
		run->all_registers ? SOURCE_ALL_REGISTERS : arch.argument_registers;
	vec_foreach (site, &meanings->list) {
		if (!source_site_is_result(*site))
			source->registers |= source_site_registers(*site);
		if (source_site_index(source, *site) == source->sites.len &&
		    !vec_push(&source->sites, *site))
			return false;
	}
	return true;
}

void source_entry_name(size_t index, char ret[PROGRAM_NAME_MAX])
{
	snprintf(ret, PROGRAM_NAME_MAX, "on_call_%zu", index);
}

/* Set the values that differ between runs with the same configuration: kept out of the
 * text, so that these runs share compiled code. */
static void set_values(struct source *source, const struct source_run *o)
{
	source->values.of[ABI_RUN_START] =
		o->ticks.is_jiffies ? o->ticks.start_jiffies : o->ticks.start_ns;
	source->values.of[ABI_RUN_OWN_PID] = (uint64_t)getpid();
	/* Hits are counted by stack alone: each process has stacks of its own. */
	source->values.of[ABI_RUN_APART] =
		o->config->apart || source_mode_can(o->mode, MODE_HITS);
	source->values.of[ABI_RUN_STACK_SEED] = o->stack_seed;
	source->values.of[ABI_RUN_MIN_SIZE] = o->config->min_size_bytes;
	source->values.of[ABI_RUN_MAX_SIZE] = o->config->max_size_bytes;
	if (sampling_factor(&o->config->sampling) > 1)
		source->values.of[ABI_RUN_SAMPLE_THRESHOLD] =
			sampling_factor_threshold(&o->config->sampling);
	if (o->mode->set_values)
		o->mode->set_values(&source->values, o);
}

static void set_facts(struct source *source, const struct source_run *o,
		      struct source_facts *ret)
{
	/* With traffic each event of a thread needs its thread id and process anyway. */
	source->one_process = o->one_process && o->sessions && !o->traffic;
	source->keeps_tids = source->one_process && o->offsets.has_task &&
			     !o->pid_namespace.inode &&
			     source_mode_can(o->mode, MODE_CALLS);
	*ret = (struct source_facts){.run = o,
				     .sizes = &source->sizes,
				     .registers = source->registers,
				     .one_process = source->one_process,
				     .keeps_tids = source->keeps_tids};
}

struct error *source_build(const struct source_run *run, const struct meanings *meanings,
			   struct source **ret)
{
	_cleanup_(source_destroyp) struct source *source = calloc(1, sizeof(*source));
	struct source_facts facts;
	struct strbuf text = {0};

	if (!source)
		return error_no_memory();
	source->cookies = run->cookies;
	set_values(source, run);
	source_sizes_compute(run, &source->sizes);
	if (!collect_sites(source, run, meanings))
		return error_no_memory();
	set_facts(source, run, &facts);
	if (!source_flags_init(&source->flags, &facts))
		return error_no_memory();

	strbuf_append(&text, "#include <uapi/linux/ptrace.h>\n");
	if (run->mode->append_before)
		run->mode->append_before(&text, run);
	source_append_fragments(&text, &facts);
	if (!run->cookies) {
		for (size_t i = 0; i < source->sites.len; i++) {
			uint64_t site = source->sites.data[i];
			/* With mappings the free family has return probes (plan.h). */
			bool is_free = ABI_SITE_EFFECT(site) == ABI_EFFECT_FREE &&
				       !run->mappings;
			char name[PROGRAM_NAME_MAX];

			source_entry_name(i, name);
			strbuf_appendf(&text,
				       "ENTRY(%s, tracee_find, %s_entered, %#" PRIx64
				       "ull)\n",
				       name, is_free ? "free" : "call", site);
		}
	}
	if (run->mode->append_after)
		run->mode->append_after(&text, run);
	source->text = strbuf_steal(&text);
	if (!source->text)
		return error_no_memory();
	*ret = take(source);
	return NULL;
}

void source_destroy(struct source *source)
{
	if (!source)
		return;
	source_flags_deinit(&source->flags);
	vec_deinit(&source->sites);
	free(source->text);
	free(source);
}
