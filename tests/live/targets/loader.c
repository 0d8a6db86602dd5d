// SPDX-License-Identifier: Apache-2.0
/*
 * Loads libraries that have their own malloc(), and calls each malloc() once, for 32
 * bytes. Commands on stdin, one on each line:
 *
 *    hold PATH N   load N copies of the library, each a separate file, unlinked at once
 *    keep PATH 1   load the library itself and keep it
 *    again PATH N  call malloc() of the library that was loaded last N more times
 *    fresh PATH N  load N copies, and unload each before the next one
 *    cycle PATH N  load and unload the library itself N times
 *    drop - 1      unload the library that was loaded last
 *    turn PATH N   load N copies, and keep only the last 8 loaded
 *    fork - N      fork N children, which have the same libraries and wait
 *    sites - 1     call the C library's malloc() once from each of 128 call sites
 *    map - N       make 2 N anonymous mappings
 *    stick PATH 1  open and read the file in one thread, and open and map it in another
 *    call - 1      each child calls malloc() once: of the library that was loaded last,
 *                  or of the C library
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOADED_AT_A_TIME 8

static void *volatile last;
static void *(*last_malloc)(size_t);
static void *last_library;

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(99);
}

static void fail(const char *what)
{
	perror(what);
	_exit(98);
}

__attribute__((noinline)) static void site_in_library(void *(*function)(size_t))
{
	last = function(32);
}

static void *load(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void *found = library ? dlsym(library, "malloc") : NULL;
	void *(*function)(size_t);

	if (!found)
		fail("dlopen");
	memcpy(&function, &found, sizeof(function));
	last_malloc = function;
	last_library = library;
	site_in_library(function);
	return library;
}

static void *load_copy(const char *path)
{
	static int copies;
	char copy[4300];
	int from = open(path, O_RDONLY), to;
	struct stat status;

	/* A new name each time: the dynamic linker identifies loaded files by name. */
	snprintf(copy, sizeof(copy), "%s.%d.%d", path, (int)getpid(), copies++);
	to = open(copy, O_WRONLY | O_CREAT | O_TRUNC, 0755);
	if (from < 0 || to < 0 || fstat(from, &status) ||
	    sendfile(to, from, NULL, (size_t)status.st_size) != status.st_size)
		fail("copy");
	close(from);
	close(to);

	void *library = load(copy);

	unlink(copy);
	return library;
}

static void turn(const char *path, int count)
{
	void *loaded[LOADED_AT_A_TIME] = {NULL};

	for (int i = 0; i < count + LOADED_AT_A_TIME; i++) {
		void **at = &loaded[i % LOADED_AT_A_TIME];

		if (*at)
			dlclose(*at);
		*at = i < count ? load_copy(path) : NULL;
	}
}

/* The children wait until the parent closes `start`. They report their call by `done`. */
static int start[2], done[2], child_count;

static void fork_children(int count)
{
	char c;

	if (pipe(start) || pipe(done))
		fail("pipe");
	if (!last_malloc)
		last_malloc = malloc;
	for (child_count = 0; child_count < count; child_count++) {
		pid_t pid = fork();

		if (pid < 0)
			fail("fork");
		if (pid)
			continue;
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(start[1]);
		if (read(start[0], &c, 1) != 0)
			_exit(97);
		site_in_library(last_malloc);
		if (write(done[1], "", 1) != 1)
			_exit(96);
		for (;;)
			pause();
	}
}

static void let_children_call(void)
{
	char c;

	close(start[1]);
	for (int i = 0; i < child_count; i++)
		if (read(done[0], &c, 1) != 1)
			fail("read");
}

#define CALL_4                                                                           \
	last = malloc(32);                                                               \
	last = malloc(32);                                                               \
	last = malloc(32);                                                               \
	last = malloc(32);
#define CALL_16 CALL_4 CALL_4 CALL_4 CALL_4
#define CALL_64 CALL_16 CALL_16 CALL_16 CALL_16

__attribute__((noinline)) static void call_from_many_sites(void)
{
	CALL_64
	CALL_64
}

/* Neighbouring mappings with different protections do not merge. */
static void map(int count)
{
	for (int i = 0; i < count; i++) {
		char *at =
			mmap(NULL, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (at == MAP_FAILED || mprotect(at, 4096, PROT_READ | PROT_WRITE))
			fail("mmap");
	}
}

static void *read_first(void *path)
{
	char c;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || pread(fd, &c, 1, 0) < 0)
		return NULL;
	return path;
}

/* Replace a mapping: its place is locked meanwhile. */
static void *map_next(void *path)
{
	char *place = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = open(path, O_RDONLY);

	if (fd < 0 || place == MAP_FAILED)
		return NULL;
	return mmap(place, 4096, PROT_READ, MAP_PRIVATE | MAP_FIXED, fd, 0);
}

/* The server of the file answers no read (tests/live/served_file.h). */
static void stick(const char *path)
{
	static char copy[4200];
	pthread_t reader, mapper;

	snprintf(copy, sizeof(copy), "%s", path);
	if (pthread_create(&reader, NULL, read_first, copy))
		fail("pthread_create");
	usleep(300000);
	if (pthread_create(&mapper, NULL, map_next, copy))
		fail("pthread_create");
	usleep(300000);
}

static void obey(const char *word, const char *path, int count)
{
	bool is_itself = !strcmp(word, "cycle") || !strcmp(word, "keep");

	if (!strcmp(word, "turn"))
		turn(path, count);
	if (!strcmp(word, "fork"))
		fork_children(count);
	if (!strcmp(word, "map"))
		map(count);
	if (!strcmp(word, "stick"))
		stick(path);
	if (!strcmp(word, "sites"))
		call_from_many_sites();
	if (!strcmp(word, "call"))
		let_children_call();
	if (!strcmp(word, "drop"))
		dlclose(last_library);
	if (!strcmp(word, "drop") || !strcmp(word, "turn") || !strcmp(word, "fork") ||
	    !strcmp(word, "map") || !strcmp(word, "stick") || !strcmp(word, "sites") ||
	    !strcmp(word, "call"))
		return;

	for (int i = 0; i < count; i++) {
		void *library;

		if (!strcmp(word, "again")) {
			site_in_library(last_malloc);
			continue;
		}
		library = is_itself ? load(path) : load_copy(path);
		if (strcmp(word, "hold") && strcmp(word, "keep"))
			dlclose(library);
	}
}

int main(void)
{
	char line[4352], word[16], path[4200];
	int count;

	setvbuf(stdin, NULL, _IONBF, 0);
	say("{\"ready\":\"loader\"}\n");
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "%15s %4199s %d", word, path, &count) != 3)
			fail(line);
		obey(word, path, count);
		say("{\"done\":true}\n");
	}
	return 0;
}
