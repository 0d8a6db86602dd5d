// SPDX-License-Identifier: Apache-2.0
/*
 * A program whose main thread exits while other threads go on. Another thread executes
 * commands on stdin, one on each line, and reports when each is done:
 *
 *    leave                the main thread exits; done when it is a zombie
 *    depart               the main thread exits; done at once
 *    keep N SIZE          allocate N blocks and keep them
 *    drop N               free the last N of them
 *    load PATH            load a library
 *    call N               call its library_outer() N times
 *    allocate N SIZE      allocate N blocks with its malloc()
 *    again N SIZE         like allocate, from another call site
 *    unload               unload it
 *    become PATH          execute another program
 *    relay [MS]           from now on a thread starts the next one and ends after
 *                         MS milliseconds (500) at most
 *    settle               end the relay
 *    end                  exit all threads
 *
 * With the argument "left" the main thread exits before the program says that it is
 * ready, with "hurry" some milliseconds after that.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_KEPT   100000
#define RELAY_MS   500
#define HURRY_US   20000
#define STACK_SIZE 262144

static void *kept[MAX_KEPT];
static size_t kept_count;
#ifndef WITHOUT_LIBRARIES
static void *library;
#endif
static int relay_ms; /* longest life of a thread, ms; 0: no relay */
static pthread_attr_t detached;
static int leave_pipe[2];

/* Not inlined and not cloned: a clone would have another name. */
#if defined(__has_attribute) && __has_attribute(noipa)
#define ALONE __attribute__((noipa))
#else
#define ALONE __attribute__((noinline))
#endif

static void fail(const char *what)
{
	dprintf(STDERR_FILENO, "headless: %s\n", what);
	_exit(99);
}

ALONE static void *site_keep(size_t size)
{
	void *block = malloc(size);

	if (!block)
		fail("malloc");
	__asm__ volatile("" : "+r"(block) : : "memory");
	return block;
}

ALONE static void keep(size_t count, size_t size)
{
	while (count-- && kept_count < MAX_KEPT)
		kept[kept_count++] = site_keep(size);
}

static void drop(size_t count)
{
	while (count-- && kept_count)
		free(kept[--kept_count]);
}

#ifdef WITHOUT_LIBRARIES
static void load(const char *path)
{
	fail(path);
}

static void find(const char *name, void *function, size_t size)
{
	(void)function, (void)size;
	fail(name);
}

static void unload(void)
{
}
#else
static void load(const char *path)
{
	library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		fail(dlerror());
}

static void find(const char *name, void *function, size_t size)
{
	void *found = library ? dlsym(library, name) : NULL;

	if (!found)
		fail(name);
	memcpy(function, &found, size);
}

static void unload(void)
{
	dlclose(library);
}
#endif

ALONE static void site_call(size_t count)
{
	void (*outer)(void);

	find("library_outer", &outer, sizeof(outer));
	while (count--)
		outer();
}

ALONE static void allocate(size_t count, size_t size)
{
	void *(*function)(size_t);

	find("malloc", &function, sizeof(function));
	while (count--)
		if (!function(size))
			fail("the library's malloc");
}

ALONE static void site_allocate(size_t count, size_t size)
{
	allocate(count, size);
	__asm__ volatile("" : : : "memory");
}

ALONE static void site_again(size_t count, size_t size)
{
	allocate(count, size);
	__asm__ volatile("" : : : "memory");
}

static bool first_has_ended(void)
{
	char text[512];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);

	if (fd >= 0)
		close(fd);
	if (n <= 0)
		fail("stat");
	text[n] = '\0';
	return !strncmp(strrchr(text, ')'), ") Z", 3);
}

static void leave(void)
{
	close(leave_pipe[1]);
	while (!first_has_ended())
		usleep(1000);
}

ALONE static void obey(const char *line)
{
	char word[32] = "", path[512] = "";
	size_t n = 0, size = 0;

	sscanf(line, "%31s %zu %zu", word, &n, &size);
	sscanf(line, "%*s %511s", path);
	if (!strcmp(word, "leave"))
		leave();
	else if (!strcmp(word, "depart"))
		close(leave_pipe[1]);
	else if (!strcmp(word, "keep"))
		keep(n, size);
	else if (!strcmp(word, "drop"))
		drop(n);
	else if (!strcmp(word, "load"))
		load(path);
	else if (!strcmp(word, "call"))
		site_call(n);
	else if (!strcmp(word, "allocate"))
		site_allocate(n, size);
	else if (!strcmp(word, "again"))
		site_again(n, size);
	else if (!strcmp(word, "unload"))
		unload();
	else if (!strcmp(word, "become"))
		execl(path, path, (char *)NULL), fail("execl");
	else if (!strcmp(word, "relay"))
		relay_ms = n ? (int)n : RELAY_MS;
	else if (!strcmp(word, "settle"))
		relay_ms = 0;
	else if (!strcmp(word, "end"))
		_exit(0);
	else
		fail(line);
}

static void tell(const char *what)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "{\"%s\":%d}\n", what, (int)getpid());

	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		_exit(97);
}

/* False if no line came within `relay_ms`. */
static bool read_line(char *line, size_t size)
{
	struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
	size_t n = 0;

	if (!poll(&input, 1, relay_ms ? relay_ms : -1))
		return false;
	while (n + 1 < size && read(STDIN_FILENO, line + n, 1) == 1) {
		if (line[n] == '\n') {
			line[n] = '\0';
			return true;
		}
		n++;
	}
	_exit(0);
}

ALONE static void *work(void *arg)
{
	pthread_t next;
	char line[600];

	do {
		if (!read_line(line, sizeof(line)))
			continue;
		obey(line);
		tell("done");
	} while (!relay_ms);
	if (pthread_create(&next, &detached, work, arg))
		fail("pthread_create");
	return NULL;
}

int main(int argc, char *argv[])
{
	const char *how = argc > 1 ? argv[1] : "";
	pthread_t first;
	char c;

	if (pipe(leave_pipe) || pthread_attr_init(&detached) ||
	    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED) ||
	    pthread_attr_setstacksize(&detached, STACK_SIZE))
		fail("the beginning");
	if (!strcmp(how, "left")) {
		/* The main thread may not exit before another thread exists. */
		if (pthread_create(&first, &detached, work, NULL))
			fail("pthread_create");
		tell("ready");
		pthread_exit(NULL);
	}
	tell("ready");
	if (pthread_create(&first, &detached, work, NULL))
		fail("pthread_create");
	if (!strcmp(how, "hurry"))
		usleep(HURRY_US);
	else if (read(leave_pipe[0], &c, 1))
		fail("leave");
	pthread_exit(NULL);
}
