// SPDX-License-Identifier: Apache-2.0
/*
 * Creates processes by commands on stdin, one on each line, and reports when each is
 * done. Each block that it allocates belongs to a command below; it allocates nothing
 * else.
 *
 *    keep N SIZE      allocate N blocks and keep them
 *    drop N           free the last N of them
 *    children N       fork N children, one after another: each allocates 5 blocks of
 *                     40 bytes and frees 2
 *    tidy N           like children, but each child frees all 5
 *    loading PATH N   like children, but each child loads the library first
 *    inherit N        fork a child that frees N of the kept blocks and allocates 3 of
 *                     32 bytes
 *    nest             fork a child with 2 blocks of 24 bytes, which forks a child with
 *                     3 of 24; both stay until "reap"
 *    orphan           fork a child whose child allocates 4 blocks of 56 bytes once its
 *                     parent is dead
 *    map N, unmap N   map 64 KiB N times; unmap the last N of these mappings
 *    reap             end the processes that stay, and reap them
 *    threads N        start N threads: each allocates and frees 100 blocks of 72 bytes
 *                     and forks a child that allocates 1 block of 88
 *    borrow N M       a child of vfork(2) frees the last N kept blocks and keeps M of
 *                     48 bytes
 *    spawn, vfork     run our arguments as a command, and reap it
 *    exec, texec      execute our arguments: on the main thread, on another thread
 *    load PATH N SIZE load the library and allocate N blocks with its malloc
 *    unload           unload it
 *
 * Arguments "once PATH N SIZE MS": load, wait MS milliseconds, exit. First argument
 * "fixed": without address space randomization. Prints its pid.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define MAX_KEPT 100000

extern char **environ;

static void *kept[MAX_KEPT];
static size_t kept_count;
static char **command;
static pid_t nested;
static int hold[2]; /* children stay until this pipe is closed */
static void *library;

static void fail(const char *what)
{
	dprintf(STDERR_FILENO, "family: %s\n", what);
	_exit(99);
}

/* Not inlined and not cloned: a clone would have another name. */
#if defined(__has_attribute) && __has_attribute(noipa)
#define ALONE __attribute__((noipa))
#else
#define ALONE __attribute__((noinline))
#endif

#define SITE(name)                                                                       \
	ALONE static void *name(size_t size)                                             \
	{                                                                                \
		void *block = malloc(size);                                              \
                                                                                         \
		if (!block)                                                              \
			fail(#name);                                                     \
		__asm__ volatile("" : "+r"(block) : : "memory");                         \
		return block;                                                            \
	}

SITE(site_keep)
SITE(site_child)
SITE(site_inherit)
SITE(site_nested)
SITE(site_nested_deeper)
SITE(site_orphan)
SITE(site_thread)
SITE(site_thread_child)

ALONE static void site_loaded(void *(*loaded)(size_t), size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++)
		if (!loaded(size))
			fail("the loaded malloc");
}

static pid_t fork_one(void)
{
	pid_t pid = fork();

	if (pid < 0)
		fail("fork");
	if (!pid)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

static void await(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid || status)
		fail("a child");
}

/* Library that each child loads; NULL: none. */
static const char *loaded_by_children;

static void children(size_t count, int freed)
{
	for (size_t i = 0; i < count; i++) {
		pid_t pid = fork_one();

		if (!pid) {
			void *blocks[5];

			if (loaded_by_children && !dlopen(loaded_by_children, RTLD_NOW))
				fail("dlopen in a child");
			for (int j = 0; j < 5; j++)
				blocks[j] = site_child(40);
			for (int j = 0; j < freed; j++)
				free(blocks[j]);
			_exit(0);
		}
		await(pid);
	}
}

static void inherit(size_t count)
{
	pid_t pid = fork_one();

	if (!pid) {
		for (size_t i = 0; i < count; i++)
			free(kept[--kept_count]);
		for (int i = 0; i < 3; i++)
			site_inherit(32);
		_exit(0);
	}
	await(pid);
}

/* Waits until the parent closes its end of `hold`. */
static void stay(void)
{
	char c;

	close(hold[1]);
	if (read(hold[0], &c, 1))
		_exit(98);
	_exit(0);
}

static void open_hold(int ready[2])
{
	if (pipe(hold) || pipe(ready))
		fail("pipe");
}

static void await_ready(int ready[2])
{
	char c;

	close(ready[1]);
	if (read(ready[0], &c, 1) != 1)
		fail("a descendant");
	close(ready[0]);
}

static void nest(void)
{
	int ready[2];

	open_hold(ready);
	nested = fork_one();
	if (!nested) {
		pid_t deeper;

		site_nested(24);
		site_nested(24);
		deeper = fork_one();
		if (!deeper) {
			for (int i = 0; i < 3; i++)
				site_nested_deeper(24);
			if (write(ready[1], "", 1) != 1)
				_exit(1);
			stay();
		}
		close(hold[1]);
		await(deeper);
		_exit(0);
	}
	await_ready(ready);
}

static void orphan(void)
{
	int ready[2];
	pid_t pid;

	open_hold(ready);
	pid = fork_one();
	if (!pid) {
		pid_t self = getpid();

		if (!fork()) {
			while (getppid() == self)
				usleep(1000);
			prctl(PR_SET_PDEATHSIG, 0);
			for (int i = 0; i < 4; i++)
				site_orphan(56);
			if (write(ready[1], "", 1) != 1)
				_exit(1);
			stay();
		}
		_exit(0);
	}
	await(pid);
	await_ready(ready);
}

static void reap(void)
{
	close(hold[1]);
	close(hold[0]);
	if (nested)
		await(nested);
	nested = 0;
}

/* None of our sites allocates what pthread_create() itself allocates. */
static void *thread(void *arg)
{
	pid_t pid;

	for (int i = 0; i < 100; i++)
		free(site_thread(72));
	pid = fork_one();
	if (!pid) {
		site_thread_child(88);
		_exit(0);
	}
	await(pid);
	return arg;
}

static void threads(size_t count)
{
	for (size_t i = 0; i < count; i += 2) {
		pthread_t ids[2];

		for (int j = 0; j < 2; j++)
			if (pthread_create(&ids[j], NULL, thread, NULL))
				fail("pthread_create");
		for (int j = 0; j < 2; j++)
			pthread_join(ids[j], NULL);
	}
}

static void *become(void *arg)
{
	execv(command[0], command);
	fail("execv");
	return arg;
}

static void run(const char *how)
{
	pthread_t id;
	pid_t pid;

	if (!command[0])
		fail("no command");
	if (!strcmp(how, "exec")) {
		become(NULL);
	} else if (!strcmp(how, "texec")) {
		if (pthread_create(&id, NULL, become, NULL))
			fail("pthread_create");
		pause();
	} else if (!strcmp(how, "spawn")) {
		if (posix_spawn(&pid, command[0], NULL, NULL, command, environ))
			fail("posix_spawn");
		await(pid);
	} else {
		pid = vfork();
		if (pid < 0)
			fail("vfork");
		if (!pid) {
			execv(command[0], command);
			_exit(127);
		}
		await(pid);
	}
}

static void load(const char *path, size_t count, size_t size)
{
	void *loaded = NULL;

	if (!library)
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		loaded = dlsym(library, "malloc");
	if (!loaded)
		fail("dlopen");

	void *(*function)(size_t) = NULL;

	memcpy(&function, &loaded, sizeof(function));
	site_loaded(function, count, size);
}

static void keep(size_t count, size_t size)
{
	while (count-- && kept_count < MAX_KEPT)
		kept[kept_count++] = site_keep(size);
}

static void drop(size_t count)
{
	while (count-- && kept_count)
		free(kept[--kept_count]);
}

/* The child of vfork(2) runs in our memory. */
static void borrow(size_t drops, size_t keeps)
{
	pid_t pid = vfork();

	if (pid < 0)
		fail("vfork");
	if (!pid) {
		drop(drops);
		keep(keeps, 48);
		_exit(0);
	}
	await(pid);
}

static void *mapped[100];
static size_t mapped_count;

ALONE static void *site_map(size_t size)
{
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			-1, 0);

	if (at == MAP_FAILED)
		fail("mmap");
	return at;
}

static void map(size_t count)
{
	while (count-- && mapped_count < 100)
		mapped[mapped_count++] = site_map(65536);
}

static void unmap(size_t count)
{
	while (count-- && mapped_count)
		munmap(mapped[--mapped_count], 65536);
}

static void obey(char *line)
{
	char word[32] = "", path[256] = "";
	size_t n = 0, size = 0;

	if (sscanf(line, "load %255s %zu %zu", path, &n, &size) == 3) {
		load(path, n, size);
		return;
	}
	if (sscanf(line, "loading %255s %zu", path, &n) == 2) {
		loaded_by_children = path;
		children(n, 2);
		loaded_by_children = NULL;
		return;
	}
	sscanf(line, "%31s %zu %zu", word, &n, &size);
	if (!strcmp(word, "keep"))
		keep(n, size);
	else if (!strcmp(word, "drop"))
		drop(n);
	else if (!strcmp(word, "children"))
		children(n, 2);
	else if (!strcmp(word, "tidy"))
		children(n, 5);
	else if (!strcmp(word, "inherit"))
		inherit(n);
	else if (!strcmp(word, "nest"))
		nest();
	else if (!strcmp(word, "orphan"))
		orphan();
	else if (!strcmp(word, "reap"))
		reap();
	else if (!strcmp(word, "threads"))
		threads(n);
	else if (!strcmp(word, "map"))
		map(n);
	else if (!strcmp(word, "unmap"))
		unmap(n);
	else if (!strcmp(word, "borrow"))
		borrow(n, size);
	else if (!strcmp(word, "unload"))
		library = dlclose(library) ? library : NULL;
	else
		run(word);
}

static size_t read_line(char *line, size_t size)
{
	size_t n = 0;

	while (n + 1 < size && read(STDIN_FILENO, line + n, 1) == 1) {
		if (line[n] == '\n') {
			line[n] = '\0';
			return n + 1;
		}
		n++;
	}
	return 0;
}

static void tell(const char *format)
{
	char text[64];
	int n = snprintf(text, sizeof(text), format, (int)getpid());

	if (write(STDOUT_FILENO, text, (size_t)n) != n)
		_exit(97);
}

int main(int argc, char *argv[])
{
	char line[512];

	command = argv + 1;
	if (argc > 1 && !strcmp(argv[1], "fixed")) {
		int now = personality(0xffffffff);

		if (!(now & ADDR_NO_RANDOMIZE)) {
			personality((unsigned long)now | ADDR_NO_RANDOMIZE);
			execv("/proc/self/exe", argv);
			fail("execv");
		}
		command++;
	}
	if (argc > 5 && !strcmp(argv[1], "once")) {
		load(argv[2], (size_t)atoi(argv[3]), (size_t)atoi(argv[4]));
		tell("{\"ready\":%d}\n");
		usleep((useconds_t)atoi(argv[5]) * 1000);
		return 0;
	}
	tell("{\"ready\":%d}\n");
	while (read_line(line, sizeof(line))) {
		obey(line);
		tell("{\"done\":%d}\n");
	}
	return 0;
}
