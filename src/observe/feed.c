// SPDX-License-Identifier: Apache-2.0
#include "observe/feed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "snapshot/file.h"
#include "snapshot/sums.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/fd_message.h"

bool feed_is_asked(int socket, bool *gone, bool *wants_blocks)
{
	char questions[64];
	bool asked = false;
	ssize_t n;

	*wants_blocks = false;
	/* Several questions have one answer. A consumer that is in order asks once. */
	for (int i = 0; i < 16; i++) {
		n = recv(socket, questions, sizeof(questions), MSG_DONTWAIT);
		asked |= n > 0;
		for (ssize_t k = 0; k < n; k++)
			*wants_blocks |= questions[k] != FEED_ASKS_SUMS;
		if (n < (ssize_t)sizeof(questions))
			break;
	}
	*gone = !n || (n < 0 && errno != EAGAIN && errno != EINTR);
	return asked;
}

static uint64_t ns_of(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000000000u + (uint64_t)t->tv_usec * 1000u;
}

static uint64_t cpu_ns(void)
{
	static const int whose[] = {RUSAGE_SELF, RUSAGE_CHILDREN};
	uint64_t sum_ns = 0;

	for (size_t i = 0; i < 2; i++) {
		struct rusage usage;

		if (!getrusage(whose[i], &usage))
			sum_ns += ns_of(&usage.ru_utime) + ns_of(&usage.ru_stime);
	}
	return sum_ns;
}

static uint64_t rss_bytes(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/self/statm", "re");
	unsigned long long pages;

	return f && fscanf(f, "%*u %llu", &pages) == 1
		       ? pages * (uint64_t)sysconf(_SC_PAGESIZE)
		       : 0;
}

static bool put(int socket, const struct feed_answer *answer, int fd)
{
	return fd_message_send_some(socket, answer, sizeof(*answer), &fd, fd >= 0) ==
	       (ssize_t)sizeof(*answer);
}

static struct error *write_file(const struct snapshot *snap, int *ret)
{
	_cleanup_(closep) int fd =
		memfd_create("memtrace-snapshot", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	_cleanup_(fclosep) FILE *out = NULL;
	int copy = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	struct error *err;

	if (copy < 0)
		return error_errno(
			ERROR_IO, errno,
			"cannot make a memory file for a snapshot (memfd_create)");
	out = fdopen(copy, "w");
	if (!out) {
		close(copy);
		return error_no_memory();
	}
	err = snapshot_write_quickly(snap, out);
	if (err)
		return err;
	if (fflush(out) || ferror(out) ||
	    fcntl(fd, F_ADD_SEALS,
		  F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) ||
	    lseek(fd, 0, SEEK_SET))
		return error_errno(ERROR_IO, errno,
				   "cannot write a snapshot to a memory file");
	*ret = fd;
	fd = -1;
	return NULL;
}

static struct error *write_sums(const struct snapshot *snap, int *ret)
{
	struct snapshot sums;
	struct error *err =
		snapshot_sums(snap, &sums) ? write_file(&sums, ret) : error_no_memory();

	snapshot_sums_deinit(&sums);
	return err;
}

struct error *feed_send(int socket, const struct snapshot *snap, bool has_blocks,
			uint64_t taken_ns, bool *sent)
{
	const struct feed_answer answer = {
		.has_snapshot = true,
		.has_blocks = has_blocks,
		.taken_ns = taken_ns,
		.tracer_cpu_ns = cpu_ns(),
		.tracer_rss_bytes = rss_bytes(),
	};
	_cleanup_(closep) int fd = -1;
	struct error *err = has_blocks ? write_file(snap, &fd) : write_sums(snap, &fd);

	if (!err)
		*sent = put(socket, &answer, fd);
	return err;
}

bool feed_refuse(int socket, const char *why)
{
	struct feed_answer answer = {.tracer_cpu_ns = cpu_ns(),
				     .tracer_rss_bytes = rss_bytes()};
	_cleanup_(freep) char *escaped = escape_dup(why);

	snprintf(answer.why, sizeof(answer.why), "%s", escaped ? escaped : "no memory");
	return put(socket, &answer, -1);
}
