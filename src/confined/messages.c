// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <unistd.h>

#include "confined/serve.h"
#include "util/clock.h"
#include "util/fd_message.h"

int message_put(int socket, enum message_kind kind, uint32_t number,
		const struct strbuf *payload, int fd)
{
	size_t size = payload ? payload->len : 0;
	struct message_head head = {kind, number, (uint32_t)size};
	int err;

	if ((payload && payload->failed) || size > MESSAGE_MAX_BYTES)
		return ENOMEM;
	err = fd_message_send(socket, &head, sizeof(head), &fd, fd >= 0);
	return err || !size ? err : fd_message_send(socket, payload->data, size, NULL, 0);
}

/* How long a message may take. */
struct limit {
	uint64_t most_ns;  /* from the first byte on; 0: for ever */
	uint64_t begin_ns; /* time of the first byte, CLOCK_MONOTONIC ns; 0: none yet */
};

static bool is_over(struct limit *limit)
{
	uint64_t now_ns = clock_now_ns();

	if (!limit->begin_ns)
		limit->begin_ns = now_ns;
	return limit->most_ns && now_ns - limit->begin_ns > limit->most_ns;
}

/* Receive exactly `size` bytes, and a descriptor if one comes with them. */
static int receive(int socket, void *bytes, size_t size, int *ret_fd, struct limit *limit)
{
	char *at = bytes;

	while (size) {
		size_t count = 0;
		int fd = -1;
		ssize_t n = fd_message_receive(socket, at, size, &fd, 1, &count);

		if (count && *ret_fd < 0)
			*ret_fd = fd;
		else if (count)
			close(fd);
		if (n <= 0)
			return n < 0 ? errno : EPIPE;
		at += n;
		size -= (size_t)n;
		if (is_over(limit) && size)
			return ETIMEDOUT;
	}
	return 0;
}

int message_get(int socket, uint64_t most_ns, struct message_head *ret,
		struct strbuf *payload, int *ret_fd)
{
	struct limit limit = {.most_ns = most_ns};
	int err;

	*ret_fd = -1;
	err = receive(socket, ret, sizeof(*ret), ret_fd, &limit);
	if (!err && ret->size_bytes > MESSAGE_MAX_BYTES)
		err = EPROTO;
	if (!err && !strbuf_reserve(payload, ret->size_bytes))
		err = ENOMEM;
	if (!err)
		err = receive(socket, payload->data, ret->size_bytes, ret_fd, &limit);
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
		return error_create(ERROR_IO, "a reading process gave no answer");
	if (code == ERROR_NO_MEMORY)
		return error_no_memory();
	err = error_create((enum error_code)code, "%s", message ? message : "");
	if (err->code != ERROR_NO_MEMORY)
		err->saved_errno = (int)saved_errno;
	return err;
}
