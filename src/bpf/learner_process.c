// SPDX-License-Identifier: Apache-2.0
#include "bpf/learner_process.h"

#include <stdlib.h>

#include "abi.h"
#include "util/clock.h"

/* So many processes keep their images open: each holds descriptors and memory. */
#define OPEN_MAX 64

/* A process whose mappings cannot be read, or did not change, is left alone so long. */
#define LOOK_PAUSE_NS 50000000

/* Older epochs than these are forgotten: walks of them have been ended. */
#define EPOCHS_MAX 1024

static void close_images(struct learner_process *p)
{
	images_destroy(p->images);
	proc_close(p->proc);
	p->images = NULL;
	p->proc = NULL;
	p->epochs.len = 0;
	p->known = LEARNER_NEVER;
	p->was_closed = true;
}

static void destroy(struct learner_process *p)
{
	close_images(p);
	vec_deinit(&p->epochs);
	free(p);
}

void learner_processes_deinit(struct learner_processes *processes)
{
	vec_foreach (p, &processes->list)
		destroy(*p);
	vec_deinit(&processes->list);
}

void learner_processes_forget(struct learner_processes *processes, uint32_t slot)
{
	for (size_t i = 0; i < processes->list.len; i++) {
		if (processes->list.data[i]->slot != slot)
			continue;
		destroy(processes->list.data[i]);
		processes->list.data[i] = processes->list.data[--processes->list.len];
		return;
	}
}

/* --- keeping up ------------------------------------------------------------------- */

struct keep {
	const struct images *images;
	uint64_t generation;
};

/* Rules of code that is mapped as it was. */
static bool keep_old(void *arg, uint64_t pc, bool is_interrupted)
{
	const struct keep *keep = arg;
	struct walk_code code;

	return images_find((void *)(uintptr_t)keep->images, pc - !is_interrupted,
			   &code) &&
	       code.since <= keep->generation;
}

/* Make the images those of the mappings, and the rules those of the images. */
static bool refresh(struct learner_process *p, struct rule_table *rules)
{
	struct keep keep = {p->images, images_generation(p->images)};
	struct error *err = images_refresh(p->images);

	if (err) {
		error_destroy(err);
		return false;
	}
	if (images_generation(p->images) != keep.generation)
		rule_table_purge(rules, p->slot, keep_old, &keep);
	return true;
}

static bool open_images(struct learner_process *p, struct rule_table *rules)
{
	struct error *err = proc_open((int)p->tgid, &p->proc);

	if (!err)
		err = images_create(p->proc, &p->images);
	if (err) {
		error_destroy(err);
		proc_close(p->proc);
		p->proc = NULL;
		return false;
	}
	if (p->was_closed)
		rule_table_purge(rules, p->slot, NULL, NULL);
	p->was_closed = false;
	return true;
}

/* From here on the probes may use the rules again, unless there was another change. */
static void acknowledge(struct learner_process *p, struct abi_process *record,
			uint64_t changes)
{
	const struct learner_epoch epoch = {changes, images_generation(p->images)};

	if (p->epochs.len == EPOCHS_MAX)
		p->epochs.len = 0;
	p->known_generation = epoch.generation;
	if (!vec_push(&p->epochs, epoch))
		return;
	p->known = changes;
	__atomic_store_n(&record->code_known, changes, __ATOMIC_SEQ_CST);
}

static uint64_t changes_of(const struct abi_process *record)
{
	return __atomic_load_n(&record->code_changes, __ATOMIC_SEQ_CST);
}

/* Read the mappings, for the first time or again. */
static bool read_images(struct learner_process *p, struct rule_table *rules)
{
	if (p->images)
		return refresh(p, rules);
	if (clock_now_ns() < p->next_look_ns)
		return false;
	if (open_images(p, rules))
		return true;
	p->next_look_ns = clock_now_ns() + LOOK_PAUSE_NS;
	return false;
}

static void keep_up(struct learner_process *p, const struct learner_maps *maps,
		    struct rule_table *rules, uint64_t as_of)
{
	struct abi_process *record = &maps->processes[p->slot];
	uint64_t changes = changes_of(record);

	if (p->images && (changes == p->known || changes != as_of))
		return;
	/* It may be another program by now. */
	if (__atomic_load_n(&record->tgid, __ATOMIC_SEQ_CST) != p->tgid ||
	    !read_images(p, rules))
		return;
	/* Else nobody knows before or after which change they were read. */
	if (changes_of(record) == changes)
		acknowledge(p, record, changes);
}

bool learner_process_look_again(struct learner_process *p,
				const struct learner_maps *maps, struct rule_table *rules)
{
	uint64_t now_ns = clock_now_ns(), generation;

	if (!p->images || now_ns < p->next_look_ns ||
	    __atomic_load_n(&maps->processes[p->slot].tgid, __ATOMIC_SEQ_CST) != p->tgid)
		return false;
	p->next_look_ns = now_ns + LOOK_PAUSE_NS;
	generation = images_generation(p->images);
	if (!refresh(p, rules) || images_generation(p->images) == generation)
		return false;
	/* What was found so was there before, untold. */
	if (p->epochs.len && changes_of(&maps->processes[p->slot]) == p->known)
		p->known_generation = p->epochs.data[p->epochs.len - 1].generation =
			images_generation(p->images);
	return true;
}

bool learner_process_generation(const struct learner_process *p, uint64_t changes,
				uint64_t *ret)
{
	for (size_t i = p->epochs.len; i-- > 0;) {
		if (p->epochs.data[i].changes <= changes) {
			*ret = p->epochs.data[i].generation;
			return true;
		}
	}
	return false;
}

/* --- the list --------------------------------------------------------------------- */

static void close_oldest(struct learner_processes *processes)
{
	struct learner_process *oldest = NULL;
	size_t open = 0;

	vec_foreach (p, &processes->list) {
		if (!(*p)->images)
			continue;
		open++;
		if (!oldest || (*p)->used < oldest->used)
			oldest = *p;
	}
	if (open >= OPEN_MAX)
		close_images(oldest);
}

static struct learner_process *add(struct learner_processes *processes, uint32_t slot,
				   uint64_t tgid)
{
	struct learner_process *p = calloc(1, sizeof(*p));

	if (!p || !vec_push(&processes->list, p)) {
		free(p);
		return NULL;
	}
	p->slot = slot;
	p->tgid = tgid;
	p->known = LEARNER_NEVER;
	p->was_closed = true;
	return p;
}

struct learner_process *learner_processes_get(struct learner_processes *processes,
					      const struct learner_maps *maps,
					      struct rule_table *rules, uint32_t slot,
					      uint64_t as_of)
{
	uint64_t tgid = __atomic_load_n(&maps->processes[slot].tgid, __ATOMIC_SEQ_CST);
	struct learner_process *found = NULL;

	vec_foreach (p, &processes->list)
		if ((*p)->slot == slot)
			found = *p;
	if (found && found->tgid != (tgid & ~ABI_PROCESS_RETIRED)) {
		learner_processes_forget(processes, slot);
		found = NULL;
	}
	if (!found && tgid && !(tgid & ABI_PROCESS_RETIRED))
		found = add(processes, slot, tgid);
	if (!found)
		return NULL;
	if (!found->images)
		close_oldest(processes);
	found->used = ++processes->uses;
	keep_up(found, maps, rules, as_of);
	return found;
}
