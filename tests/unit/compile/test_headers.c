// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compile/headers.h"

static const struct kernel_offsets usual = {.has_pt_regs = true,
					    .pt_regs_as_embedded = true};

static bool there(const char *dir, const char *name)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", dir, name);
	return access(path, R_OK) == 0;
}

static void embedded_tree_is_private_and_goes_away(void)
{
	struct headers *headers = NULL;
	struct stat st, root;
	char path[256];

	REQUIRE(!headers_create(HEADERS_AUTO, NULL, &usual, &headers));
	CHECK_STR(headers->kind, "embedded");
	CHECK(!headers->path);
	REQUIRE(!headers_unpack(headers));
	CHECK(there(headers->path, "include/linux/kconfig.h"));
	CHECK(there(headers->path, "include/uapi/linux/ptrace.h"));
	REQUIRE(stat(headers->path, &st) == 0 && stat("/", &root) == 0);
	if (headers->temporary)
		CHECK_INT(st.st_mode & 0777, 0700);
	else
		/* A separate file system, which no path of other processes leads to. */
		CHECK(st.st_dev != root.st_dev);
	/* root can mount one, so a crash leaves no directory behind. */
	CHECK(geteuid() != 0 || !headers->temporary);
	snprintf(path, sizeof(path), "%s", headers->path);
	headers_destroy(headers);
	CHECK(access(path, F_OK) != 0);
}

/* A full disk: the message says why the headers could not be written. */
static void no_room(void)
{
	const struct rlimit small = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
	struct headers *headers = NULL;
	struct rlimit old;

	signal(SIGXFSZ, SIG_IGN);
	fflush(stdout);
	REQUIRE(!headers_create(HEADERS_AUTO, NULL, &usual, &headers));
	REQUIRE(!getrlimit(RLIMIT_FSIZE, &old) && !setrlimit(RLIMIT_FSIZE, &small));

	struct error *err = headers_unpack(headers);

	REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
	CHECK_CONTAINS(err ? err->message : NULL, ": File too large");
	error_destroy(err);
	headers_destroy(headers);
}

static void directory_without_headers_is_refused(void)
{
	struct headers *headers = NULL;
	struct error *err = headers_create(HEADERS_DIR, "/usr/bin", &usual, &headers);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_NOT_FOUND);
	CHECK_CONTAINS(err->message, "/usr/bin");
	CHECK_CONTAINS(err->message, "--kernel-headers embedded");
	error_destroy(err);

	err = headers_create(HEADERS_DIR, "/no/such/place", &usual, &headers);
	REQUIRE(err);
	CHECK_CONTAINS(err->message, "/no/such/place");
	error_destroy(err);
}

/* A module directory that Debian splits: the other part of the tree is included by -I. */
static void split_tree(void)
{
	char dir[] = "/tmp/memtrace-test-XXXXXX", command[512];
	struct headers *headers = NULL;

	REQUIRE(mkdtemp(dir));
	snprintf(command, sizeof(command),
		 "mkdir -p %s/source/include/linux %s/build/include && "
		 "touch %s/source/include/linux/kconfig.h",
		 dir, dir, dir);
	REQUIRE(system(command) == 0);
	REQUIRE(!headers_create(HEADERS_DIR, dir, &usual, &headers));
	CHECK_STR(headers->kind, "installed");
	CHECK_CONTAINS(headers->path, "/source");
	REQUIRE(headers->flag_count > 0);
	CHECK_CONTAINS(headers->flags[0], "/build/include");
	headers_destroy(headers);
	/* Files that memtrace did not make stay. */
	CHECK(there(dir, "source/include/linux/kconfig.h"));
	snprintf(command, sizeof(command), "rm -r %s", dir);
	REQUIRE(system(command) == 0);
}

/* If struct pt_regs differs in this kernel, the embedded headers are wrong. memtrace must
 * use installed ones, or report that they are missing. */
static void other_registers_need_installed_headers(void)
{
	static const struct kernel_offsets other = {.has_pt_regs = true};
	struct headers *headers = NULL;
	struct error *err = headers_create(HEADERS_AUTO, NULL, &other, &headers);

	CHECK(!err == !!headers);
	if (headers)
		CHECK_STR(headers->kind, "installed");
	else
		CHECK_CONTAINS(err->message, "pt_regs has an unknown layout");
	headers_destroy(headers);
	error_destroy(err);

	/* --headers embedded uses them nevertheless. */
	REQUIRE(!headers_create(HEADERS_EMBEDDED, NULL, &other, &headers));
	CHECK_STR(headers->kind, "embedded");
	headers_destroy(headers);
}

int main(void)
{
	RUN(embedded_tree_is_private_and_goes_away);
	RUN(no_room);
	RUN(directory_without_headers_is_refused);
	RUN(split_tree);
	RUN(other_registers_need_installed_headers);
	return check_done();
}
