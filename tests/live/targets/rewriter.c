// SPDX-License-Identifier: Apache-2.0
/*
 * Maps, unmaps and rewrites code all the time, in three threads, and allocates 100 blocks
 * of 64 bytes for each line on stdin except "quit". The argument names a library with a
 * function malloc().
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096

static const char *library;
static void *volatile last;

/* Map the library as executable, and unmap it, forever. */
static void *map_files(void *arg)
{
	int fd = open(library, O_RDONLY);

	(void)arg;
	for (;;) {
		volatile char *p =
			mmap(NULL, 4 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);

		if (p == MAP_FAILED)
			_exit(95);
		(void)p[0];
		munmap((void *)(uintptr_t)p, 4 * PAGE);
	}
	return NULL;
}

/* Make a function, call it and unmap it, forever. */
static void *make_code(void *arg)
{
	/* mov $42, %eax; ret */
	static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};

	(void)arg;
	for (;;) {
		void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		int (*function)(void);

		if (p == MAP_FAILED)
			_exit(96);
		memcpy(p, code, sizeof(code));
		if (mprotect(p, PAGE, PROT_READ | PROT_EXEC))
			_exit(97);
		memcpy(&function, &p, sizeof(function));
		if (function() != 42)
			_exit(98);
		munmap(p, PAGE);
	}
	return NULL;
}

/* Write alternately NOPs and the original bytes to the library's malloc(), which no
 * thread calls. This also overwrites the breakpoint of a uprobe there. */
static void *rewrite_text(void *arg)
{
	unsigned char before[16], other[16], *code;
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	(void)arg;
	code = handle ? dlsym(handle, "malloc") : NULL;
	if (!code || mprotect((void *)((uintptr_t)code & ~(uintptr_t)(PAGE - 1)),
			      2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC))
		_exit(99);
	memcpy(before, code, sizeof(before));
	memset(other, 0x90, sizeof(other));
	for (;;) {
		memcpy(code, other, sizeof(other));
		memcpy(code, before, sizeof(before));
	}
	return NULL;
}

__attribute__((noinline)) static void site_rewriter(void)
{
	for (int i = 0; i < 100; i++)
		last = malloc(64);
}

static void say(const char *text)
{
	if (write(STDOUT_FILENO, text, strlen(text)) < 0)
		_exit(99);
}

int main(int argc, char *argv[])
{
	void *(*const threads[])(void *) = {map_files, make_code, rewrite_text};
	char command[64];
	ssize_t n;

	if (argc < 2)
		return 94;
	library = argv[1];
	for (size_t i = 0; i < sizeof(threads) / sizeof(*threads); i++) {
		pthread_t thread;

		if (pthread_create(&thread, NULL, threads[i], NULL))
			return 93;
	}
	say("{\"ready\":\"rewriter\"}\n");
	while ((n = read(STDIN_FILENO, command, sizeof(command))) > 0) {
		if (!strncmp(command, "quit", 4))
			break;
		site_rewriter();
		say("{\"done\":true}\n");
	}
	return 0;
}
