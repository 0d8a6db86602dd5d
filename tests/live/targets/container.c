// SPDX-License-Identifier: Apache-2.0
/*
 * Runs a program in a new mount namespace and a new pid namespace. The arguments are
 * steps, executed in order in the namespaces:
 *
 *    tmpfs DIRECTORY      mount an empty file system
 *    copy FROM TO         copy a file, and make its parent directories
 *    env NAME=VALUE       set an environment variable
 *    pivot DIRECTORY      pivot_root(2) to this mount, as container runtimes do
 *    chroot DIRECTORY     make it the root directory of the program only
 *    exec PROGRAM ARG...  the last step
 *
 * Prints "pid N" on stderr: the program's pid in the outer namespace. If this process
 * dies, so does the program. The exit status is the program's.
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
	/* Dies with the parent, which may already have been killed. */
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
			/* pivot_root(2) puts the old root on top of the new one. Unmount
			 * it. */
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
	/* Mounts in this namespace are not seen outside. */
	check(mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL), "private mounts");

	pid_t pid = fork();

	check(pid < 0, "fork");
	if (!pid)
		run(argv + 1);
	dprintf(STDERR_FILENO, "pid %d\n", (int)pid);
	check(waitpid(pid, &status, 0) != pid, "wait");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
