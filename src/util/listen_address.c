// SPDX-License-Identifier: Apache-2.0
#include "util/listen_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/un.h>

#include "util/units.h"

static struct error *parse_port(const char *text, in_port_t *ret)
{
	uint64_t port;

	if (!units_parse_integer(text, 0, UINT16_MAX, &port))
		return error_create(ERROR_USAGE, "the port must be a number from 0 "
						 "to 65535");
	*ret = htons((uint16_t)port);
	return NULL;
}

static struct error *parse_path(const char *path, struct listen_address *ret)
{
	struct sockaddr_un *to = (struct sockaddr_un *)&ret->socket;

	if (!*path)
		return error_create(ERROR_USAGE, "unix: must be followed by the path of "
						 "a socket");
	if (strlen(path) >= sizeof(to->sun_path))
		return error_create(ERROR_USAGE,
				    "the path of a unix socket can have %zu characters "
				    "at most",
				    sizeof(to->sun_path) - 1);
	to->sun_family = AF_UNIX;
	strcpy(to->sun_path, path);
	ret->path = path;
	ret->size_bytes =
		(socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
	return NULL;
}

static bool parse_v4(const char *host, in_port_t port, struct listen_address *ret)
{
	struct sockaddr_in *to = (struct sockaddr_in *)&ret->socket;

	if (inet_pton(AF_INET, host, &to->sin_addr) != 1)
		return false;
	to->sin_family = AF_INET;
	to->sin_port = port;
	ret->size_bytes = sizeof(*to);
	ret->is_loopback = ntohl(to->sin_addr.s_addr) >> 24 == 127;
	return true;
}

static bool parse_v6(const char *host, in_port_t port, struct listen_address *ret)
{
	struct sockaddr_in6 *to = (struct sockaddr_in6 *)&ret->socket;

	if (inet_pton(AF_INET6, host, &to->sin6_addr) != 1)
		return false;
	to->sin6_family = AF_INET6;
	to->sin6_port = port;
	ret->size_bytes = sizeof(*to);
	ret->is_loopback = IN6_IS_ADDR_LOOPBACK(&to->sin6_addr) ||
			   (IN6_IS_ADDR_V4MAPPED(&to->sin6_addr) &&
			    to->sin6_addr.s6_addr[12] == 127);
	return true;
}

struct error *listen_address_parse(const char *text, struct listen_address *ret)
{
	const char *colon = strrchr(text, ':');
	char host[INET6_ADDRSTRLEN + 2];
	size_t len = colon ? (size_t)(colon - text) : 0;
	in_port_t port;
	struct error *err;

	memset(ret, 0, sizeof(*ret));
	if (!strncmp(text, "unix:", 5))
		return parse_path(text + 5, ret);
	err = parse_port(colon ? colon + 1 : text, &port);
	if (err)
		return err;
	if (!colon || (len == 9 && !strncmp(text, "localhost", 9)))
		return parse_v4("127.0.0.1", port, ret) ? NULL : error_no_memory();
	if (!len)
		return error_create(
			ERROR_USAGE,
			"the address before the colon is missing: a port alone "
			"means this machine, 0.0.0.0:PORT every address of "
			"it");
	snprintf(host, sizeof(host), "%.*s", (int)len, text);
	if (len < sizeof(host) && host[0] == '[' && host[len - 1] == ']') {
		host[len - 1] = '\0';
		if (parse_v6(host + 1, port, ret))
			return NULL;
	} else if (len < sizeof(host) && parse_v4(host, port, ret)) {
		return NULL;
	}
	return error_create(ERROR_USAGE,
			    "the address must be in numbers, such as 127.0.0.1:9911 or "
			    "[::1]:9911");
}

void listen_address_format(const struct listen_address *address, char *ret, size_t size)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&address->socket;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&address->socket;
	char host[INET6_ADDRSTRLEN] = "?";

	if (address->path) {
		snprintf(ret, size, "unix:%s", address->path);
	} else if (address->socket.ss_family == AF_INET6) {
		inet_ntop(AF_INET6, &v6->sin6_addr, host, sizeof(host));
		snprintf(ret, size, "[%s]:%u", host, ntohs(v6->sin6_port));
	} else {
		inet_ntop(AF_INET, &v4->sin_addr, host, sizeof(host));
		snprintf(ret, size, "%s:%u", host, ntohs(v4->sin_port));
	}
}
