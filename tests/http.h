/* SPDX-License-Identifier: Apache-2.0 */
/* A small HTTP client for tests of --listen. It sends what it is given, right or wrong.
 */
#ifndef TESTS_HTTP_H
#define TESTS_HTTP_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"

struct http_answer {
	int status;  /* 0: the connection ended without a status line */
	char *bytes; /* all that came, NUL-terminated; owned */
	size_t len;  /* of `bytes` */
	char *body;  /* in `bytes` */
	size_t body_len;
};

static inline void http_free(struct http_answer *answer)
{
	free(answer->bytes);
	*answer = (struct http_answer){0};
}

/* Connect to a port of this machine. -1: refused. */
static inline int http_connect(unsigned port)
{
	const struct sockaddr_in to = {.sin_family = AF_INET,
				       .sin_port = htons((uint16_t)port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return -1;
	}
	return fd;
}

static inline int http_connect_unix(const char *path)
{
	struct sockaddr_un to = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(fd >= 0 && strlen(path) < sizeof(to.sun_path));
	strcpy(to.sun_path, path);
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to))) {
		close(fd);
		return -1;
	}
	return fd;
}

/* False: the other end has closed. */
static inline bool http_send(int fd, const char *bytes, size_t len)
{
	while (len) {
		ssize_t n = send(fd, bytes, len, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		bytes += n;
		len -= (size_t)n;
	}
	return true;
}

/* Is the answer whole? It has a Content-Length, or none (HEAD: `has_body` is false). */
static inline bool http_is_whole(const struct http_answer *a, bool has_body)
{
	char *end = a->bytes ? strstr(a->bytes, "\r\n\r\n") : NULL;
	char *length = end ? strcasestr(a->bytes, "\r\nContent-Length:") : NULL;

	if (!end)
		return false;
	return !has_body ||
	       (length && length < end &&
		a->len - (size_t)(end + 4 - a->bytes) >= strtoull(length + 17, NULL, 10));
}

/* Receive one answer, or until the other end closes, or for `timeout_s`. */
static inline struct http_answer http_receive(int fd, bool has_body, double timeout_s)
{
	struct http_answer a = {0};
	struct timespec now;
	double end_s;

	clock_gettime(CLOCK_MONOTONIC, &now);
	end_s = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + timeout_s;
	while (!http_is_whole(&a, has_body)) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		double left_s;
		ssize_t n;

		clock_gettime(CLOCK_MONOTONIC, &now);
		left_s = end_s - (double)now.tv_sec - (double)now.tv_nsec / 1e9;
		if (left_s <= 0 || poll(&wait, 1, (int)(left_s * 1000) + 1) <= 0)
			break;
		a.bytes = realloc(a.bytes, a.len + 65536 + 1);
		REQUIRE(a.bytes);
		n = recv(fd, a.bytes + a.len, 65536, 0);
		if (n <= 0)
			break;
		a.len += (size_t)n;
		a.bytes[a.len] = '\0';
	}
	if (a.bytes && !a.len)
		a.bytes[0] = '\0';
	if (a.bytes && sscanf(a.bytes, "HTTP/1.%*d %d ", &a.status) != 1)
		a.status = 0;
	a.body = a.bytes ? strstr(a.bytes, "\r\n\r\n") : NULL;
	if (a.body) {
		a.body += 4;
		a.body_len = a.len - (size_t)(a.body - a.bytes);
	}
	return a;
}

/* Send these bytes on a new connection, which is then closed, and receive the answer. */
static inline struct http_answer http_ask_on(int fd, const char *bytes, size_t len)
{
	struct http_answer a = {0};

	REQUIRE(fd >= 0);
	/* A server may answer and close before it has read everything. */
	(void)http_send(fd, bytes, len);
	a = http_receive(fd, strncmp(bytes, "HEAD ", 5) != 0, 30);
	close(fd);
	return a;
}

static inline struct http_answer http_ask(unsigned port, const char *bytes, size_t len)
{
	return http_ask_on(http_connect(port), bytes, len);
}

static inline struct http_answer http_get(unsigned port, const char *path)
{
	char request[1024];
	int len = snprintf(request, sizeof(request),
			   "GET %s HTTP/1.1\r\nHost: 127.0.0.1:%u\r\n"
			   "Connection: close\r\n\r\n",
			   path, port);

	REQUIRE(len > 0 && (size_t)len < sizeof(request));
	return http_ask(port, request, (size_t)len);
}

/* The value of a header, up to the end of its line; NULL: not there. Borrowed. */
static inline const char *http_header(const struct http_answer *a, const char *name)
{
	char line[128];
	const char *at;

	snprintf(line, sizeof(line), "\r\n%s: ", name);
	at = a->bytes ? strcasestr(a->bytes, line) : NULL;
	return at && (!a->body || at < a->body) ? at + strlen(line) : NULL;
}

static inline bool http_header_is(const struct http_answer *a, const char *name,
				  const char *value)
{
	const char *at = http_header(a, name);

	return at && !strncmp(at, value, strlen(value)) &&
	       !strncmp(at + strlen(value), "\r\n", 2);
}

#endif
