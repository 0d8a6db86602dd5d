/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last message of the compiler's process must be received, even if the process ends
 * without reading what it was sent.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "compile/compiler_child.h"
#include "check.h"

static void last_words(void)
{
	const struct message request = {.kind = MESSAGE_COMPILE};
	struct message answer = {.kind = MESSAGE_FAILED, .text = "no memory"}, m;
	int fds[MESSAGE_MAX_FDS], pair[2];
	size_t count;

	REQUIRE(!socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair));
	REQUIRE(!message_send(pair[0], &request, NULL, 0));
	REQUIRE(!message_send(pair[1], &answer, NULL, 0));
	close(pair[1]);
	REQUIRE(message_receive(pair[0], &m, fds, &count) == 0);
	CHECK_INT(m.kind, MESSAGE_FAILED);
	CHECK_STR(m.text, "no memory");
	CHECK_INT(count, 0);
	CHECK_INT(message_receive(pair[0], &m, fds, &count), EPIPE);
	close(pair[0]);
}

int main(void)
{
	RUN(last_words);
	return check_done();
}
