// SPDX-License-Identifier: Apache-2.0
#include "process/timed_read.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "confined/shed.h"
#include "process/procfs.h"
#include "util/lanes.h"

/* Capabilities are per thread. */
static void begin_thread(void)
{
	error_destroy(shed_for_thread());
}

void timed_read_enable(void)
{
	lanes_enable(begin_thread);
}

int timed_read_maps(int pid, int tid, size_t limit_bytes, char **ret, size_t *ret_size)
{
	struct lane_request request = {.kind = REQUEST_MAPS, .size = limit_bytes};
	struct lane *lane;
	int err;

	snprintf(request.path, sizeof(request.path), "/proc/%d/maps", tid);
	err = lanes_ask(pid, &request, &lane);
	if (err == EAGAIN)
		return procfs_read(tid, "maps", limit_bytes, ret, ret_size);
	if (err)
		return err;
	if (lane->result < 0) {
		err = lane->errnum;
	} else if (!(*ret = malloc((size_t)lane->result + 1))) {
		err = ENOMEM;
	} else {
		memcpy(*ret, lane->buffer, (size_t)lane->result);
		(*ret)[lane->result] = '\0';
		*ret_size = (size_t)lane->result;
	}
	lanes_release(lane);
	return err;
}

int timed_read_open(int pid, const char *path, int flags)
{
	struct lane_request request = {.kind = REQUEST_OPEN, .flags = flags};
	struct lane *lane;
	int fd = -1, err;

	snprintf(request.path, sizeof(request.path), "%s", path);
	err = lanes_ask(pid, &request, &lane);
	if (err == EAGAIN)
		return open(path, flags);
	if (!err) {
		fd = lanes_take_fd(lane);
		err = lane->errnum;
		lanes_release(lane);
	}
	errno = err;
	return fd;
}

ssize_t timed_read_memory(int pid, int tid, uint64_t address, void *ret, size_t size)
{
	const struct iovec here = {ret, size}, there = {(void *)(uintptr_t)address, size};
	struct lane_request request = {
		.kind = REQUEST_MEMORY, .tid = tid, .address = address, .size = size};
	struct lane *lane;
	ssize_t n = -1;
	int err;

	err = lanes_ask(pid, &request, &lane);
	if (err == EAGAIN)
		return process_vm_readv(tid, &here, 1, &there, 1, 0);
	if (!err) {
		n = lane->result;
		err = lane->errnum;
		if (n > 0)
			memcpy(ret, lane->buffer, (size_t)n);
		lanes_release(lane);
	}
	errno = err;
	return n;
}

bool timed_read_would_wait(int pid, int tid)
{
	struct lane_request request = {.kind = REQUEST_TOUCH};
	struct lane *lane;
	int err;

	snprintf(request.path, sizeof(request.path), "/proc/%d/pagemap", tid);
	err = lanes_ask(pid, &request, &lane);
	if (!err)
		lanes_release(lane);
	return err == ETIMEDOUT;
}
