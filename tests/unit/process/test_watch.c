// SPDX-License-Identifier: Apache-2.0
/* The kernel's events about a child that forks, executes a program and maps a file. */
#include "check.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include "process/watch.h"
#include "unit/process/child.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/path.h"

/* Events about one process. */
struct reported {
	int pid;
	uint64_t inode;
	uint32_t dev_major, dev_minor;
	unsigned forks, execs, maps, exits, lost;
	int parent;
	/* Times of the first and the last event, except losses. */
	uint64_t first_ns, last_ns;
	/* Last event about the file, its path without directories. */
	struct watch_event map;
	char name[64];
};

static bool tell(void *arg, const struct watch_event *event)
{
	struct reported *reported = arg;

	reported->lost += event->kind == WATCH_LOST;
	if (event->pid != reported->pid)
		return false;
	/* Events are in order only for each processor, and the process may have moved to
	 * another. */
	if (!reported->first_ns || event->time_ns < reported->first_ns)
		reported->first_ns = event->time_ns;
	if (event->time_ns > reported->last_ns)
		reported->last_ns = event->time_ns;
	if (event->kind == WATCH_FORK) {
		reported->forks++;
		reported->parent = event->parent;
	}
	reported->execs += event->kind == WATCH_EXEC;
	reported->exits += event->kind == WATCH_EXIT;
	if (event->kind != WATCH_MAP || event->inode != reported->inode ||
	    event->dev_major != reported->dev_major ||
	    event->dev_minor != reported->dev_minor)
		return true;
	reported->maps++;
	reported->map = *event;
	snprintf(reported->name, sizeof(reported->name), "%s",
		 path_base_name(event->path));
	return true;
}

static struct watch *open_watch(void)
{
	struct watch *watch = NULL;
	struct error *err = watch_create(&watch);

	if (err && err->code == ERROR_PERMISSION)
		check_skip("the kernel does not tell us of all processes");
	REQUIRE(!err);
	return watch;
}

static bool is_readable(const struct watch *watch)
{
	struct pollfd fd = {.fd = watch_fd(watch), .events = POLLIN};

	return poll(&fd, 1, 5000) > 0;
}

static void of_file(struct reported *reported, const char *path)
{
	struct stat st;

	REQUIRE(stat(path, &st) == 0);
	reported->inode = st.st_ino;
	reported->dev_major = major(st.st_dev);
	reported->dev_minor = minor(st.st_dev);
}

/* On a busy machine, events of other processes may overflow the rings. */
#define TRIES 20

/* Repeats `try` until it returns true: false means that events were lost. */
static void try_until_nothing_is_lost(bool (*try)(void))
{
	int tries = 1;

	while (!try() && tries < TRIES)
		tries++;
	CHECK(tries < TRIES);
}

static bool try_fork_and_exec(void)
{
	struct watch *watch = open_watch();
	struct child child = child_cat("/bin/cat");
	struct reported reported = {.pid = child.pid};

	of_file(&reported, "/bin/cat");
	CHECK(is_readable(watch));
	watch_read(watch, tell, &reported);
	if (!reported.lost) {
		CHECK_INT(reported.forks, 1);
		CHECK_INT(reported.parent, getpid());
		CHECK_INT(reported.execs, 1);
		CHECK(reported.maps >= 1);
		CHECK_INT(reported.exits, 0);
		reported.forks = reported.execs = 0;
	}
	child_end(&child);
	watch_read(watch, tell, &reported);
	if (!reported.lost) {
		/* Events are delivered only once. */
		CHECK_INT(reported.forks + reported.execs, 0);
		CHECK_INT(reported.exits, 1);
	}
	watch_destroy(watch);
	return !reported.lost;
}

static void fork_and_exec(void)
{
	try_until_nothing_is_lost(try_fork_and_exec);
}

static void *do_nothing(void *arg)
{
	return arg;
}

static void map_ourselves(void *arg)
{
	int fd = open(arg, O_RDONLY | O_CLOEXEC);
	pthread_t thread;

	/* The end of a thread is not the end of the process. */
	if (pthread_create(&thread, NULL, do_nothing, NULL) || pthread_join(thread, NULL))
		_exit(1);

	/* Data mappings are not reported, code is. */
	if (fd < 0 || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0) == MAP_FAILED ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) == MAP_FAILED)
		_exit(1);
	close(fd);
}

static bool try_map_of_code(void)
{
	struct watch *watch = open_watch();
	char path[] = "/proc/self/exe";
	uint64_t before_ns = clock_now_ns();
	struct child child = child_fork(map_ourselves, path);
	struct reported reported = {.pid = child.pid};

	of_file(&reported, path);
	watch_read(watch, tell, &reported);
	if (!reported.lost) {
		CHECK_INT(reported.forks, 1);
		CHECK_INT(reported.execs, 0);
		CHECK_INT(reported.maps, 1);
		CHECK_INT(reported.exits, 0);
		CHECK(reported.first_ns > before_ns &&
		      reported.first_ns < reported.last_ns);
		CHECK(reported.last_ns < clock_now_ns());
		CHECK_INT(reported.map.end - reported.map.start, 4096);
		CHECK_INT(reported.map.file_offset, 0);
		CHECK_STR(reported.name, "test_unit_process_watch");
	}
	child_end(&child);
	watch_destroy(watch);
	return !reported.lost;
}

static void map_of_code(void)
{
	try_until_nothing_is_lost(try_map_of_code);
}

/* Many programs start and exit on one processor while the events are not read. With more
 * processors than this, each has less room. */
#define PROCESSORS_FEW 16

static bool try_many_programs(void)
{
	struct watch *watch = open_watch();
	struct reported reported = {.pid = -1};
	cpu_set_t was, one;
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	int cpu = sched_getcpu();

	REQUIRE(cpu >= 0 && !sched_getaffinity(0, sizeof(was), &was));
	CPU_ZERO(&one);
	CPU_SET((unsigned)cpu, &one);
	REQUIRE(!sched_setaffinity(0, sizeof(one), &one));
	for (int i = 0; i < (cpus > PROCESSORS_FEW ? 40 : 400); i++) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		REQUIRE(pid > 0 && waitpid(pid, NULL, 0) == pid);
	}
	REQUIRE(!sched_setaffinity(0, sizeof(was), &was));
	watch_read(watch, tell, &reported);
	watch_destroy(watch);
	return !reported.lost;
}

static void many_programs(void)
{
	try_until_nothing_is_lost(try_many_programs);
}

/* More events than a ring holds: the loss is reported, and later events are delivered. */
static void too_many(void)
{
	struct watch *watch = open_watch();
	struct reported reported = {.pid = -1};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	REQUIRE(fd >= 0);
	for (int i = 0; i < 16000; i++) {
		void *at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		REQUIRE(at != MAP_FAILED);
		munmap(at, 4096);
	}
	close(fd);
	watch_read(watch, tell, &reported);
	CHECK(reported.lost > 0);

	/* The record of the loss comes with the next event that fits. */
	reported.lost = 0;

	struct child child = child_cat("/bin/cat");

	reported.pid = child.pid;
	watch_read(watch, tell, &reported);
	CHECK_INT(reported.execs, 1);
	child_end(&child);
	for (int i = 0; i < 50 && !reported.lost; i++) {
		child = child_cat("/bin/cat");
		watch_read(watch, tell, &reported);
		child_end(&child);
	}
	CHECK(reported.lost > 0);
	watch_destroy(watch);
}

/* --- processes that change the processor ------------------------------------------ */

/* Each child forks the next one on another processor: no process forks twice. */
#define GENERATIONS 4000

struct line {
	int last; /* process whose fork was reported last */
	unsigned generations, lost;
	uint64_t last_ns;
	unsigned early; /* events with an earlier time than one before */
};

static bool hear_of_line(void *arg, const struct watch_event *event)
{
	struct line *line = arg;

	line->lost += event->kind == WATCH_LOST;
	if (event->kind == WATCH_LOST)
		return true;
	line->early += event->time_ns < line->last_ns;
	line->last_ns = event->time_ns;
	if (event->kind == WATCH_FORK && event->parent == line->last) {
		line->last = event->pid;
		line->generations++;
	}
	return true;
}

/* The next processor after `cpu` on which we may run. */
static int processor_after(const cpu_set_t *allowed, int cpu)
{
	do
		cpu = (cpu + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(cpu, allowed));
	return cpu;
}

static void have_generations(const cpu_set_t *allowed, int fd)
{
	int cpu = 0;

	for (int i = 0; i < GENERATIONS; i++) {
		pid_t pid = fork();
		cpu_set_t one;

		if (pid)
			_exit(pid < 0);
		cpu = processor_after(allowed, cpu);
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		(void)sched_setaffinity(0, sizeof(one), &one);
	}
	_exit(write(fd, "", 1) != 1);
}

/* Events must be in causal order, although each processor has a ring. False if events
 * were lost. */
static bool try_line(void)
{
	struct watch *watch = open_watch();
	cpu_set_t allowed;
	struct line line = {0};
	int ended[2];
	char byte;

	REQUIRE(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
	REQUIRE(pipe2(ended, O_CLOEXEC | O_NONBLOCK) == 0);
	line.last = getpid();

	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid)
		have_generations(&allowed, ended[1]);
	while (read(ended[0], &byte, 1) != 1) {
		watch_read(watch, hear_of_line, &line);
		usleep(200); /* lets each processor have several */
	}
	watch_read(watch, hear_of_line, &line);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	if (!line.lost) {
		CHECK_INT(line.generations, GENERATIONS + 1);
		CHECK_INT(line.early, 0);
	}
	close(ended[0]);
	close(ended[1]);
	watch_destroy(watch);
	return !line.lost;
}

static void in_order_across_processors(void)
{
	try_until_nothing_is_lost(try_line);
}

/* --- wakeups ---------------------------------------------------------------------- */

static void start_programs(uint64_t until_ns, unsigned pause_us)
{
	for (; clock_now_ns() < until_ns; usleep(pause_us)) {
		pid_t pid = fork();

		if (!pid) {
			execl("/bin/true", "true", (char *)NULL);
			_exit(127);
		}
		REQUIRE(pid > 0 && waitpid(pid, NULL, 0) == pid);
	}
}

/* How often the descriptor is readable in a second while another process starts programs
 * all the time. */
static unsigned count_wakeups(struct watch *watch, struct reported *reported)
{
	uint64_t until_ns = clock_now_ns() + UINT64_C(1000000000);
	unsigned wakeups = 0;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		start_programs(until_ns, 0);
		_exit(0);
	}
	for (uint64_t now_ns; (now_ns = clock_now_ns()) < until_ns;) {
		struct pollfd fd = {.fd = watch_fd(watch), .events = POLLIN};

		if (poll(&fd, 1, (int)((until_ns - now_ns) / 1000000) + 1) <= 0)
			continue;
		wakeups++;
		watch_read(watch, tell, reported);
	}
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	return wakeups;
}

/* 11 times on an idle machine, and 6,000 times if each report wakes the caller. Other
 * tests start programs, too. */
#define WAKEUPS_MAX 400

/* How often the caller below reads, and how long its rests grow, ns. */
#define READ_NS UINT64_C(500000000)
#define GROW_NS UINT64_C(3000000000)

/* Between two programs, so that no third of a ring fills before the caller reads, us. */
#define PAUSE_US 10000

/* Programs that are not followed wake the caller a few times a second, and a program that
 * is followed is still reported. */
static void unrelated_processes_wake_little(void)
{
	struct watch *watch = open_watch();
	struct reported reported = {.pid = -1};
	unsigned wakeups = count_wakeups(watch, &reported);
	struct child child;

	printf("  %u wakeups\n", wakeups);
	CHECK(wakeups < WAKEUPS_MAX);
	child = child_cat("/bin/cat");
	reported.pid = child.pid;
	for (int i = 0; i < 10 && !reported.execs && is_readable(watch); i++)
		watch_read(watch, tell, &reported);
	CHECK_INT(reported.execs, 1);
	child_end(&child);
	watch_destroy(watch);
}

/* A caller that reads by itself, more often than its rests are long, is not woken while
 * programs start, but for the first events. */
static void who_reads_often_is_not_woken(void)
{
	struct watch *watch = open_watch();
	struct reported reported = {.pid = -1};
	uint64_t start_ns = clock_now_ns(), end_ns = start_ns + UINT64_C(5000000000);
	uint64_t next_ns = start_ns + READ_NS;
	unsigned early = 0, late = 0;
	pid_t pid = fork();

	REQUIRE(pid >= 0);
	if (!pid) {
		start_programs(end_ns, PAUSE_US);
		_exit(0);
	}
	watch_rest_at_most(watch, 1000);
	for (uint64_t now_ns; (now_ns = clock_now_ns()) < end_ns;) {
		struct pollfd fd = {.fd = watch_fd(watch), .events = POLLIN};

		if (now_ns < next_ns &&
		    poll(&fd, 1, (int)((next_ns - now_ns) / 1000000) + 1) > 0)
			++*(now_ns < start_ns + GROW_NS ? &early : &late);
		else
			next_ns = clock_now_ns() + READ_NS;
		watch_read(watch, tell, &reported);
	}
	REQUIRE(waitpid(pid, NULL, 0) == pid);
	printf("  %u wakeups at first, %u later\n", early, late);
	CHECK(early > 0);
	CHECK_INT(late, 0);
	watch_destroy(watch);
}

int main(void)
{
	RUN(fork_and_exec);
	RUN(who_reads_often_is_not_woken);
	RUN(unrelated_processes_wake_little);
	RUN(map_of_code);
	RUN(in_order_across_processors);
	RUN(many_programs);
	RUN(too_many);
	return check_done();
}
