// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "util/error.h"
#include "util/say_error.h"
#include "util/say_note.h"

/* Standard error as a socket that keeps writes apart. */
static int real_stderr, reader;

static void take_stderr(void)
{
	int ends[2], size = 1 << 20;

	REQUIRE(!socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
	REQUIRE(!setsockopt(ends[1], SOL_SOCKET, SO_SNDBUF, &size, sizeof(size)));
	real_stderr = dup(STDERR_FILENO);
	REQUIRE(real_stderr >= 0 && dup2(ends[1], STDERR_FILENO) == STDERR_FILENO);
	close(ends[1]);
	reader = ends[0];
}

/* The text of one write into `ret`. */
static void read_write(char *ret, size_t size)
{
	ssize_t len = recv(reader, ret, size - 1, MSG_DONTWAIT);

	ret[len > 0 ? len : 0] = '\0';
}

static void give_stderr_back(void)
{
	REQUIRE(dup2(real_stderr, STDERR_FILENO) == STDERR_FILENO);
	close(real_stderr);
	close(reader);
}

static void a_note_is_one_write(void)
{
	char got[64], rest[64];

	take_stderr();
	say_note("%s is %d %%", "a", 7);
	read_write(got, sizeof(got));
	read_write(rest, sizeof(rest));
	give_stderr_back();
	CHECK_STR(got, "memtrace: a is 7 %\n");
	CHECK_STR(rest, "");
}

static void a_long_note_is_one_write(void)
{
	enum {
		LEN = 50000
	};
	static char name[LEN + 1], want[LEN + 64], got[LEN + 64];

	memset(name, 'x', LEN);
	snprintf(want, sizeof(want), "memtrace: name %s ends\n", name);
	take_stderr();
	say_note("name %s ends", name);
	read_write(got, sizeof(got));
	give_stderr_back();
	CHECK(!strcmp(got, want));
}

static void an_error_is_escaped(void)
{
	struct error *err = error_create(ERROR_IO, "bad \033 name");
	char got[64];

	take_stderr();
	say_error("before: ", err, " after");
	read_write(got, sizeof(got));
	give_stderr_back();
	error_destroy(err);
	CHECK_STR(got, "memtrace: before: bad \\x1b name after\n");
}

int main(void)
{
	RUN(a_note_is_one_write);
	RUN(a_long_note_is_one_write);
	RUN(an_error_is_escaped);
	return check_done();
}
