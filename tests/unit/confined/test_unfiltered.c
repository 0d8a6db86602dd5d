// SPDX-License-Identifier: Apache-2.0
/*
 * Where a confined child can have no filter: it runs without one only if that is so from
 * the start, and never because memory or descriptors have run out, which a target can
 * cause.
 */
#include "apart.h"
#include "check.h"
#include "no_filters.h"

#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/confined.h"
#include "confined/keeper.h"
#include "confined/shed.h"
#include "util/cleanup.h"

#define MAKE_SOCKET 1

/* In the child: only a process without a filter can. */
static struct error *answer(void *state, struct confined_request *request)
{
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	(void)state;
	wire_put_u32(request->out, fd < 0 ? (uint32_t)errno : 0);
	closep(&fd);
	return NULL;
}

static const struct confined_service service = {MAKE_SOCKET, 1, answer, NULL};

/* Not called here: no file is requested. */
static int find(void *arg, int dir, const char *path, bool no_follow)
{
	(void)arg, (void)dir, (void)path, (void)no_follow;
	errno = EACCES;
	return -1;
}

static struct confined_options options_of(bool has_policy)
{
	return (struct confined_options){
		.kind = CONFINED_READER,
		.name = "test-unfiltered",
		.services = &service,
		.service_count = 1,
		.policy = {.find = has_policy ? find : NULL},
	};
}

static void read_line(int pid, const char *name, char ret[64])
{
	char path[64], line[256];
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	file = fopen(path, "re");
	REQUIRE(file);
	ret[0] = '\0';
	while (fgets(line, sizeof(line), file))
		if (!strncmp(line, name, strlen(name)))
			sscanf(line + strlen(name), "%63s", ret);
	fclose(file);
}

static void check_unfiltered(struct confined *confined, const char *capabilities)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	int pid = confined_pid(confined);
	char text[64];
	struct wire wire;

	REQUIRE(!confined_call(confined, MAKE_SOCKET, NULL, -1, &out, NULL));
	wire = wire_read(&out);
	CHECK_INT(wire_get_u32(&wire), 0);
	read_line(pid, "NoNewPrivs:", text);
	CHECK_STR(text, "1");
	read_line(pid, "CapEff:", text);
	if (geteuid())
		return;
	CHECK_STR(text, capabilities);
	read_line(pid, "CapPrm:", text);
	CHECK_STR(text, capabilities);
	read_line(pid, "CapBnd:", text);
	CHECK_STR(text, capabilities);
	read_line(pid, "Uid:", text);
	CHECK_INT(strtoul(text, NULL, 10), SHED_USER);
}

/* DAC_READ_SEARCH, SYS_PTRACE, CHECKPOINT_RESTORE: the child opens files itself. */
#define FOR_READING "0000010000080004"
#define NONE        "0000000000000000"

static void never_permitted(int errnum)
{
	for (int has_policy = 0; has_policy < 2; has_policy++) {
		struct confined_options options = options_of(has_policy);
		_cleanup_(error_destroyp) struct error *why = NULL;
		struct confined *confined = NULL;

		if (!has_policy)
			make_filters_fail(errnum);
		REQUIRE(!confined_start(&options, &confined, &why));
		REQUIRE(why);
		CHECK_INT(why->code, ERROR_UNSUPPORTED);
		CHECK_INT(why->saved_errno, errnum);
		check_unfiltered(confined, has_policy ? FOR_READING : NONE);
		confined_destroy(confined);
	}
}

static void without_filters(void)
{
	CHECK_APART(never_permitted(EPERM));
	CHECK_APART(never_permitted(EINVAL));
	CHECK_APART(never_permitted(ENOSYS));
}

static void not_possible_now(int errnum)
{
	struct confined_options options = options_of(true);
	struct confined *confined = NULL;
	struct error *why = NULL, *err;

	make_filters_fail(errnum);
	err = confined_start(&options, &confined, &why);
	REQUIRE(err && !why && !confined);
	CHECK(err->code != ERROR_UNSUPPORTED);
	CHECK_CONTAINS(err->message, strerror(errnum));
	error_destroy(err);
	/* It was waited for. */
	CHECK(waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD);
}

static void when_all_is_used_up(void)
{
	CHECK_APART(not_possible_now(ENOMEM));
	CHECK_APART(not_possible_now(EMFILE));
	CHECK_APART(not_possible_now(ENFILE));
}

static char said[256];

static void hear(void *arg, const char *text)
{
	(void)arg;
	snprintf(said, sizeof(said), "%s", text);
}

static struct keeper *keep(void)
{
	const struct keeper_options options = {
		.child = options_of(true),
		.work = "tests are run",
		.warn = hear,
	};
	struct keeper *keeper = NULL;

	REQUIRE(!keeper_create(&options, &keeper));
	return keeper;
}

static void end_child(struct keeper *keeper)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct error *err;

	REQUIRE(!kill(keeper_pid(keeper), SIGKILL));
	err = keeper_call(keeper, MAKE_SOCKET, NULL, -1, &out);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);
}

/* A child had a filter: no later one goes without. */
static void later_child(int errnum)
{
	struct keeper *keeper = keep();

	CHECK_STR(said, "");
	make_filters_fail(errnum);
	end_child(keeper);
	CHECK_INT(keeper_child(keeper), 0);
	CHECK_INT(keeper_pid(keeper), 0);
	CHECK_CONTAINS(said, "tests are run no more: ");
	CHECK_CONTAINS(said, strerror(errnum));
	keeper_destroy(keeper);
}

/* The first one could have none: nor can others, and they run. */
static void later_child_without_filters(int errnum)
{
	struct keeper *keeper;

	make_filters_fail(errnum);
	keeper = keep();
	CHECK_CONTAINS(said, "warning: tests are run in a process without a filter: ");
	end_child(keeper);
	CHECK_INT(keeper_child(keeper), 2);
	CHECK(keeper_pid(keeper) > 0);
	keeper_destroy(keeper);
}

static void a_later_child(void)
{
	CHECK_APART(later_child(EPERM));
	CHECK_APART(later_child(ENOMEM));
	CHECK_APART(later_child_without_filters(EPERM));
}

int main(void)
{
	RUN(without_filters);
	RUN(when_all_is_used_up);
	RUN(a_later_child);
	return check_done();
}
