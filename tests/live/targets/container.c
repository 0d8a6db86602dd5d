// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a program in a mount namespace and a pid namespace of its own. The arguments are
 * steps, done in order in there:
 *
 *     tmpfs DIRECTORY      mount an empty file system
 *     copy FROM TO         copy a file, and make the directories that it needs
 *     env NAME=VALUE       set a variable
 *     pivot DIRECTORY      make it, a mount, the root of the namespace (as containers do)
 *     chroot DIRECTORY     make it the root directory of the program only
 *     exec PROGRAM ARG...  the last step
 *
 * "pid N" on stderr is the program's number outside. It dies with this one, whose exit
 * status is its own.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void check(int failed, const char *what)
{
	if (!failed)
		return;
	dprintf(STDERR_FILENO, "container: %s: %s\n", what, strerror(errno));
	_exit(90);
}

static void copy(const char *from, char *to)
{
	char buffer[65536];
	ssize_t n;

	for (char *at = strchr(to + 1, '/'); at; at = strchr(at + 1, '/')) {
		*at = '\0';
		mkdir(to, 0755);
		*at = '/';
	}

	int in = open(from, O_RDONLY), out = open(to, O_WRONLY | O_CREAT | O_TRUNC, 0755);

	check(in < 0, from);
	check(out < 0, to);
	while ((n = read(in, buffer, sizeof(buffer))) > 0)
		check(write(out, buffer, (size_t)n) != n, to);
	close(in);
	close(out);
}

static void run(char *argv[])
{
	/* The parent may end before this, and is then no longer waited for. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	for (;; argv += 2) {
		if (!strcmp(argv[0], "tmpfs")) {
			check(mount("tmpfs", argv[1], "tmpfs", 0, NULL), argv[1]);
		} else if (!strcmp(argv[0], "copy")) {
			copy(argv[1], argv[2]);
			argv++;
		} else if (!strcmp(argv[0], "env")) {
			check(putenv(argv[1]), argv[1]);
		} else if (!strcmp(argv[0], "pivot")) {
			/* The old root comes to lie over the new one, and goes. */
			check(chdir(argv[1]) || syscall(SYS_pivot_root, ".", ".") ||
				      umount2(".", MNT_DETACH) || chdir("/"),
			      argv[1]);
		} else if (!strcmp(argv[0], "chroot")) {
			check(chroot(argv[1]) || chdir("/"), argv[1]);
		} else {
			execv(argv[1], argv + 1);
			check(1, argv[1]);
		}
	}
}

int main(int argc, char *argv[])
{
	int status;

	check(argc < 3, "no steps");
	check(unshare(CLONE_NEWNS | CLONE_NEWPID), "unshare");
	/* What is mounted in here is not seen outside. */
	check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");

	pid_t pid = fork();

	check(pid < 0, "fork");
	if (!pid)
		run(argv + 1);
	dprintf(STDERR_FILENO, "pid %d\n", (int)pid);
	check(waitpid(pid, &status, 0) != pid, "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
