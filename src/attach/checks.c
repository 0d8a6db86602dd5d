// SPDX-License-Identifier: Apache-2.0
#include "attach/checks.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <bpf/libbpf.h>

#include "bpf/link.h"
#include "bpf/mapped.h"
#include "attach/site_places.h"
#include "bpf/syscall.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define RECORDS_BYTES (ABI_MAX_CHECKS * sizeof(struct abi_check))
#define NS_PER_MS     UINT64_C(1000000)

/* The bits that mean the same at an exit (ABI_EFFECT_CHECK) and at a site that reads
 * results (ABI_EFFECT_RESULT). */
#define EXIT_RESULT_BITS                                                                 \
	(UINT64_C(0xffff) << ABI_RESULT_VALUE0_SHIFT | ABI_RESULT_SHARED |               \
	 ABI_RESULT_NO_CFI)

/* After this many checks without a call a function is not checked again. */
#define TRIES_MAX 4

/* How often running checks are examined. */
#define LOOK_MS 100

/* When the file of a check is gone, its number is reused only after this time, so that no
 * hit of one of its probes is still being handled. */
#define REST_MS 10000

/* A process that has probes in the function. */
struct check_process {
	int pid, file; /* as in check_request */
};

struct check {
	struct check_request request; /* its `module` is unused */
	char *module;
	uint32_t number;
	/* exits at places of other sites; they come first in request.exits */
	size_t shared;
	unsigned tries;                      /* checks that ended without a call */
	VEC(struct check_process) processes; /* empty: the file is gone */
	VEC(struct attached) links;
	uint64_t started_ns;
	/* CLOCK_MONOTONIC ns when the check was over and its file gone; 0: not yet */
	uint64_t rests_ns;
};

/* A thread that closes links. Each close waits for RCU grace periods in the kernel, and
 * must not delay the other checks. */
struct closer {
	pthread_t thread;
	struct attachment links;
	bool is_done;
};

struct checks {
	struct checks_maps maps;
	struct abi_check *records; /* mapped, by number */
	struct ring_buffer *ring;
	int stop_fd;
	pthread_t thread;
	bool is_running;
	pthread_mutex_t lock;     /* protects the next three and check.processes */
	VEC(struct check *) list; /* by number */
	VEC(struct check_verdict) verdicts;
	uint64_t misread; /* checks whose sites were wrong */
	/* Used only by the thread: */
	VEC(struct check *) wanted, under_way;
	struct attachment ended; /* links to be closed */
	VEC(struct closer *) closers;
};

DEFINE_CLEANUP(struct checks *, checks_destroy);

static void set_state(const struct checks *c, const struct check *check,
		      enum abi_check_state state)
{
	__atomic_store_n(&c->records[check->number].state, state, __ATOMIC_SEQ_CST);
}

static enum abi_check_state state_of(const struct checks *c, const struct check *check)
{
	return __atomic_load_n(&c->records[check->number].state, __ATOMIC_SEQ_CST);
}

static struct abi_site_at *place_of(const struct checks *c,
				    const struct check_probe *probe)
{
	return site_place(c->maps.sites_at, probe->offset);
}

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
		if (place_of(c, site) == at && (!found || is_shared(found)))
			found = site;
	return found;
}

/* Set which check owns the sites at this place in their pages: the first check with a
 * site of its own there that is not over, or else one with a shared site. */
static void settle_owner(const struct checks *c, struct abi_site_at *at)
{
	uint64_t owner = 0;

	vec_foreach (check, &c->list) {
		const struct check_probe *site = state_of(c, *check) < ABI_CHECK_OVER
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

static void settle_owners(const struct checks *c, const struct check *check)
{
	vec_foreach (site, &check->request.sites)
		settle_owner(c, place_of(c, site));
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
	if (!offsets || !cookies || process->file < 0)
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

		if (site_announce_alone(place_of(c, &exit), exit.meaning))
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

static void begin(struct checks *c, struct check *check)
{
	if (!vec_push(&c->under_way, check))
		return;
	pthread_mutex_lock(&c->lock);
	announce_exits(c, check);
	c->records[check->number].began =
		__atomic_add_fetch(&c->maps.control->checks_begun, 1, __ATOMIC_SEQ_CST);
	__atomic_add_fetch(&c->maps.control->checks_running, 1, __ATOMIC_SEQ_CST);
	set_state(c, check, ABI_CHECK_RUNNING);
	check->started_ns = clock_now_ns();
	/* No process could be probed: the check ends at once. */
	if (!watch_exits(check))
		check->started_ns = 0;
	pthread_mutex_unlock(&c->lock);
}

/* Move the first `count` links to c->ended for close_ended(). */
static void end_links(struct checks *c, struct check *check, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!vec_push(&c->ended.list, check->links.data[i]))
			link_close_all(&check->links.data[i].fd, 1);
	check->links.len -= count;
	if (check->links.len)
		memmove(check->links.data, check->links.data + count,
			check->links.len * sizeof(*check->links.data));
}

/* Attach probes that read results at all exits for one process. Returns true also if the
 * process is gone. */
static bool replace_for(struct check *check, const struct check_process *process)
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
			(uint64_t)(place_of(c, site) - c->maps.sites_at)};
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
		site_announce(place_of(c, exit), exit->meaning);
	}
	if (r->entry.offset)
		site_announce(place_of(c, &r->entry), r->entry.meaning);
	vec_foreach (process, &check->processes)
		ok &= replace_for(check, process);
	set_state(c, check, ABI_CHECK_FAILED);
	ok &= retire_sites(c, check);
	end_links(c, check, old);
	return ok;
}

static struct check_verdict judge(const struct checks *c, const struct check *check)
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
static void rest(const struct checks *c, struct check *check)
{
	set_state(c, check, ABI_CHECK_OVER);
	settle_owners(c, check);
	check->rests_ns = clock_now_ns();
}

static void end(struct checks *c, struct check *check)
{
	struct check_verdict verdict = judge(c, check);
	bool has_calls = verdict.agreed || verdict.differed || verdict.missed;

	pthread_mutex_lock(&c->lock);
	if (!check->processes.len) {
		end_links(c, check, check->links.len);
		rest(c, check);
		goto out;
	}
	if (verdict.outcome == CHECK_REPLACED) {
		if (!replace_sites(c, check))
			verdict.outcome = CHECK_LOST;
	} else {
		end_links(c, check, check->links.len);
		/* After a check without calls, the next call begins another one. */
		set_state(c, check,
			  has_calls || ++check->tries == TRIES_MAX ? ABI_CHECK_OVER
								   : ABI_CHECK_IDLE);
	}
	settle_owners(c, check);
	c->misread += verdict.outcome != CHECK_RIGHT;
	/* Without memory the verdict is not reported. */
	if (state_of(c, check) != ABI_CHECK_IDLE)
		(void)vec_push(&c->verdicts, verdict);
out:
	pthread_mutex_unlock(&c->lock);
	__atomic_sub_fetch(&c->maps.control->checks_running, 1, __ATOMIC_SEQ_CST);
}

/* --- the thread --------------------------------------------------------------------- */

static int on_news(void *arg, void *data, size_t size)
{
	struct checks *c = arg;
	struct check *check = NULL;
	uint32_t number;

	if (size < sizeof(number))
		return 0;
	memcpy(&number, data, sizeof(number));
	pthread_mutex_lock(&c->lock);
	if (number < c->list.len)
		check = c->list.data[number];
	pthread_mutex_unlock(&c->lock);
	/* Without memory the function is not checked. */
	if (check && state_of(c, check) == ABI_CHECK_WANTED)
		(void)vec_push(&c->wanted, check);
	return 0;
}

static bool is_at_end(const struct checks *c, const struct check *check, uint64_t now_ns)
{
	struct check_verdict so_far = judge(c, check);

	return so_far.outcome != CHECK_RIGHT || so_far.agreed >= ABI_CHECK_AGREED ||
	       now_ns - check->started_ns >= CHECK_LASTS_MS * NS_PER_MS;
}

static void *close_links(void *arg)
{
	struct closer *closer = arg;

	closer->links.ops->detach(&closer->links);
	__atomic_store_n(&closer->is_done, true, __ATOMIC_SEQ_CST);
	return NULL;
}

static void close_ended(struct checks *c)
{
	struct closer *closer = c->ended.list.len ? calloc(1, sizeof(*closer)) : NULL;

	if (closer && vec_push(&c->closers, closer)) {
		closer->links = c->ended;
		if (pthread_create(&closer->thread, NULL, close_links, closer) == 0) {
			c->ended = (struct attachment){.ops = closer->links.ops};
			return;
		}
		c->closers.len--;
	}
	free(closer);
	c->ended.ops->detach(&c->ended);
}

/* Join the closers that are done, or with `all`, wait for all. */
static void join_closers(struct checks *c, bool all)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->closers.len; i++) {
		struct closer *closer = c->closers.data[i];

		if (!all && !__atomic_load_n(&closer->is_done, __ATOMIC_SEQ_CST)) {
			c->closers.data[kept++] = closer;
			continue;
		}
		pthread_join(closer->thread, NULL);
		free(closer);
	}
	c->closers.len = kept;
}

static void end_some(struct checks *c)
{
	uint64_t now_ns = clock_now_ns();
	size_t kept = 0;

	for (size_t i = 0; i < c->under_way.len; i++) {
		struct check *check = c->under_way.data[i];

		if (is_at_end(c, check, now_ns))
			end(c, check);
		else
			c->under_way.data[kept++] = check;
	}
	c->under_way.len = kept;
	close_ended(c);
}

static void *run(void *arg)
{
	struct checks *c = arg;
	struct epoll_event event;
	uint64_t stop;

	while (read(c->stop_fd, &stop, sizeof(stop)) < 0) {
		epoll_wait(ring_buffer__epoll_fd(c->ring), &event, 1,
			   c->under_way.len ? LOOK_MS : -1);
		ring_buffer__consume(c->ring);
		end_some(c);
		/* begin() takes milliseconds, and other checks may have to end
		 * meanwhile. */
		for (size_t i = 0; i < c->wanted.len; i++) {
			begin(c, c->wanted.data[i]);
			end_some(c);
		}
		c->wanted.len = 0;
		join_closers(c, false);
	}
	return NULL;
}

/* --- from outside ------------------------------------------------------------------- */

static struct error *start(struct checks *c)
{
	struct epoll_event event = {.events = EPOLLIN};
	int err;

	c->records = mapped_open(c->maps.checks, RECORDS_BYTES);
	c->ring = ring_buffer__new(c->maps.news, on_news, c, NULL);
	c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!c->records || !c->ring || c->stop_fd < 0 ||
	    epoll_ctl(ring_buffer__epoll_fd(c->ring), EPOLL_CTL_ADD, c->stop_fd, &event))
		return error_errno(ERROR_IO, errno, "cannot open the ring of checks");
	err = pthread_create(&c->thread, NULL, run, c);
	if (err)
		return error_errno(ERROR_IO, err, "cannot start the thread of checks");
	c->is_running = true;
	return NULL;
}

struct error *checks_create(const struct checks_maps *maps, struct checks **ret)
{
	_cleanup_(checks_destroyp) struct checks *c = calloc(1, sizeof(*c));
	struct error *err;

	if (!c)
		return error_no_memory();
	c->maps = *maps;
	c->stop_fd = -1;
	c->ended.ops = &attach_uprobe_multi;
	pthread_mutex_init(&c->lock, NULL);
	err = start(c);
	if (!err)
		*ret = take(c);
	return err;
}

static struct check *find(const struct checks *c, const struct check_request *request)
{
	vec_foreach (check, &c->list)
		if (request->file_number &&
		    (*check)->request.file_number == request->file_number &&
		    (*check)->request.offset == request->offset)
			return *check;
	return NULL;
}

void check_request_deinit(struct check_request *request)
{
	vec_deinit(&request->sites);
	vec_deinit(&request->exits);
	vec_deinit(&request->site_exits);
}

static void check_destroy(struct check *check)
{
	if (!check)
		return;
	vec_foreach (link, &check->links)
		link_close_all(&link->fd, 1);
	vec_deinit(&check->links);
	vec_deinit(&check->processes);
	check_request_deinit(&check->request);
	free(check->module);
	free(check);
}

/* The function has a check already, and is now probed for one more process. */
static struct error *add_process(const struct checks *c, struct check *check,
				 const struct check_request *request)
{
	const struct check_process process = {request->pid, request->file};

	if (!vec_push(&check->processes, process))
		return error_no_memory();
	if (state_of(c, check) == ABI_CHECK_FAILED &&
	    !replace_for(check, &check->processes.data[check->processes.len - 1]))
		return error_create(ERROR_UNSUPPORTED, "cannot probe the returns of %s",
				    request->function);
	return NULL;
}

/* Find a check whose number can be reused, or NULL. */
static struct check *find_rested(const struct checks *c)
{
	uint64_t now_ns = clock_now_ns();

	vec_foreach (check, &c->list)
		if ((*check)->rests_ns && state_of(c, *check) == ABI_CHECK_OVER &&
		    now_ns - (*check)->rests_ns > REST_MS * NS_PER_MS)
			return *check;
	return NULL;
}

/* Reuse a check for another function. Takes ownership of the request's vectors on
 * success. */
static struct error *begin_anew(struct checks *c, struct check *check,
				struct check_request *request)
{
	const struct check_process process = {request->pid, request->file};
	char *module = strdup(request->module);

	if (!module || !vec_push(&check->processes, process)) {
		free(module);
		return error_no_memory();
	}
	check_request_deinit(&check->request);
	free(check->module);
	check->request = *request;
	*request = (struct check_request){0};
	check->module = module;
	check->tries = 0;
	check->rests_ns = 0;
	vec_foreach (exit, &check->request.exits)
		exit->meaning |= (uint64_t)check->number << ABI_CHECK_NUMBER_SHIFT;
	c->records[check->number] = (struct abi_check){.state = ABI_CHECK_OVER};
	set_state(c, check, ABI_CHECK_IDLE);
	settle_owners(c, check);
	return NULL;
}

/* Create a check. Takes ownership of the request's vectors. */
static struct error *add_check(struct checks *c, struct check_request *request)
{
	struct check *check = calloc(1, sizeof(*check));

	if (!check)
		return error_no_memory();
	check->request = *request;
	*request = (struct check_request){0};
	check->number = (uint32_t)c->list.len;
	check->module = strdup(check->request.module);
	vec_foreach (exit, &check->request.exits)
		exit->meaning |= (uint64_t)check->number << ABI_CHECK_NUMBER_SHIFT;
	if (!check->module ||
	    !vec_push(&check->processes, ((struct check_process){check->request.pid,
								 check->request.file})) ||
	    !vec_push(&c->list, check)) {
		check_destroy(check);
		return error_no_memory();
	}
	settle_owners(c, check);
	return NULL;
}

struct error *checks_add(struct checks *c, struct check_request *request)
{
	struct error *err = NULL;
	struct check *known, *rested;

	pthread_mutex_lock(&c->lock);
	known = find(c, request);
	if (known)
		err = add_process(c, known, request);
	else if (request->exits.len && c->list.len < ABI_MAX_CHECKS)
		err = add_check(c, request);
	else if (request->exits.len && (rested = find_rested(c)))
		err = begin_anew(c, rested, request);
	pthread_mutex_unlock(&c->lock);
	check_request_deinit(request);
	return err;
}

uint64_t checks_misread(struct checks *c)
{
	uint64_t ret;

	pthread_mutex_lock(&c->lock);
	ret = c->misread;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

bool checks_have_failed(struct checks *c, uint64_t file_number)
{
	bool have = false;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	vec_foreach (check, &c->list)
		have |= (*check)->request.file_number == file_number &&
			state_of(c, *check) == ABI_CHECK_FAILED;
	pthread_mutex_unlock(&c->lock);
	return have;
}

static void remove_process(struct checks *c, struct check *check, int pid)
{
	size_t kept = 0;

	vec_foreach (process, &check->processes)
		if (pid >= 0 && process->pid != pid)
			check->processes.data[kept++] = *process;
	check->processes.len = kept;
	if (kept)
		return;
	/* If the file gets probes again, it gets a new check. */
	check->request.file_number = 0;
	/* A running check ends soon (end()). */
	if (state_of(c, check) != ABI_CHECK_RUNNING)
		rest(c, check);
}

void checks_remove_file(struct checks *c, int pid, uint64_t file_number)
{
	if (!c)
		return;
	pthread_mutex_lock(&c->lock);
	vec_foreach (check, &c->list)
		if ((*check)->request.file_number == file_number)
			remove_process(c, *check, pid);
	pthread_mutex_unlock(&c->lock);
}

bool checks_next(struct checks *c, struct check_verdict *ret)
{
	bool has_any;

	pthread_mutex_lock(&c->lock);
	has_any = c->verdicts.len;
	if (has_any) {
		*ret = c->verdicts.data[0];
		c->verdicts.len--;
		memmove(c->verdicts.data, c->verdicts.data + 1,
			c->verdicts.len * sizeof(*c->verdicts.data));
	}
	pthread_mutex_unlock(&c->lock);
	return has_any;
}

void checks_stop(struct checks *c, struct attachment *attachment)
{
	const uint64_t one = 1;

	if (!c)
		return;
	if (c->is_running && write(c->stop_fd, &one, sizeof(one)) == sizeof(one))
		pthread_join(c->thread, NULL);
	c->is_running = false;
	join_closers(c, true);
	vec_foreach (check, &c->list) {
		vec_foreach (link, &(*check)->links)
			if (!vec_push(&attachment->list, *link))
				link_close_all(&link->fd, 1);
		(*check)->links.len = 0;
	}
}

void checks_destroy(struct checks *c)
{
	struct attachment none = {.ops = &attach_uprobe_multi};

	if (!c)
		return;
	checks_stop(c, &none);
	none.ops->detach(&none);
	c->ended.ops->detach(&c->ended);
	vec_foreach (check, &c->list)
		check_destroy(*check);
	vec_deinit(&c->list);
	vec_deinit(&c->verdicts);
	vec_deinit(&c->wanted);
	vec_deinit(&c->closers);
	vec_deinit(&c->under_way);
	ring_buffer__free(c->ring);
	mapped_close(c->records, RECORDS_BYTES);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
