// SPDX-License-Identifier: Apache-2.0
#include "serve/host.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

static bool is_port(const char *text)
{
	return strlen(text) == strspn(text, "0123456789");
}

/* Write the part before the port. False: too long, or followed by something else than a
 * port. */
static bool split(const char *host, char ret[INET6_ADDRSTRLEN + 2])
{
	const char *end = *host == '[' ? strchr(host, ']') : strchrnul(host, ':');
	size_t len;

	if (!end)
		return false;
	end += *end == ']';
	len = (size_t)(end - host);
	if (len >= INET6_ADDRSTRLEN + 2 || (*end && (*end != ':' || !is_port(end + 1))))
		return false;
	snprintf(ret, INET6_ADDRSTRLEN + 2, "%.*s", (int)len, host);
	return true;
}

bool host_is_local(const char *host)
{
	char name[INET6_ADDRSTRLEN + 2];
	struct in6_addr v6;
	struct in_addr v4;
	size_t len;

	if (!split(host, name))
		return false;
	len = strlen(name);
	if (!strcasecmp(name, "localhost") || inet_pton(AF_INET, name, &v4) == 1)
		return true;
	if (name[0] != '[' || name[len - 1] != ']')
		return false;
	name[len - 1] = '\0';
	return inet_pton(AF_INET6, name + 1, &v6) == 1;
}
