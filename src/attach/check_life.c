// SPDX-License-Identifier: Apache-2.0
/* One check: its probes, and the verdict. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "attach/checks_private.h"
#include "bpf/link.h"
#include "bpf/syscall.h"
#include "bpf/mm_locks.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* The bits that mean the same at an exit (ABI_EFFECT_CHECK) and at a site that reads
 * results (ABI_EFFECT_RESULT). */
#define EXIT_RESULT_BITS                                                                 \
	(UINT64_C(0xffff) << ABI_RESULT_VALUE0_SHIFT | ABI_RESULT_SHARED |               \
	 ABI_RESULT_NO_CFI)

/* After this many checks without a call a function is not checked again. */
#define TRIES_MAX 4

/* --- which check a site belongs to -------------------------------------------------- */

/* Do other functions also jump to the code of this site? Then a hit may belong to a call
 * of another function. */
static bool is_shared(const struct check_probe *site)
{
	return ABI_SITE_EFFECT(site->meaning) == ABI_EFFECT_RESULT &&
	       site->meaning & ABI_RESULT_SHARED;
}

/* The check's own site at this place, or else a shared one, or NULL. */
static const struct check_probe *
find_site(const struct checks *c, const struct check *check, const struct abi_site_at *at)
{
	const struct check_probe *found = NULL;

	vec_foreach (site, &check->request.sites)
		if (check_place_of(c, site) == at && (!found || is_shared(found)))
			found = site;
	return found;
}

/* Set which check owns the sites at this place in their pages: the first check with a
 * site of its own there that is not over, or else one with a shared site. */
static void settle_owner(const struct checks *c, struct abi_site_at *at)
{
	uint64_t owner = 0;

	vec_foreach (check, &c->list) {
		const struct check_probe *site =
			check_state_of(c, *check) < ABI_CHECK_OVER
				? find_site(c, *check, at)
				: NULL;

		if (!site || (owner && is_shared(site)))
			continue;
		owner = (*check)->number + 1;
		if (!is_shared(site))
			break;
		owner |= ABI_CHECK_QUIET;
	}
	__atomic_store_n(&at->check, owner, __ATOMIC_SEQ_CST);
}

void check_settle_owners(const struct checks *c, const struct check *check)
{
	vec_foreach (site, &check->request.sites)
		settle_owner(c, check_place_of(c, site));
}

/* --- probes ------------------------------------------------------------------------- */

static bool attach(struct check *check, const struct check_process *process, int program,
		   const struct check_probe probes[], size_t count)
{
	_cleanup_(freep) uint64_t *offsets = calloc(count + 1, sizeof(*offsets));
	_cleanup_(freep) uint64_t *cookies = calloc(count + 1, sizeof(*cookies));
	char path[32];
	int fd;

	if (!count)
		return true;
	if (!offsets || !cookies || process->file < 0 ||
	    mm_locks_find_held(MM_LOCKS_REMOVE_NS))
		return false;
	for (size_t i = 0; i < count; i++) {
		offsets[i] = probes[i].offset;
		cookies[i] = probes[i].meaning;
	}
	snprintf(path, sizeof(path), "/proc/self/fd/%d", process->file);
	fd = link_uprobe_multi(program, ATTACH_TYPE_UPROBE_MULTI, path, offsets, NULL,
			       cookies, count, false, process->pid);
	if (fd < 0)
		return false;
	if (vec_push(&check->links, ((struct attached){fd, process->pid, 0})))
		return true;
	link_close_all(&fd, 1);
	return false;
}

/* Announce the exits, except those at places of other sites, which are moved to the
 * front. A site that shares its place is slower from then on, and a check can do without
 * an exit. */
static void announce_exits(const struct checks *c, struct check *check)
{
	struct check_probe *exits = check->request.exits.data;

	check->shared = 0;
	for (size_t i = 0; i < check->request.exits.len; i++) {
		const struct check_probe exit = exits[i];

		if (site_announce_alone(check_place_of(c, &exit), exit.meaning))
			continue;
		exits[i] = exits[check->shared];
		exits[check->shared++] = exit;
	}
}

/* --- a check's life ----------------------------------------------------------------- */

static bool is_gone(int pid)
{
	return pid && kill(pid, 0) < 0 && errno == ESRCH;
}

/* Attach the comparing probes to the exits, except the shared ones. Returns true if at
 * least one process has them. */
static bool watch_exits(struct check *check)
{
	const struct check_request *r = &check->request;
	bool any = false;

	vec_foreach (process, &check->processes)
		any |= attach(check, process, r->check_program,
			      r->exits.data + check->shared,
			      r->exits.len - check->shared);
	return any;
}

void check_begin(struct checks *c, struct check *check)
{
	if (!vec_push(&c->under_way, check))
		return;
	pthread_mutex_lock(&c->lock);
	announce_exits(c, check);
	c->records[check->number].began =
		__atomic_add_fetch(&c->maps.control->checks_begun, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->maps.control->checks_running, 1, __ATOMIC_SEQ_CST);
	check_set_state(c, check, ABI_CHECK_RUNNING);
	check->started_ns = clock_now_ns();
	/* No process could be probed: the check ends at once. */
	if (!watch_exits(check))
		check->started_ns = 0;
	pthread_mutex_unlock(&c->lock);
}

/* Move the first `count` links to c->ended for close_ended(). */
void check_end_links(struct checks *c, struct check *check, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!vec_push(&c->ended.list, check->links.data[i]))
			link_close_all(&check->links.data[i].fd, 1);
	check->links.len -= count;
	if (check->links.len)
		memmove(check->links.data, check->links.data + count,
			check->links.len * sizeof(*check->links.data));
}

bool check_replace_for(struct check *check, const struct check_process *process)
{
	const struct check_request *r = &check->request;
	bool ok =
		attach(check, process, r->result_program, r->exits.data, r->exits.len) &&
		(!r->entry.offset ||
		 attach(check, process, r->call_program, &r->entry, 1));

	return ok || is_gone(process->pid);
}

static bool is_exit(const struct check *check, uint64_t offset)
{
	vec_foreach (exit, &check->request.site_exits)
		if (*exit == offset)
			return true;
	return false;
}

static bool retire_sites(const struct checks *c, const struct check *check)
{
	const uint64_t one = 1;
	bool ok = true;

	vec_foreach (site, &check->request.sites) {
		struct abi_check_site key = {
			ABI_CHECK_MEANING(site->meaning),
			(uint64_t)(check_place_of(c, site) - c->maps.sites_at)};
		int err = 0;

		/* Keep a site that is itself a `ret`: it reads what is returned. */
		if (!is_exit(check, site->offset))
			err = sys_bpf_insert(c->maps.retired, &key, &one);
		ok &= !err || err == -EEXIST;
	}
	__atomic_store_n(&c->maps.control->sites_retired, 1, __ATOMIC_SEQ_CST);
	return ok;
}

/* Make the `ret`s report the results from now on. Returns false if that failed in some
 * process. */
static bool replace_sites(struct checks *c, struct check *check)
{
	const struct check_request *r = &check->request;
	size_t old = check->links.len;
	bool ok = true;

	/* From here on the exits are sites that read results. */
	vec_foreach (exit, &check->request.exits) {
		exit->meaning = (exit->meaning & EXIT_RESULT_BITS) | ABI_EFFECT_RESULT;
		site_announce(check_place_of(c, exit), exit->meaning);
	}
	if (r->entry.offset)
		site_announce(check_place_of(c, &r->entry), r->entry.meaning);
	vec_foreach (process, &check->processes)
		ok &= check_replace_for(check, process);
	check_set_state(c, check, ABI_CHECK_FAILED);
	ok &= retire_sites(c, check);
	check_end_links(c, check, old);
	return ok;
}

struct check_verdict check_judge(const struct checks *c, const struct check *check)
{
	const struct abi_check *record = &c->records[check->number];
	struct check_verdict ret = {
		.function = check->request.function,
		.module = check->module,
		.agreed = __atomic_load_n(&record->agreed, __ATOMIC_SEQ_CST),
		.differed = __atomic_load_n(&record->differed, __ATOMIC_SEQ_CST),
		.missed = __atomic_load_n(&record->missed, __ATOMIC_SEQ_CST),
	};

	if (ret.differed >= ABI_CHECK_DIFFERED ||
	    (ret.missed >= ABI_CHECK_MISSED && ret.missed > ret.agreed))
		ret.outcome = check->request.pid && !check->request.has_more_exits
				      ? CHECK_REPLACED
				      : CHECK_KEPT;
	return ret;
}

/* The file is gone and the check is over. */
void check_rest(const struct checks *c, struct check *check)
{
	check_set_state(c, check, ABI_CHECK_OVER);
	check_settle_owners(c, check);
	check->rests_ns = clock_now_ns();
}

void check_end(struct checks *c, struct check *check)
{
	struct check_verdict verdict = check_judge(c, check);
	bool has_calls = verdict.agreed || verdict.differed || verdict.missed;

	pthread_mutex_lock(&c->lock);
	if (!check->processes.len) {
		check_end_links(c, check, check->links.len);
		check_rest(c, check);
		goto out;
	}
	if (verdict.outcome == CHECK_REPLACED) {
		if (!replace_sites(c, check))
			verdict.outcome = CHECK_LOST;
	} else {
		check_end_links(c, check, check->links.len);
		/* After a check without calls, the next call begins another one. */
		check_set_state(c, check,
				has_calls || ++check->tries == TRIES_MAX
					? ABI_CHECK_OVER
					: ABI_CHECK_IDLE);
	}
	check_settle_owners(c, check);
	c->misread += verdict.outcome != CHECK_RIGHT;
	/* Without memory the verdict is not reported. */
	if (check_state_of(c, check) != ABI_CHECK_IDLE)
		(void)vec_push(&c->verdicts, verdict);
out:
	pthread_mutex_unlock(&c->lock);
	__atomic_sub_fetch(&c->maps.control->checks_running, 1, __ATOMIC_SEQ_CST);
}
