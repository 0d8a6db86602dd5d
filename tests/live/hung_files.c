/* SPDX-License-Identifier: Apache-2.0 */
#include "live/hung_files.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

#include "live/live.h"

/* More than FUSE_MIN_READ_BUFFER, the least that a server must offer to read. */
#define REQUEST_BYTES (1 << 17)

static char request[REQUEST_BYTES];

/* Answers FUSE_INIT. Before the answer, the kernel sends no other request. */
static void answer_init(int fd)
{
	const struct fuse_in_header *in = (const struct fuse_in_header *)request;
	struct {
		struct fuse_out_header head;
		struct fuse_init_out body;
	} out = {
		.head = {.len = sizeof(out)},
		.body = {.major = FUSE_KERNEL_VERSION,
			 .minor = FUSE_KERNEL_MINOR_VERSION,
			 /* As most servers: a program that waits for a page can be
			  * killed, also when the server has its request. */
			 .flags = FUSE_ASYNC_READ,
			 .max_readahead = 1 << 17,
			 .max_write = 4096},
	};

	if (read(fd, request, sizeof(request)) < (ssize_t)sizeof(*in) ||
	    in->opcode != FUSE_INIT)
		live_fail("the kernel does not begin with FUSE_INIT");
	out.head.unique = in->unique;
	if (write(fd, &out, sizeof(out)) != sizeof(out))
		live_fail("cannot answer FUSE_INIT: %s", strerror(errno));
}

bool hung_files_mount_on(const char *path, struct hung_files *ret)
{
	char options[96];

	*ret = (struct hung_files){.fd = open("/dev/fuse", O_RDWR | O_CLOEXEC)};
	if (ret->fd < 0)
		return false;
	ret->path = strdup(path);
	if (!ret->path)
		live_fail("out of memory");
	snprintf(options, sizeof(options),
		 "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other", ret->fd);
	if (mount("memtrace-test", ret->path, "fuse.memtrace-test", 0, options))
		live_fail("cannot mount FUSE on %s: %s", ret->path, strerror(errno));
	answer_init(ret->fd);
	return true;
}

bool hung_files_mount(struct hung_files *ret)
{
	/* Not in the test's private folder: a search of that folder at the end would
	 * hang. */
	char path[] = "/tmp/memtrace-hung-XXXXXX";

	if (!mkdtemp(path))
		live_fail("cannot make a directory: %s", strerror(errno));
	if (hung_files_mount_on(path, ret))
		return true;
	rmdir(path);
	return false;
}

unsigned hung_files_take_all(const struct hung_files *files)
{
	unsigned count = 0;

	while (hung_files_wait(files, 0)) {
		hung_files_take(files);
		count++;
	}
	return count;
}

bool hung_files_wait(const struct hung_files *files, double timeout_s)
{
	struct pollfd fd = {.fd = files->fd, .events = POLLIN};

	return poll(&fd, 1, (int)(timeout_s * 1000)) == 1;
}

void hung_files_take(const struct hung_files *files)
{
	if (read(files->fd, request, sizeof(request)) <= 0)
		live_fail("no request: %s", strerror(errno));
}

void hung_files_unmount(struct hung_files *files)
{
	close(files->fd);
	if (umount2(files->path, MNT_DETACH))
		live_fail("cannot unmount %s: %s", files->path, strerror(errno));
	rmdir(files->path);
	free(files->path);
	*files = (struct hung_files){.fd = -1};
}
