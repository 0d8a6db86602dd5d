// SPDX-License-Identifier: Apache-2.0
#include "bpf/late_close.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/mm_locks.h"

/* Close all descriptors except these and `kept`. */
static void close_others(const int fds[], size_t count, int kept)
{
	unsigned from = 0;

	for (;;) {
		unsigned next = (unsigned)kept >= from ? (unsigned)kept : ~0u;

		for (size_t i = 0; i < count; i++)
			if ((unsigned)fds[i] >= from && (unsigned)fds[i] < next)
				next = (unsigned)fds[i];
		if (next > from)
			syscall(SYS_close_range, from, next == ~0u ? next : next - 1, 0);
		if (next == ~0u)
			return;
		from = next + 1;
	}
}

/* Keep the descriptors open until the other end of the pipe `ours` is closed, and no
 * process holds its lock. */
_Noreturn static void hold(const int fds[], size_t count, int ours)
{
	char c;

	setsid();
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	prctl(PR_SET_NAME, "memtrace-detach");
	/* Close everything else: no reader must wait for the end of our output, and other
	 * probes must not depend on this process. */
	close_others(fds, count, ours);
	while (read(ours, &c, 1) < 0 && errno == EINTR)
		;
	mm_locks_wait();
	_exit(0);
}

/* The last close blocks in the kernel. A grandchild makes it by exiting: a signal does
 * not interrupt that (bpf/shield.h), and memtrace can exit at once. */
bool late_close(const int fds[], size_t count)
{
	int ours[2], status = 1;
	pid_t child;

	if (pipe2(ours, O_CLOEXEC))
		return false;
	child = fork();
	if (child == 0) {
		pid_t grandchild;

		close(ours[1]);
		grandchild = fork();
		if (grandchild == 0)
			hold(fds, count, ours[0]);
		_exit(grandchild < 0);
	}
	if (child > 0)
		waitpid(child, &status, 0);
	if (status == 0)
		for (size_t i = 0; i < count; i++)
			close(fds[i]);
	close(ours[0]);
	close(ours[1]);
	return status == 0;
}
