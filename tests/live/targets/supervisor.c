// SPDX-License-Identifier: Apache-2.0
/*
 * A supervisor: it starts programs (itself, with an argument), and starts them again when
 * they have died. It allocates itself, and so do its children before they execute
 * anything. Commands on stdin, one a line; each is answered by a line on stdout:
 *
 *   run N     N programs, one after the other; each allocates and ends
 *   nested N  the same through a program that starts the program
 *   keep      start a program that stays, and start another one each time it has died
 *   fork      a child that executes nothing, allocates and stays
 *   release   that child executes the program that stays
 *   leave     exit without ending any child
 */
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#define BLOCKS       100
#define BLOCK_BYTES  100
#define OTHER_BLOCKS 10
#define OTHER_BYTES  777

#define SITE(name)                                                                       \
	void *name(size_t bytes);                                                        \
	__attribute__((noinline)) void *name(size_t bytes)                               \
	{                                                                                \
		void *block = malloc(bytes);                                             \
                                                                                         \
		__asm__ volatile("" : "+r"(block) : : "memory");                         \
		return block;                                                            \
	}

SITE(site_supervisor)
SITE(site_unexecuted)
SITE(site_program)
SITE(site_forked)

static void allocate(void *(*site)(size_t bytes), int count, size_t bytes)
{
	for (int i = 0; i < count; i++)
		if (!site(bytes))
			_exit(1);
}

static pid_t kept, forked;
static volatile sig_atomic_t is_released;

static void release(int number)
{
	(void)number;
	is_released = 1;
}

/* --- the programs ------------------------------------------------------------------- */

static pid_t start(const char *how)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	allocate(site_unexecuted, OTHER_BLOCKS, OTHER_BYTES);
	execl("/proc/self/exe", "program", how, (char *)NULL);
	_exit(127);
}

/* No other code calls the allocator before the site does. */
static int run_program(const char *how)
{
	pid_t pid;

	if (!strcmp(how, "nested"))
		return waitpid(start("ends"), NULL, 0) < 0;
	allocate(site_program, BLOCKS, BLOCK_BYTES);
	pid = fork();
	if (!pid) {
		allocate(site_forked, OTHER_BLOCKS, OTHER_BYTES);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	while (!strcmp(how, "stays"))
		pause();
	return 0;
}

/* --- the supervisor ----------------------------------------------------------------- */

static void run_all(const char *how, int count)
{
	for (int i = 0; i < count; i++)
		waitpid(start(how), NULL, 0);
}

static void fork_only(void)
{

	signal(SIGUSR1, release);
	forked = fork();
	if (forked)
		return;
	allocate(site_unexecuted, OTHER_BLOCKS, OTHER_BYTES);
	while (!is_released)
		usleep(1000);
	execl("/proc/self/exe", "program", "stays", (char *)NULL);
	_exit(127);
}

static void say(const char *name, int value)
{
	dprintf(STDOUT_FILENO, "{\"%s\":%d}\n", name, value);
}

static void obey(const char *line)
{
	int count = 0;

	allocate(site_supervisor, OTHER_BLOCKS, OTHER_BYTES);
	if (sscanf(line, "run %d", &count) == 1)
		run_all("ends", count);
	else if (sscanf(line, "nested %d", &count) == 1)
		run_all("nested", count);
	else if (!strcmp(line, "keep\n"))
		kept = start("stays");
	else if (!strcmp(line, "fork\n"))
		fork_only();
	else if (!strcmp(line, "release\n"))
		kill(forked, SIGUSR1);
	else if (!strcmp(line, "leave\n"))
		_exit(0);
	say("pid", (int)(strcmp(line, "fork\n") ? kept : forked));
}

static void restart(void)
{
	if (kept && waitpid(kept, NULL, WNOHANG) == kept)
		kept = start("stays");
}

int main(int argc, char *argv[])
{
	struct pollfd in = {.fd = STDIN_FILENO, .events = POLLIN};
	char line[64];

	if (argc == 2)
		return run_program(argv[1]);
	allocate(site_supervisor, OTHER_BLOCKS, OTHER_BYTES);
	/* poll() must know of every line. */
	setvbuf(stdin, NULL, _IONBF, 0);
	say("ready", 1);
	for (;;) {
		restart();
		if (poll(&in, 1, 1) <= 0)
			continue;
		if (!fgets(line, sizeof(line), stdin))
			return 0;
		obey(line);
	}
}
