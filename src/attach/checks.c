// SPDX-License-Identifier: Apache-2.0
#include "attach/checks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "attach/checks_private.h"
#include "bpf/link.h"
#include "bpf/mapped.h"
#include "bpf/ring.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/memory_limit.h"
#include "util/units.h"

#define RECORDS_BYTES (ABI_MAX_CHECKS * sizeof(struct abi_check))

/* When the file of a check is gone, its number is reused only after this time, so that no
 * hit of one of its probes is still being handled. */
#define REST_MS 10000

DEFINE_CLEANUP(struct checks *, checks_destroy);

static struct error *start(struct checks *c)
{
	int err;

	c->records = mapped_open(c->maps.checks, RECORDS_BYTES);
	c->ring = ring_open(c->maps.news, checks_on_news, c);
	c->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (!c->records || !c->ring || c->stop_fd < 0)
		return error_create(ERROR_IO,
				    "cannot check the probes inside functions, for lack "
				    "of a ring buffer: %s%s",
				    strerror(errno), memory_limit_hint());
	err = pthread_create(&c->thread, NULL, checks_run, c);
	if (err)
		return error_create(ERROR_IO,
				    "cannot check the probes inside functions, for lack "
				    "of a thread: %s%s",
				    strerror(err), memory_limit_hint());
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
	if (check_state_of(c, check) == ABI_CHECK_FAILED &&
	    !check_replace_for(check, &check->processes.data[check->processes.len - 1]))
		return error_create(
			ERROR_UNSUPPORTED,
			"cannot trace %s: memtrace misread its code, and a return probe "
			"instead would not be safe (--growth needs neither)",
			request->function);
	return NULL;
}

/* Find a check whose number can be reused, or NULL. */
static struct check *find_rested(const struct checks *c)
{
	uint64_t now_ns = clock_now_ns();

	vec_foreach (check, &c->list)
		if ((*check)->rests_ns && check_state_of(c, *check) == ABI_CHECK_OVER &&
		    now_ns - (*check)->rests_ns > REST_MS * UNITS_NS_PER_MS)
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
	check_set_state(c, check, ABI_CHECK_IDLE);
	check_settle_owners(c, check);
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
	check_settle_owners(c, check);
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
	else if (request->exits.len)
		c->left_out++;
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

uint64_t checks_left_out(struct checks *c)
{
	uint64_t ret;

	pthread_mutex_lock(&c->lock);
	ret = c->left_out;
	pthread_mutex_unlock(&c->lock);
	return ret;
}

void checks_cut_off(struct checks *c)
{
	/* A thread that does not exist here may hold it. */
	if (c)
		pthread_mutex_init(&c->lock, NULL);
}

bool checks_have_failed(struct checks *c, uint64_t file_number)
{
	bool have = false;

	if (!c)
		return false;
	pthread_mutex_lock(&c->lock);
	vec_foreach (check, &c->list)
		have |= (*check)->request.file_number == file_number &&
			check_state_of(c, *check) == ABI_CHECK_FAILED;
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
	/* A running check ends soon (check_end()). */
	if (check_state_of(c, check) != ABI_CHECK_RUNNING)
		check_rest(c, check);
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
	checks_join_closers(c, true);
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
	ring_close(c->ring);
	mapped_close(c->records, RECORDS_BYTES);
	if (c->stop_fd >= 0)
		close(c->stop_fd);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
