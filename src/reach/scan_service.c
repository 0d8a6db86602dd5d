// SPDX-License-Identifier: Apache-2.0
#include "reach/scan_service.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/saturate.h"
#include "util/units.h"

/* Reading memory of a target can block without end: its pages may come from a file system
 * that does not answer, or from userfaultfd(2). Only a fatal signal ends such a read. So
 * during a request SIGALRM kills this process this long after the deadline of a stop, and
 * the kernel lets the stopped threads go on. */
#define LATE_NS UINT64_C(1000000000)

/* While no process is stopped, SIGALRM kills this one after so long without progress. */
#define STALL_NS UINT64_C(30000000000)

/* Between two messages about progress. */
#define SAY_NS UINT64_C(200000000)

struct scan_service {
	struct reach_words words;
	VEC(struct reach_target) targets;
	struct confined_server *server; /* during a request */
	uint64_t deadline_ns;           /* of the stops */
	uint64_t said_ns;
	int pid; /* that is searched */
	bool is_searching;
	/* Sends SIGALRM, with the service as its value. In the child, once it is needed:
	 * a child that was forked has no timers of its parent. */
	timer_t timer;
	bool has_timer;
};

size_t scan_table_bytes(uint32_t count)
{
	return (size_t)count * (2 * sizeof(uint64_t) + sizeof(uint32_t) + 1);
}

struct reach_table scan_table_at(void *bytes, uint32_t count)
{
	uint64_t *start = bytes, *end = start + count;
	uint32_t *head = (uint32_t *)(end + count);

	return (struct reach_table){start, end,   (uint8_t *)(head + count),
				    head,  count, false};
}

void scan_effort_put(struct strbuf *out, const struct reach_effort *effort)
{
	wire_put_u64(out, effort->read_bytes);
	wire_put_u64(out, effort->took_ns);
	wire_put_u64(out, effort->pause_ns);
	wire_put_u32(out, effort->threads);
	wire_put_u32(out, effort->is_late);
	wire_put_u32(out, effort->has_rings);
}

struct reach_effort scan_effort_get(struct wire *in)
{
	struct reach_effort effort;

	effort.read_bytes = wire_get_u64(in);
	effort.took_ns = wire_get_u64(in);
	effort.pause_ns = wire_get_u64(in);
	effort.threads = wire_get_u32(in);
	effort.is_late = wire_get_u32(in);
	effort.has_rings = wire_get_u32(in);
	return effort;
}

/* SIGALRM comes at `at_ns`. 0: never. */
static void set_alarm(struct scan_service *service, uint64_t at_ns)
{
	const struct itimerspec at = {
		.it_value = {.tv_sec = (time_t)(at_ns / 1000000000),
			     .tv_nsec = (long)(at_ns % 1000000000)}};

	if (service->has_timer)
		timer_settime(service->timer, TIMER_ABSTIME, &at, NULL);
}

/* Let this process be killed LATE_NS after `deadline_ns`. 0: never. */
static void end_at(struct scan_service *service, uint64_t deadline_ns)
{
	signal(SIGALRM, SIG_DFL);
	set_alarm(service, deadline_ns ? saturate_add(deadline_ns, LATE_NS) : 0);
}

/* Is a process stopped? */
static bool has_stopped(const struct scan_service *service)
{
	vec_foreach (target, &service->targets)
		if (target->threads.list.len && !target->let_go_ns)
			return true;
	return false;
}

static void let_go(int number, siginfo_t *info, void *context)
{
	struct scan_service *service = info->si_value.sival_ptr;
	int before = errno;

	(void)number;
	(void)context;
	/* Another process may send SIGALRM, too. */
	if (info->si_code != SI_TIMER)
		return;
	vec_foreach (target, &service->targets)
		reach_scan_let_go(target);
	errno = before;
}

/* Between the requests for the stop and for the verification. If the second one comes too
 * late, the processes go on at the deadline. */
static void wait_for_request(struct scan_service *service)
{
	const struct sigaction action = {.sa_sigaction = let_go,
					 .sa_flags = SA_RESTART | SA_SIGINFO};

	if (!has_stopped(service))
		return;
	sigaction(SIGALRM, &action, NULL);
	set_alarm(service, service->deadline_ns);
}

/* When nothing is stopped, nothing is urgent. */
static void settle(void *arg)
{
	struct scan_service *service = arg;

	if (has_stopped(service))
		return;
	end_at(service, service->is_searching ? clock_now_ns() + STALL_NS : 0);
}

/* Other processes may be stopped while lost blocks of one are grouped, which takes as
 * long as it takes. They go on at the deadline. */
static void keep_deadline(struct scan_service *service, uint64_t now_ns)
{
	if (now_ns <= service->deadline_ns || !has_stopped(service))
		return;
	vec_foreach (target, &service->targets)
		reach_scan_let_go(target);
	settle(service);
}

static void say(void *arg, uint64_t read_bytes)
{
	struct scan_service *service = arg;
	uint64_t now = clock_now_ns();
	char text[128];

	keep_deadline(service, now);
	if (now - service->said_ns < SAY_NS)
		return;
	service->said_ns = now;
	settle(service);
	snprintf(text, sizeof(text), "searching the memory of process %d (%s)",
		 service->pid, units_format_bytes(read_bytes).s);
	confined_say(service->server, text);
}

/* The process `pid`; NULL: memory is out. */
static struct reach_target *find_target(struct scan_service *service, int pid)
{
	vec_foreach (target, &service->targets)
		if (target->pid == pid)
			return target;
	if (!vec_push(&service->targets, (struct reach_target){.pid = pid,
							       .progress = say,
							       .released = settle,
							       .arg = service}))
		return NULL;
	return &service->targets.data[service->targets.len - 1];
}

static void release_all(struct scan_service *service)
{
	vec_foreach (target, &service->targets)
		reach_scan_release(target);
	service->targets.len = 0;
	settle(service);
}

/* Map the table that came with the request. */
static struct error *map_table(struct confined_request *request, uint32_t count,
			       void **ret)
{
	size_t size = scan_table_bytes(count);
	struct stat st;

	*ret = MAP_FAILED;
	if (request->fd >= 0 && !fstat(request->fd, &st) && (size_t)st.st_size >= size)
		*ret = mmap(NULL, size + 1, PROT_READ | PROT_WRITE, MAP_SHARED,
			    request->fd, 0);
	return *ret == MAP_FAILED
		       ? error_create(ERROR_IO, "no table came with the request")
		       : NULL;
}

static struct error *search(struct scan_service *service, struct reach_target *target,
			    struct confined_request *request)
{
	uint32_t count = wire_get_u32(&request->in);
	bool is_whole = wire_get_u32(&request->in);
	uint64_t deadline_ns = wire_get_u64(&request->in);
	struct reach_effort effort = {0};
	struct reach_table table;
	void *map;
	struct error *err = map_table(request, count, &map);

	if (err)
		return err;
	table = scan_table_at(map, count);
	table.is_whole = is_whole;
	service->is_searching = true;
	if (has_stopped(service))
		end_at(service, deadline_ns);
	settle(service);
	if (request->number == SCAN_FIRST)
		err = reach_scan_first(target, &service->words, &table, deadline_ns,
				       &effort);
	else
		err = reach_scan_verify(target, &service->words, &table, deadline_ns,
					&effort);
	service->is_searching = false;
	settle(service);
	munmap(map, scan_table_bytes(count) + 1);
	scan_effort_put(request->out, &effort);
	return err;
}

static struct error *stop(struct scan_service *service, struct reach_target *target,
			  uint64_t deadline_ns)
{
	struct error *err;

	service->deadline_ns = deadline_ns;
	end_at(service, deadline_ns);
	err = reach_scan_stop(target, deadline_ns);
	settle(service);
	return err;
}

static struct error *make_timer(struct scan_service *service)
{
	struct sigevent event = {.sigev_notify = SIGEV_SIGNAL,
				 .sigev_signo = SIGALRM,
				 .sigev_value = {.sival_ptr = service}};

	service->has_timer = service->has_timer ||
			     !timer_create(CLOCK_MONOTONIC, &event, &service->timer);
	return service->has_timer ? NULL : error_no_memory();
}

static struct error *answer(void *state, struct confined_request *request)
{
	struct scan_service *service = state;
	struct reach_target *target;
	struct error *err;

	signal(SIGALRM, SIG_IGN);
	err = make_timer(service);
	if (err)
		return err;
	service->server = request->server;
	if (request->number == SCAN_RELEASE) {
		release_all(service);
		return NULL;
	}
	reach_threads_release_late();
	service->pid = (int)wire_get_u32(&request->in);
	target = find_target(service, service->pid);
	if (!target)
		return error_no_memory();
	if (request->number == SCAN_STOP)
		err = stop(service, target, wire_get_u64(&request->in));
	else
		err = search(service, target, request);
	wait_for_request(service);
	return err;
}

struct scan_service *scan_service_create(const struct reach_words *words)
{
	struct scan_service *service = calloc(1, sizeof(*service));

	if (service)
		service->words = *words;
	return service;
}

void scan_service_destroy(struct scan_service *service)
{
	if (!service)
		return;
	vec_deinit(&service->targets);
	free(service);
}

struct confined_service scan_service_entry(struct scan_service *service)
{
	return (struct confined_service){
		.first = SCAN_FIRST,
		.count = SCAN_END - SCAN_FIRST,
		.answer = answer,
		.state = service,
	};
}
