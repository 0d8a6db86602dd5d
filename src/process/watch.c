// SPDX-License-Identifier: Apache-2.0
#include "process/watch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include <linux/perf_event.h>

#include "util/cleanup.h"
#include "util/clock.h"
#include "util/vec.h"

/* Data pages of each ring, powers of two: as many as the total allows, which many
 * processors share. A program that starts takes some 0.5 KiB. */
#define RING_PAGES_MIN 16u
#define RING_PAGES_MAX 128u
#define ALL_PAGES_MAX  2048u

/* Bound on a record: a path and the fields before it. */
#define RECORD_MAX 8192

/* How long watch_fd() stays silent after events that do not concern the caller, ms: at
 * first, and at most unless watch_rest_at_most() says otherwise. The time doubles with
 * each rest, until an event concerns the caller or no events came. */
#define REST_MIN_MS 5
#define REST_MAX_MS 160

/* If the caller reads when only this part of a rest is left, the rest is over: the timer
 * would wake the caller once more. */
#define REST_LEFT_PART 4

/* If more than this part of a ring has been filled since the last read, the next rest is
 * shorter. */
#define FILLING_PART 3

struct ring {
	int fd;
	struct perf_event_mmap_page *page; /* followed by the data */
};

struct kept_event {
	struct watch_event event; /* the path is owned, or "" */
	uint64_t number;          /* order of reading */
};

struct watch {
	int epoll_fd;     /* has rings_fd, unless at rest, and timer_fd */
	int rings_fd;     /* an epoll descriptor, readable while a ring has events */
	int timer_fd;     /* expires at the end of a rest */
	unsigned rest_ms; /* length of the last rest; 0: events concerned the caller
			     since */
	unsigned rest_max_ms;
	bool is_at_rest;
	bool is_filling; /* at the last read */
	size_t page_bytes, ring_pages;
	VEC(struct ring) rings;
	VEC(struct kept_event) kept; /* read, but not yet passed to the callback */
	uint64_t read_count;
	bool has_lost;
};

DEFINE_CLEANUP(struct watch *, watch_destroy);

static size_t ring_bytes(const struct watch *w)
{
	return w->page_bytes * w->ring_pages;
}

/* Map the ring. The first ring takes fewer pages where the kernel allows no more
 * (perf_event_mlock_kb in Documentation/admin-guide/sysctl/kernel.rst). */
static void *map_ring(struct watch *w, int fd)
{
	void *page;

	do
		page = mmap(NULL, w->page_bytes + ring_bytes(w), PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, 0);
	while (page == MAP_FAILED && !w->rings.len && w->ring_pages > RING_PAGES_MIN &&
	       (w->ring_pages /= 2));
	return page;
}

/* Open a ring for all processes on processor `cpu`, or (-1) for the calling thread on
 * all processors. */
static struct error *open_ring(struct watch *w, int cpu)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.mmap = 1,
		.mmap2 = 1,
		.mmap_data = cpu < 0,
		.comm = 1,
		.comm_exec = 1,
		.task = 1,
		.exclude_kernel = 1,
		.watermark = 1,
		.wakeup_watermark = 1,
	};
	struct epoll_event epoll_event = {.events = EPOLLIN};
	struct ring ring;

	ring.fd = (int)syscall(SYS_perf_event_open, &attr, cpu < 0 ? 0 : -1, cpu, -1,
			       PERF_FLAG_FD_CLOEXEC);
	if (ring.fd < 0)
		return error_errno(
			errno == EACCES || errno == EPERM ? ERROR_PERMISSION
							  : ERROR_UNSUPPORTED,
			errno,
			"cannot receive process events of CPU %d (CAP_PERFMON is needed)",
			cpu);
	ring.page = map_ring(w, ring.fd);
	if (ring.page == MAP_FAILED || !vec_push(&w->rings, ring)) {
		int err = errno;

		if (ring.page != MAP_FAILED)
			munmap(ring.page, w->page_bytes + ring_bytes(w));
		close(ring.fd);
		return error_errno(
			ERROR_UNSUPPORTED, err,
			"cannot map the buffer of process events of CPU %d (raise "
			"/proc/sys/kernel/perf_event_mlock_kb, or ulimit -l)",
			cpu);
	}
	if (epoll_ctl(w->rings_fd, EPOLL_CTL_ADD, ring.fd, &epoll_event))
		return error_errno(ERROR_IO, errno, "cannot wait for perf events");
	return NULL;
}

/* The number of data pages of each of `count` rings. */
static size_t pages_of(size_t count)
{
	size_t pages = RING_PAGES_MAX;

	while (pages > RING_PAGES_MIN && pages * count > ALL_PAGES_MAX)
		pages /= 2;
	return pages;
}

/* Create a watch without rings. `count`: how many the caller will open; sets their
 * size. */
static struct error *create(size_t count, struct watch **ret)
{
	_cleanup_(watch_destroyp) struct watch *w = calloc(1, sizeof(*w));
	struct epoll_event event = {.events = EPOLLIN};

	if (!w)
		return error_no_memory();
	w->epoll_fd = w->rings_fd = w->timer_fd = -1;
	w->rest_max_ms = REST_MAX_MS;
	w->page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	w->ring_pages = pages_of(count);
	w->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	w->rings_fd = epoll_create1(EPOLL_CLOEXEC);
	w->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (w->epoll_fd < 0 || w->rings_fd < 0 || w->timer_fd < 0 ||
	    epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->rings_fd, &event) ||
	    epoll_ctl(w->epoll_fd, EPOLL_CTL_ADD, w->timer_fd, &event))
		return error_errno(ERROR_IO, errno,
				   "cannot wait for process events (epoll_create1)");
	*ret = take(w);
	return NULL;
}

struct error *watch_create_own(struct watch **ret)
{
	_cleanup_(watch_destroyp) struct watch *w = NULL;
	struct error *err = create(1, &w);

	if (!err)
		err = open_ring(w, -1);
	if (!err)
		*ret = take(w);
	return err;
}

struct error *watch_create(struct watch **ret)
{
	_cleanup_(watch_destroyp) struct watch *w = NULL;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	struct error *err = create(cpus > 0 ? (size_t)cpus : 1, &w);

	for (int cpu = 0; cpu < cpus && !err; cpu++) {
		err = open_ring(w, cpu);
		/* The processor is offline. */
		if (err && err->code == ERROR_UNSUPPORTED && cpu > 0) {
			error_destroy(err);
			err = NULL;
		}
	}
	if (!err)
		*ret = take(w);
	return err;
}

int watch_fd(const struct watch *w)
{
	return w->epoll_fd;
}

void watch_rest_at_most(struct watch *w, unsigned ms)
{
	w->rest_max_ms = ms;
}

/* A 32-bit word of a record; 0 past its end. */
static uint32_t word_at(const unsigned char *record, size_t size, size_t at)
{
	uint32_t word = 0;

	if (at + sizeof(word) <= size)
		memcpy(&word, record + at, sizeof(word));
	return word;
}

static uint64_t long_at(const unsigned char *record, size_t size, size_t at)
{
	return word_at(record, size, at) | (uint64_t)word_at(record, size, at + 4) << 32;
}

/* Offset of the path in a PERF_RECORD_MMAP2, bytes. */
#define PATH_AT 72

/* Parse a record. Layouts: perf_event_open(2), "mmap layout"; sample_id_all puts the
 * time at the end of each record. True: it is an event that we report. */
static bool parse(unsigned char *record, size_t size, uint32_t type, uint16_t misc,
		  struct watch_event *ret)
{
	*ret = (struct watch_event){.pid = (int)word_at(record, size, 8), .path = ""};
	if (size >= 16)
		ret->time_ns = long_at(record, size, size - 8);
	switch (type) {
	case PERF_RECORD_FORK:
		ret->kind = WATCH_FORK;
		ret->parent = (int)word_at(record, size, 12);
		/* For a new thread, the parent is its own process. */
		return ret->pid != ret->parent;
	case PERF_RECORD_EXIT:
		ret->kind = WATCH_EXIT;
		/* Each thread has such a record: report the main thread's only. */
		return ret->pid == (int)word_at(record, size, 16);
	case PERF_RECORD_COMM:
		ret->kind = WATCH_EXEC;
		return misc & PERF_RECORD_MISC_COMM_EXEC;
	case PERF_RECORD_MMAP2:
		ret->kind = WATCH_MAP;
		ret->start = long_at(record, size, 16);
		ret->end = ret->start + long_at(record, size, 24);
		ret->file_offset = long_at(record, size, 32);
		ret->dev_major = word_at(record, size, 40);
		ret->dev_minor = word_at(record, size, 44);
		ret->inode = long_at(record, size, 48);
		if (size < PATH_AT + 8 + 1)
			return false;
		record[size - 8 - 1] = 0; /* already 0 unless the record was cut off */
		ret->path = (const char *)record + PATH_AT;
		return true;
	case PERF_RECORD_LOST:
		*ret = (struct watch_event){.kind = WATCH_LOST, .path = ""};
		return true;
	default:
		return false;
	}
}

/* Copy a record out of the ring. It may wrap around the ring's end. */
static void copy_out(const struct watch *w, const struct ring *ring, uint64_t at,
		     void *to, size_t size)
{
	const unsigned char *data = (const unsigned char *)ring->page + w->page_bytes;
	size_t from = (size_t)at & (ring_bytes(w) - 1);
	size_t first = size < ring_bytes(w) - from ? size : ring_bytes(w) - from;

	memcpy(to, data + from, first);
	memcpy((unsigned char *)to + first, data, size - first);
}

static void kept_deinit(struct kept_event *kept)
{
	if (*kept->event.path)
		free((void *)(uintptr_t)kept->event.path);
}

static void keep(struct watch *w, const struct watch_event *event)
{
	struct kept_event kept = {*event, w->read_count++};

	if (event->kind == WATCH_LOST) {
		w->has_lost = true;
		return;
	}
	if (*event->path)
		kept.event.path = strdup(event->path);
	if (kept.event.path && vec_push(&w->kept, kept))
		return;
	if (kept.event.path)
		kept_deinit(&kept);
	w->has_lost = true;
}

static void read_ring(struct watch *w, struct ring *ring)
{
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	/* The kernel reports lost records with the next record that fits, possibly much
	 * later. So take a nearly full ring as a loss. */
	bool was_full = head - tail > ring_bytes(w) - RECORD_MAX;
	unsigned char record[RECORD_MAX];

	w->has_lost |= was_full;
	w->is_filling |= head - tail > ring_bytes(w) / FILLING_PART;
	while (tail < head) {
		struct perf_event_header header;
		struct watch_event event;

		copy_out(w, ring, tail, &header, sizeof(header));
		if (header.size < sizeof(header))
			break;

		size_t size = header.size < RECORD_MAX ? header.size : RECORD_MAX;

		copy_out(w, ring, tail, record, size);
		tail += header.size;
		if (parse(record, size, header.type, header.misc, &event))
			keep(w, &event);
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}

static int by_time(const void *pa, const void *pb)
{
	const struct kept_event *a = pa, *b = pb;

	if (a->event.time_ns != b->event.time_ns)
		return a->event.time_ns < b->event.time_ns ? -1 : 1;
	return (a->number > b->number) - (a->number < b->number);
}

/* What the events of a read were. */
struct events_read {
	bool are_any;
	bool concern; /* one concerned the caller, or some were lost */
};

/* Pass the kept events that happened up to `until_ns` to `fn`. */
static void hand_on(struct watch *w, uint64_t until_ns, watch_event_fn *fn, void *arg,
		    struct events_read *ret)
{
	size_t count = 0;

	if (w->has_lost)
		fn(arg, &(const struct watch_event){.kind = WATCH_LOST, .path = ""});
	ret->concern |= w->has_lost;
	ret->are_any |= w->has_lost || w->kept.len;
	w->has_lost = false;
	if (!w->kept.len)
		return;
	qsort(w->kept.data, w->kept.len, sizeof(*w->kept.data), by_time);
	while (count < w->kept.len && w->kept.data[count].event.time_ns <= until_ns) {
		struct kept_event *kept = &w->kept.data[count++];

		ret->concern |= fn(arg, &kept->event);
		kept_deinit(kept);
	}
	w->kept.len -= count;
	memmove(w->kept.data, w->kept.data + count, w->kept.len * sizeof(*w->kept.data));
}

/* watch_fd() does not wake a caller for kept events, so try to pass them on now. */
#define ROUNDS_MAX 3

static void end_rest(struct watch *w)
{
	struct epoll_event event = {.events = EPOLLIN};
	const struct itimerspec never = {.it_value = {.tv_sec = 0}};

	if (!w->is_at_rest || epoll_ctl(w->epoll_fd, EPOLL_CTL_MOD, w->rings_fd, &event))
		return;
	(void)timerfd_settime(w->timer_fd, 0, &never, NULL);
	w->is_at_rest = false;
}

/* Let the rest end in `rest_ms` from now. */
static bool set_timer(const struct watch *w)
{
	const struct itimerspec spec = {
		.it_value = {.tv_sec = w->rest_ms / 1000,
			     .tv_nsec = (long)(w->rest_ms % 1000) * 1000000},
	};

	return !timerfd_settime(w->timer_fd, 0, &spec, NULL);
}

/* Begin a rest, or another one. */
static void begin_rest(struct watch *w)
{
	struct epoll_event none = {.events = 0};

	w->rest_ms = w->is_filling ? w->rest_ms / 2 : 2 * w->rest_ms;
	if (w->rest_ms < REST_MIN_MS)
		w->rest_ms = REST_MIN_MS;
	if (w->rest_ms > w->rest_max_ms)
		w->rest_ms = w->rest_max_ms;
	/* If this fails, the events wake the caller as they come. */
	if (set_timer(w) && !epoll_ctl(w->epoll_fd, EPOLL_CTL_MOD, w->rings_fd, &none))
		w->is_at_rest = true;
}

/* Has the rest ended, or will it end soon? */
static bool is_rest_over(const struct watch *w)
{
	uint64_t expirations;
	struct itimerspec left;

	if (read(w->timer_fd, &expirations, sizeof(expirations)) == sizeof(expirations))
		return true;
	return w->is_at_rest && !timerfd_gettime(w->timer_fd, &left) &&
	       left.it_value.tv_sec * INT64_C(1000) + left.it_value.tv_nsec / 1000000 <
		       w->rest_ms / REST_LEFT_PART;
}

/* Programs that start elsewhere on the machine would otherwise wake the caller hundreds
 * of times a second: the kernel reports all processes. */
static void let_rest(struct watch *w, const struct events_read *events)
{
	bool was_at_rest = w->is_at_rest, is_over = is_rest_over(w);

	if (events->concern) {
		w->rest_ms = 0;
		end_rest(w);
	} else if (events->are_any && (is_over || !was_at_rest || w->is_filling)) {
		begin_rest(w);
	} else if (events->are_any) {
		/* The caller looks by itself, and needs no wakeup so soon. */
		(void)set_timer(w);
	} else if (is_over) {
		/* Shorter, not the shortest: they may only have paused. */
		w->rest_ms /= 4;
		end_rest(w);
	}
}

void watch_read(struct watch *w, watch_event_fn *fn, void *arg)
{
	struct events_read events = {.are_any = false};

	w->is_filling = false;
	/* While we read one ring, a child may write events to another ring before we
	 * have read its fork. The events from before the first round are all in the
	 * rings. */
	for (int i = 0; i < ROUNDS_MAX && (!i || w->kept.len); i++) {
		uint64_t until_ns = clock_now_ns();

		vec_foreach (ring, &w->rings)
			read_ring(w, ring);
		hand_on(w, until_ns, fn, arg, &events);
	}
	let_rest(w, &events);
}

void watch_destroy(struct watch *w)
{
	if (!w)
		return;
	vec_foreach (ring, &w->rings) {
		munmap(ring->page, w->page_bytes + ring_bytes(w));
		close(ring->fd);
	}
	vec_deinit(&w->rings);
	vec_foreach (kept, &w->kept)
		kept_deinit(kept);
	vec_deinit(&w->kept);
	closep(&w->timer_fd);
	closep(&w->rings_fd);
	closep(&w->epoll_fd);
	free(w);
}
