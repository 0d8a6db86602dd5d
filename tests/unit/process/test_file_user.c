// SPDX-License-Identifier: Apache-2.0
/* Whose files a process could read, by /proc/PID/status and the mode of the file. */
#include "check.h"

#include <string.h>
#include <unistd.h>

#include "process/file_user.h"

#define IDS                                                                              \
	"\nUid:\t1\t2\t3\t1000\nGid:\t5\t6\t7\t2000\nFDSize:\t64\nGroups:\t4 24 "        \
	"27 \nNStgid:\t9\n"

static void ids_of_the_file_system(void)
{
	struct file_user user;

	CHECK(file_user_parse("Name:\tx" IDS, &user));
	CHECK_INT(user.uid, 1000);
	CHECK_INT(user.gid, 2000);
	CHECK_INT(user.group_count, 3);
	CHECK_INT(user.groups[2], 27);
	CHECK(!user.reads_all);
}

/* A name cannot begin a line: the kernel escapes newlines. */
static void malformed(void)
{
	struct file_user user;

	CHECK(!file_user_parse("", &user));
	CHECK(!file_user_parse("Name:\tUid:\t0\t0\t0\t0\n", &user));
	CHECK(!file_user_parse("Name:\tx\nUid:\t1\t2\t3\nGid:\t1\t2\t3\t4\n", &user));
	CHECK(!file_user_parse("Name:\tx\nUid:\t1\t2\t3\t4\n", &user));
	CHECK(!file_user_read(-1, &user));
}

static void too_many_groups(void)
{
	struct file_user user;
	char text[2000] = "Name:\tx\nUid:\t1\t1\t1\t1\nGid:\t1\t1\t1\t1\nGroups:\t";

	for (unsigned i = 0; i < 100; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%u ", i);
	CHECK(file_user_parse(text, &user));
	CHECK_INT(user.group_count, FILE_USER_GROUPS_MAX);
}

/* Root reads all, unless it has given up the capability. All capabilities in a user
 * namespace of its own do not help a user. */
static void capabilities(void)
{
	static const char root[] = "Name:\tx\nUid:\t0\t0\t0\t0\nGid:\t0\t0\t0\t0\n";
	const struct stat secret = {.st_uid = 7, .st_gid = 7, .st_mode = S_IFREG | 0600};
	struct file_user user;
	char text[200];

	snprintf(text, sizeof(text), "%sCapEff:\t000001ffffffffff\n", root);
	CHECK(file_user_parse(text, &user) && file_user_may_read(&user, &secret));
	snprintf(text, sizeof(text), "%sCapEff:\t0000000000000004\n", root);
	CHECK(file_user_parse(text, &user) && file_user_may_read(&user, &secret));
	snprintf(text, sizeof(text), "%sCapEff:\t0000000000000000\n", root);
	CHECK(file_user_parse(text, &user) && !file_user_may_read(&user, &secret));
	snprintf(text, sizeof(text), "Name:\tx" IDS "CapEff:\t000001ffffffffff\n");
	CHECK(file_user_parse(text, &user) && !file_user_may_read(&user, &secret));
}

static bool may_read(unsigned uid, unsigned gid, mode_t mode)
{
	const struct stat st = {.st_uid = uid, .st_gid = gid, .st_mode = S_IFREG | mode};
	struct file_user user;

	REQUIRE(file_user_parse("Name:\tx" IDS, &user));
	return file_user_may_read(&user, &st);
}

static void modes(void)
{
	CHECK(may_read(1000, 1, 0400));
	CHECK(!may_read(1000, 2000, 0044));
	CHECK(may_read(1, 2000, 0040));
	CHECK(may_read(1, 24, 0040));
	CHECK(!may_read(1, 24, 0404));
	CHECK(may_read(1, 1, 0004));
	CHECK(!may_read(1, 1, 0440));
}

static void ourselves(void)
{
	struct file_user user;

	REQUIRE(file_user_read(getpid(), &user));
	CHECK_INT(user.uid, geteuid());
	CHECK_INT(user.gid, getegid());
}

int main(void)
{
	RUN(ids_of_the_file_system);
	RUN(malformed);
	RUN(too_many_groups);
	RUN(capabilities);
	RUN(modes);
	RUN(ourselves);
	return check_done();
}
