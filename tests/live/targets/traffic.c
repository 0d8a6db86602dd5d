/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Heap events of four threads in turn, all of them counted: by call path and by thread,
 * to the block and byte. Commands, one on each line: `run N M` makes N random events. It
 * counts a block as temporary if its own thread frees it within M of its events. `ages`
 * frees blocks after known times; `end` ends one thread; `truth` prints the counts. Only
 * the four threads allocate, and each allocation is counted. `crowd N` makes N events in
 * each of eight other threads at once, and prints what was live when all of them held
 * most.
 */
#include <pthread.h>
#include <semaphore.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SITE    __attribute__((noinline))
#define THREADS 4
#define BLOCKS  256
#define BUCKETS 65

/* The call paths. Each function makes one call. */
enum site {
	SITE_a,
	SITE_b,
	SITE_c,
	SITE_grow,
	SITE_zeroed,
	SITE_aged,
	SITES
};

static const char *const site_names[SITES] = {"site_a",    "site_b",      "site_c",
					      "site_grow", "site_zeroed", "site_aged"};

#define DEFINE_SITE(name)                                                                \
	SITE void *site_##name(void *old, size_t size);                                  \
	SITE void *site_##name(void *old, size_t size)                                   \
	{                                                                                \
		(void)old;                                                               \
		void *block = malloc(size);                                              \
                                                                                         \
		__asm__ volatile("" : "+r"(block) : : "memory");                         \
		return block;                                                            \
	}

DEFINE_SITE(a)
DEFINE_SITE(b)
DEFINE_SITE(c)
DEFINE_SITE(aged)

SITE void *site_grow(void *old, size_t size);
SITE void *site_grow(void *old, size_t size)
{
	void *block = realloc(old, size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

SITE void *site_zeroed(void *old, size_t size);
SITE void *site_zeroed(void *old, size_t size)
{
	(void)old;
	void *block = calloc(1, size);

	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

static void *(*const site_calls[SITES])(void *old, size_t size) = {
	site_a, site_b, site_c, site_grow, site_zeroed, site_aged};

/* --- the truth -------------------------------------------------------------------- */

struct path {
	uint64_t allocations, allocated_bytes, frees, freed_bytes, temporary;
	uint64_t peak_bytes, peak_blocks;
	double peak_s;
	/* when the whole heap was largest */
	uint64_t at_peak_bytes, at_peak_blocks;
};

struct thread {
	pthread_t thread;
	int tid;
	sem_t go;
	uint64_t events;
	uint64_t allocations, allocated_bytes, frees, freed_bytes;
	uint64_t freed_by_others, freed_by_others_bytes, freed_own, freed_own_bytes;
};

struct block {
	void *address; /* NULL: no block */
	size_t size;
	enum site site;
	unsigned thread; /* the thread that allocated it */
	uint64_t event;  /* number of that thread's event that allocated it */
};

static struct path paths[SITES];
static struct thread threads[THREADS];
static struct block blocks[BLOCKS];
static uint64_t sizes[BUCKETS], live_bytes, peak_bytes;
static uint64_t threshold;
static double ages_ms[8];
static unsigned age_count;

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void was_allocated(unsigned thread, struct block *block)
{
	struct path *path = &paths[block->site];
	struct thread *t = &threads[thread];
	uint64_t live;
	unsigned bucket = 0;

	block->thread = thread;
	block->event = ++t->events;
	t->allocations++;
	t->allocated_bytes += block->size;
	path->allocations++;
	path->allocated_bytes += block->size;
	live = path->allocated_bytes - path->freed_bytes;
	if (live > path->peak_bytes) {
		path->peak_bytes = live;
		path->peak_blocks = path->allocations - path->frees;
		path->peak_s = now_s();
	}
	live_bytes += block->size;
	if (live_bytes > peak_bytes) {
		peak_bytes = live_bytes;
		for (unsigned i = 0; i < SITES; i++) {
			paths[i].at_peak_bytes =
				paths[i].allocated_bytes - paths[i].freed_bytes;
			paths[i].at_peak_blocks = paths[i].allocations - paths[i].frees;
		}
	}
	while (bucket < BUCKETS - 1 && block->size >> bucket)
		bucket++;
	sizes[bucket]++;
}

static void was_freed(unsigned thread, const struct block *block)
{
	struct path *path = &paths[block->site];
	struct thread *t = &threads[thread], *owner = &threads[block->thread];

	path->frees++;
	path->freed_bytes += block->size;
	path->temporary += t == owner && t->events - block->event <= threshold;
	t->events++;
	t->frees++;
	t->freed_bytes += block->size;
	if (t == owner) {
		t->freed_own++;
		t->freed_own_bytes += block->size;
	} else {
		owner->freed_by_others++;
		owner->freed_by_others_bytes += block->size;
	}
	live_bytes -= block->size;
}

/* --- one event, on one thread ----------------------------------------------------- */

static struct order {
	enum {
		ALLOCATE,
		FREE,
		GROW,
		FAIL,
		LEAVE
	} what;
	struct block *block;
	enum site site;
	size_t size;
} order;
static sem_t done;

/* All sites are called from here, so that each has one call path. */
static void obey(unsigned thread)
{
	struct block *block = order.block, old = *block;

	switch (order.what) {
	case ALLOCATE:
	case GROW:
		block->address = site_calls[order.site](old.address, order.size);
		block->size = order.size;
		block->site = order.site;
		if (!block->address)
			_exit(1);
		if (order.what == GROW && old.address)
			was_freed(thread, &old);
		was_allocated(thread, block);
		break;
	case FREE:
		free(block->address);
		block->address = NULL;
		was_freed(thread, &old);
		break;
	case FAIL:
		/* The call fails: the block stays, and nothing is counted. */
		if (site_grow(block->address, SIZE_MAX / 2))
			_exit(1);
		break;
	case LEAVE:
		break;
	}
}

static void *work(void *arg)
{
	unsigned thread = (unsigned)(uintptr_t)arg;
	char name[16];

	snprintf(name, sizeof(name), "worker-%u", thread);
	pthread_setname_np(pthread_self(), name);
	threads[thread].tid = (int)syscall(SYS_gettid);
	sem_post(&done);
	for (;;) {
		sem_wait(&threads[thread].go);
		if (order.what == LEAVE)
			return NULL;
		obey(thread);
		sem_post(&done);
	}
}

static void command(unsigned thread, struct order next)
{
	order = next;
	sem_post(&threads[thread].go);
	sem_wait(&done);
}

/* --- commands --------------------------------------------------------------------- */

static uint64_t random_next(void)
{
	static uint64_t state = 0x2545f4914f6cdd1d;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

static size_t random_size(void)
{
	uint64_t r = random_next();

	return (r >> 20) % (r % 16 ? 300 : 20000) + 1;
}

static void run(uint64_t events)
{
	unsigned thread = 0;

	while (events--) {
		struct block *block = &blocks[random_next() % BLOCKS];
		uint64_t r = random_next();
		enum site site = (enum site)(r % SITE_aged);

		/* Mostly keeps the thread of the event before, so that some blocks are
		 * temporary. */
		if (r >> 8 & 3)
			thread = (unsigned)(r >> 16) % THREADS;
		if (!block->address) {
			command(thread,
				(struct order){site == SITE_grow ? GROW : ALLOCATE, block,
					       site, random_size()});
			if (!(r >> 32 & 1))
				continue;
		}
		switch (r >> 34 & 7) {
		case 0:
			command(thread, (struct order){FAIL, block, SITE_grow, 0});
			break;
		case 1:
			command(thread,
				(struct order){GROW, block, SITE_grow, random_size()});
			break;
		default:
			command(thread, (struct order){FREE, block, site, 0});
		}
	}
	/* At the end each site holds a block. */
	for (unsigned i = 0; i < SITE_aged; i++) {
		struct block *block = &blocks[i];

		if (block->address)
			command(i % THREADS, (struct order){FREE, block, 0, 0});
		command(i % THREADS, (struct order){i == SITE_grow ? GROW : ALLOCATE,
						    block, (enum site)i, 16});
	}
}

static void age(void)
{
	static const long wait_ms[] = {0, 24, 90, 400};
	static struct block aged[2];

	command(0, (struct order){ALLOCATE, &aged[1], SITE_aged, 1});
	for (unsigned i = 0; i < 4; i++) {
		double before_s;

		command(0, (struct order){ALLOCATE, &aged[0], SITE_aged, 100 + i});
		before_s = now_s();
		nanosleep(&(struct timespec){.tv_nsec = wait_ms[i] * 1000000}, NULL);
		ages_ms[age_count++] = (now_s() - before_s) * 1e3;
		command(0, (struct order){FREE, &aged[0], 0, 0});
	}
}

/* --- answers ---------------------------------------------------------------------- */

static char line[1 << 14];
static size_t line_length;

/* For strings, integers and small doubles snprintf allocates nothing. */
__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	line_length += (size_t)vsnprintf(line + line_length, sizeof(line) - line_length,
					 format, args);
	va_end(args);
}

static void flush(void)
{
	put("\n");
	if (write(STDOUT_FILENO, line, line_length) != (ssize_t)line_length)
		_exit(1);
	line_length = 0;
}

#define NUMBER(object, key) put("\"" #key "\":%llu,", (unsigned long long)(object)->key)

static void tell(void)
{
	put("{\"paths\":[");
	for (unsigned i = 0; i < SITES; i++) {
		const struct path *p = &paths[i];

		put("%s{", i ? "," : "");
		NUMBER(p, allocations);
		NUMBER(p, allocated_bytes);
		NUMBER(p, frees);
		NUMBER(p, freed_bytes);
		NUMBER(p, temporary);
		NUMBER(p, peak_bytes);
		NUMBER(p, peak_blocks);
		NUMBER(p, at_peak_bytes);
		NUMBER(p, at_peak_blocks);
		put("\"peak_ms\":%llu,\"site\":\"%s\"}",
		    (unsigned long long)(p->peak_s * 1e3), site_names[i]);
	}
	put("],\"threads\":[");
	for (unsigned i = 0; i < THREADS; i++) {
		const struct thread *t = &threads[i];

		put("%s{", i ? "," : "");
		NUMBER(t, allocations);
		NUMBER(t, allocated_bytes);
		NUMBER(t, frees);
		NUMBER(t, freed_bytes);
		NUMBER(t, freed_by_others);
		NUMBER(t, freed_by_others_bytes);
		NUMBER(t, freed_own);
		NUMBER(t, freed_own_bytes);
		put("\"tid\":%d}", t->tid);
	}
	put("],\"sizes\":[");
	for (unsigned i = 0; i < BUCKETS; i++)
		put("%s%llu", i ? "," : "", (unsigned long long)sizes[i]);
	put("],\"ages_ms\":[");
	for (unsigned i = 0; i < age_count; i++)
		put("%s%llu", i ? "," : "", (unsigned long long)ages_ms[i]);
	put("],\"peak_bytes\":%llu}", (unsigned long long)peak_bytes);
	flush();
}

/* --- a crowd ---------------------------------------------------------------------- */

#define CROWD        8
#define CROWD_BLOCKS 64
/* More than a thread of the crowd holds otherwise: so no moment at which one of them does
 * not hold it is the peak. */
#define CROWD_MOST (1 << 20)

/* What a site of one thread holds. */
struct held {
	uint64_t at_peak_bytes, at_peak_blocks;
};

static struct held crowd_held[CROWD][SITES];
static pthread_barrier_t crowd_peak;               /* of the crowd */
static pthread_barrier_t crowd_begins, crowd_ends; /* and of the main thread */
static uint64_t crowd_events;

static void crowd_event(struct block *block, uint64_t r)
{
	if (block->address) {
		free(block->address);
		block->address = NULL;
		return;
	}
	block->site = (enum site)(r % SITES);
	block->size = (r >> 8) % 300 + 1;
	block->address = site_calls[block->site](NULL, block->size);
	if (!block->address)
		_exit(1);
}

static void crowd_churn(struct block own[CROWD_BLOCKS], uint64_t *state)
{
	for (uint64_t i = 0; i < crowd_events; i++) {
		*state ^= *state << 13;
		*state ^= *state >> 7;
		*state ^= *state << 17;
		crowd_event(&own[*state % CROWD_BLOCKS], *state >> 16);
	}
}

static void *crowd_work(void *arg)
{
	struct held *held = crowd_held[(uintptr_t)arg];
	struct block own[CROWD_BLOCKS] = {{0}};
	uint64_t state = 88172645463325252u * ((uintptr_t)arg + 1);

	for (;;) {
		pthread_barrier_wait(&crowd_begins);
		crowd_churn(own, &state);

		void *most = site_a(NULL, CROWD_MOST);

		memset(held, 0, sizeof(crowd_held[0]));
		held[SITE_a] = (struct held){CROWD_MOST, 1};
		for (size_t i = 0; i < CROWD_BLOCKS; i++) {
			if (!own[i].address)
				continue;
			held[own[i].site].at_peak_bytes += own[i].size;
			held[own[i].site].at_peak_blocks++;
		}
		/* The peak. Then all free at the same time. */
		pthread_barrier_wait(&crowd_peak);
		free(most);
		crowd_churn(own, &state);
		for (size_t i = 0; i < CROWD_BLOCKS; i++) {
			free(own[i].address);
			own[i].address = NULL;
		}
		pthread_barrier_wait(&crowd_ends);
	}
	return NULL;
}

/* Threads allocate when they start, so they all start before the attach. */
static bool crowd_start(void)
{
	pthread_barrier_init(&crowd_peak, NULL, CROWD);
	pthread_barrier_init(&crowd_begins, NULL, CROWD + 1);
	pthread_barrier_init(&crowd_ends, NULL, CROWD + 1);
	for (uintptr_t i = 0; i < CROWD; i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, crowd_work, (void *)i))
			return false;
	}
	return true;
}

static void crowd(uint64_t events)
{
	uint64_t bytes = 0;

	crowd_events = events;
	pthread_barrier_wait(&crowd_begins);
	pthread_barrier_wait(&crowd_ends);
	put("{\"paths\":[");
	for (unsigned site = 0; site < SITES; site++) {
		struct held sum = {0};
		const struct held *p = &sum;

		for (size_t i = 0; i < CROWD; i++) {
			sum.at_peak_bytes += crowd_held[i][site].at_peak_bytes;
			sum.at_peak_blocks += crowd_held[i][site].at_peak_blocks;
		}
		bytes += sum.at_peak_bytes;
		put("%s{", site ? "," : "");
		NUMBER(p, at_peak_bytes);
		NUMBER(p, at_peak_blocks);
		put("\"site\":\"%s\"}", site_names[site]);
	}
	put("],\"peak_bytes\":%llu}", (unsigned long long)bytes);
	flush();
}

static bool read_line(char *text, size_t size)
{
	for (size_t n = 0; n < size; n++) {
		if (read(STDIN_FILENO, &text[n], 1) != 1)
			return false;
		if (text[n] == '\n') {
			text[n] = '\0';
			return true;
		}
	}
	return false;
}

int main(void)
{
	char text[64];
	unsigned long long n, m;

	sem_init(&done, 0, 0);
	for (uintptr_t i = 0; i < THREADS; i++) {
		sem_init(&threads[i].go, 0, 0);
		if (pthread_create(&threads[i].thread, NULL, work, (void *)i))
			return 1;
		sem_wait(&done);
	}
	if (!crowd_start())
		return 1;
	put("{\"ready\":true}");
	flush();
	while (read_line(text, sizeof(text))) {
		if (sscanf(text, "run %llu %llu", &n, &m) == 2) {
			threshold = m;
			run(n);
		} else if (!strcmp(text, "ages")) {
			age();
		} else if (!strcmp(text, "end")) {
			/* The reports must show the new names, also after the thread has
			 * ended. */
			pthread_setname_np(threads[3].thread, "renamed");
			pthread_setname_np(threads[2].thread, "leaver");
			order.what = LEAVE;
			put("{\"named\":true}");
			flush();
			if (!read_line(text, sizeof(text)))
				return 1;
			sem_post(&threads[2].go);
			pthread_join(threads[2].thread, NULL);
		} else if (sscanf(text, "crowd %llu", &n) == 1) {
			crowd(n);
			continue;
		} else if (!strcmp(text, "truth")) {
			tell();
			continue;
		} else {
			return 1;
		}
		put("{\"done\":true}");
		flush();
	}
	return 0;
}
