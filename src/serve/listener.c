// SPDX-License-Identifier: Apache-2.0
#include "serve/listener.h"

#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"

/* Connections that wait to be accepted; the kernel's bound is net.core.somaxconn. */
#define BACKLOG 1024

static struct error *cannot(const struct listen_address *address, int errnum)
{
	const char *remedy = "";
	char text[LISTEN_ADDRESS_TEXT];

	listen_address_format(address, text, sizeof(text));
	if (errnum == EADDRINUSE && address->path)
		remedy = ": the path exists; remove it if no memtrace listens there";
	else if (errnum == EADDRINUSE)
		remedy = ": another program has the port; choose another one";
	else if (errnum == EADDRNOTAVAIL && !address->path)
		remedy = ": this machine does not have the address";
	else if (errnum == EACCES && !address->path)
		remedy = ": ports below 1024 need CAP_NET_BIND_SERVICE";
	return error_errno(ERROR_IO, errnum, "--listen %s%s", text, remedy);
}

static int bind_to(int fd, const struct listen_address *address)
{
	const int on = 1;
	mode_t before;
	int result;

	if (address->socket.ss_family == AF_INET6)
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
	if (!address->path)
		setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	/* The socket is created with this mode: no other user may connect at any time. */
	before = umask(0177);
	result = bind(fd, (const struct sockaddr *)&address->socket, address->size_bytes);
	umask(before);
	return result;
}

struct error *listener_open(const struct listen_address *address, struct listener *ret)
{
	struct stat st;
	_cleanup_(closep) int fd = socket(address->socket.ss_family,
					  SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	*ret = LISTENER_NONE;
	ret->address = *address;
	if (fd < 0 || bind_to(fd, address))
		return cannot(address, errno);
	if (address->path && !lstat(address->path, &st)) {
		ret->device = st.st_dev;
		ret->inode = st.st_ino;
	}
	ret->fd = fd;
	fd = -1;
	if (listen(ret->fd, BACKLOG))
		return cannot(address, errno);
	getsockname(ret->fd, (struct sockaddr *)&ret->address.socket,
		    &(socklen_t){sizeof(ret->address.socket)});
	return NULL;
}

void listener_close(struct listener *listener)
{
	const char *path = listener->fd >= 0 ? listener->address.path : NULL;
	struct stat st;

	/* The port is free from now on, also if a child that is being killed has the
	 * descriptor for a moment longer. */
	if (listener->fd >= 0)
		shutdown(listener->fd, SHUT_RDWR);
	closep(&listener->fd);
	listener->fd = -1;
	if (path && !lstat(path, &st) && S_ISSOCK(st.st_mode) &&
	    st.st_dev == listener->device && st.st_ino == listener->inode)
		unlink(path);
}
