// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <poll.h>
#include <unistd.h>

#include "confined/serve.h"
#include "util/clock.h"
#include "util/fd_message.h"

/* How often a limit is checked. */
#define LOOK_MS 200

/* The limit of one transfer, and its begin, CLOCK_MONOTONIC ns. */
struct transfer {
	const struct message_limit *limit; /* NULL: none */
	uint64_t begin_ns;
};

static struct transfer begin(const struct message_limit *limit)
{
	return (struct transfer){limit, clock_now_ns()};
}

static bool is_over(const struct transfer *transfer)
{
	const struct message_limit *limit = transfer->limit;

	return limit && (clock_now_ns() - transfer->begin_ns > limit->most_ns ||
			 (limit->goes_on && !limit->goes_on(limit->arg)));
}

/* Wait until the socket is ready. Returns 0 or ETIMEDOUT. */
static int await(int socket, short events, const struct transfer *transfer)
{
	struct pollfd fds = {.fd = socket, .events = events};

	for (;;) {
		if (is_over(transfer))
			return ETIMEDOUT;
		if (poll(&fds, 1, transfer->limit ? LOOK_MS : -1) > 0)
			return 0;
	}
}

/* Send exactly `size` bytes, and a descriptor with them (-1: none). */
static int send_all(int socket, const void *bytes, size_t size, int fd,
		    const struct transfer *transfer)
{
	const char *at = bytes;

	while (size) {
		int err = await(socket, POLLOUT, transfer);
		ssize_t n;

		if (err)
			return err;
		n = fd_message_send_some(socket, at, size, &fd, fd >= 0);
		if (n < 0 && errno != EINTR && errno != EAGAIN)
			return errno;
		if (n <= 0)
			continue;
		at += n;
		size -= (size_t)n;
		fd = -1;
	}
	return 0;
}

int message_put(int socket, const struct message_limit *limit, enum message_kind kind,
		uint32_t number, const struct strbuf *payload, int fd)
{
	size_t size = payload ? payload->len : 0;
	struct message_head head = {kind, number, (uint32_t)size};
	struct transfer transfer = begin(limit);
	int err;

	if ((payload && payload->failed) || size > MESSAGE_MAX_BYTES)
		return ENOMEM;
	err = send_all(socket, &head, sizeof(head), fd, &transfer);
	return err || !size ? err : send_all(socket, payload->data, size, -1, &transfer);
}

/* Receive exactly `size` bytes, and a descriptor if one comes with them. */
static int receive(int socket, void *bytes, size_t size, int *ret_fd,
		   const struct transfer *transfer)
{
	char *at = bytes;

	while (size) {
		size_t count = 0;
		int fd = -1, err = await(socket, POLLIN, transfer);
		ssize_t n;

		if (err)
			return err;
		n = fd_message_receive(socket, at, size, &fd, 1, &count);
		if (count && *ret_fd < 0)
			*ret_fd = fd;
		else if (count)
			close(fd);
		if (n <= 0)
			return n < 0 ? errno : EPIPE;
		at += n;
		size -= (size_t)n;
	}
	return 0;
}

int message_get(int socket, const struct message_limit *limit, struct message_head *ret,
		struct strbuf *payload, int *ret_fd)
{
	struct transfer transfer = begin(limit);
	int err;

	*ret_fd = -1;
	err = receive(socket, ret, sizeof(*ret), ret_fd, &transfer);
	if (!err && ret->size_bytes > MESSAGE_MAX_BYTES)
		err = EPROTO;
	if (!err && !strbuf_reserve(payload, ret->size_bytes))
		err = ENOMEM;
	if (!err)
		err = receive(socket, payload->data, ret->size_bytes, ret_fd, &transfer);
	if (!err) {
		payload->len = ret->size_bytes;
		payload->data[payload->len] = '\0';
	} else if (*ret_fd >= 0) {
		close(*ret_fd);
		*ret_fd = -1;
	}
	return err;
}

void error_put(struct strbuf *out, const struct error *err)
{
	wire_put_u32(out, err->code);
	wire_put_u32(out, (uint32_t)err->saved_errno);
	wire_put_text(out, err->message);
}

struct error *error_get(const struct strbuf *bytes)
{
	struct wire in = wire_read(bytes);
	uint32_t code = wire_get_u32(&in), saved_errno = wire_get_u32(&in);
	const char *message = wire_get_text(&in);
	struct error *err;

	if (!wire_is_done(&in) || code < ERROR_NO_MEMORY || code > ERROR_COMPILE)
		return error_create(
			ERROR_IO,
			"the process that reads files for memtrace sent no valid answer");
	if (code == ERROR_NO_MEMORY)
		return error_no_memory();
	err = error_create((enum error_code)code, "%s", message ? message : "");
	if (err->code != ERROR_NO_MEMORY)
		err->saved_errno = (int)saved_errno;
	return err;
}
