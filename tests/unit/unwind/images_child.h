/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For unit.unwind.images: a child that loads and unloads libraries when it is asked, and
 * the images of its mappings.
 */
#ifndef TESTS_UNIT_UNWIND_IMAGES_CHILD_H
#define TESTS_UNIT_UNWIND_IMAGES_CHILD_H

#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind/images.h"

struct child {
	pid_t pid;
	int to, from;
	struct proc *proc;
	struct image_store *store;
	struct images *images;
};

/* The linker puts the code of a small library at this offset. */
#define TEXT_OFFSET 0x1000

/* A deleted file: a page of zeros or the library. -1 on failure. */
static inline int deleted_file(bool is_library)
{
	char name[] = "/tmp/memtrace-images-XXXXXX";
	int fd = mkstemp(name), from;

	if (fd < 0 || unlink(name) || ftruncate(fd, 4096))
		return -1;
	if (is_library) {
		from = open(TEST_LIBRARY, O_RDONLY | O_CLOEXEC);
		while (sendfile(fd, from, NULL, 1 << 20) > 0)
			;
		close(from);
	}
	return fd;
}

extern const char __executable_start, etext; /* defined by the linker */

/* The child executes this for each command, and answers with an address. */
static inline uint64_t obey(char command)
{
	static void *library, *code;
	int fd;

	switch (command) {
	case 'o':
		library = dlopen(TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
		return library ? (uint64_t)(uintptr_t)dlsym(library, "library_function")
			       : 0;
	case 'c':
		return dlclose(library) == 0;
	case 'a': /* anonymous code */
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return (uint64_t)(uintptr_t)code;
	case 'd': /* code of a deleted file that is not ELF */
	case 'e': /* code of a deleted copy of the library */
		fd = deleted_file(command == 'e');
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    command == 'e' ? (off_t)TEXT_OFFSET : 0);
		close(fd);
		return code == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)code;
	case 'u':
		return munmap(code, 4096) == 0;
	case 't': /* our text: touch it, so that all of it is in memory */
		for (const volatile char *at = &__executable_start; at < &etext;
		     at += 4096)
			(void)*at;
		return 1;
	}
	return 0;
}

static inline struct child start(void)
{
	int to[2], from[2];
	struct child c = {0};

	REQUIRE(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	fflush(stdout);
	c.pid = fork();
	REQUIRE(c.pid >= 0);
	if (!c.pid) {
		char command;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(to[0], &command, 1) == 1) {
			uint64_t answer = obey(command);

			if (write(from[1], &answer, sizeof(answer)) != sizeof(answer))
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	c.to = to[1];
	c.from = from[0];
	REQUIRE(!proc_open(c.pid, &c.proc));
	REQUIRE(!image_store_create(NULL, NULL, &c.store));
	REQUIRE(!images_create(c.store, &c.images));
	return c;
}

static inline uint64_t command(struct child *c, char letter)
{
	uint64_t answer;

	REQUIRE(write(c->to, &letter, 1) == 1);
	REQUIRE(read(c->from, &answer, sizeof(answer)) == sizeof(answer));
	REQUIRE(answer);
	return answer;
}

static inline void kill_child(struct child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	c->pid = 0;
}

static inline void stop(struct child *c)
{
	images_destroy(c->images);
	image_store_destroy(c->store);
	proc_close(c->proc);
	kill_child(c);
	close(c->to);
	close(c->from);
}

/* Changes that one reading of the mappings finds. */
struct news {
	unsigned added, replaced;
	uint64_t tag;
};

static inline struct news read_maps(struct child *c, uint64_t since_ns, uint64_t tag)
{
	struct news news = {0};
	struct proc_maps maps = {0};

	REQUIRE(!proc_read_maps(c->proc, &maps));
	vec_foreach (m, &maps.mappings) {
		struct images_change change;

		/* The kernel adds "[uprobes]" when the child hits the first breakpoint of
		 * another tracer, perhaps in the dynamic linker. */
		if (!m->executable || (m->path && !strcmp(m->path, "[uprobes]")))
			continue;
		REQUIRE(!images_add(c->images, c->pid, m, images_since(since_ns), tag,
				    &change));
		news.added += change.is_new;
		news.replaced += change.is_replaced;
		news.tag = change.tag > news.tag ? change.tag : news.tag;
	}
	proc_maps_deinit(&maps);
	return news;
}

#endif
