// SPDX-License-Identifier: Apache-2.0
/* The line about functions without names. */
#include "said.h"

#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "output/stripped_note.h"
#include "unit/render/fixture.h"

#define WITHOUT "memtrace: no function names in "
#define FETCH   " have them; --debuginfod fetches them\n"
#define KEEP                                                                             \
	": the file before it was stripped has them; use --save FILE, then --replay "    \
	"FILE "                                                                          \
	"--debug-dir DIR with that file below DIR\n"

static const char *root;

/* The clock is put forward by so much at each look. */
static long step_ms, passed_ms;

/* Instead of the C library's. */
int clock_gettime(clockid_t clock, struct timespec *ret)
{
	int result = (int)syscall(SYS_clock_gettime, clock, ret);

	passed_ms += step_ms;
	ret->tv_nsec += passed_ms % 1000 * 1000000;
	ret->tv_sec += passed_ms / 1000 + ret->tv_nsec / 1000000000;
	ret->tv_nsec %= 1000000000;
	return result;
}

/* Only process 4321, which fixture.h makes, sees this machine's files. */
static bool is_of_here(void *arg, int pid)
{
	(void)arg;
	return pid == 4321;
}

static void check(const struct report *report, bool is_stored, const char *want)
{
	const struct stripped_note note = {.is_stored = is_stored,
					   .is_of_here = root ? is_of_here : NULL,
					   .root = root};
	_cleanup_(freep) char *text = NULL;
	struct said said = said_begin();
	bool is_said = stripped_note_say(&note, report);

	text = said_end(said);
	CHECK(is_said == (*want != '\0'));
	CHECK_STR(text, want);
}

static void files_of_frames(void)
{
	static const char *const paths[] = {"/opt/a.so", "/opt/b.so", "/opt/c\033.so",
					    "/opt/d.so", "/opt/e.so"};
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t named, bare[5], jit;

	fixture_init(&f);
	named = fixture_symbol(&f, "main", "/srv/app/bin/leaky");
	for (size_t i = 0; i < 5; i++)
		bare[i] = fixture_symbol(&f, NULL, paths[i]);
	jit = fixture_symbol(&f, NULL, NULL);
	fixture_module(&f, FIXTURE_BASE + 0x100, FIXTURE_BASE + 0x200, paths[0],
		       "0123abcd");
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, bare[4], bare[2], bare[1],
				    bare[0], bare[0], bare[3], jit, named));
	fixture_report(&f);
	check(f.report, false,
	      "memtrace: no function names in a.so, b.so, c\\x1b.so and 2 more" KEEP);
}

static void nothing_is_said_of_files_with_names(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE,
				    fixture_symbol(&f, "main", "/srv/app/bin/leaky"),
				    fixture_symbol(&f, NULL, NULL),
				    fixture_symbol(&f, NULL, "[vdso]")));
	fixture_report(&f);
	check(f.report, false, "");
}

/* The code that starts a program of musl has no name. The program has names. */
static void starts_of_programs(void)
{
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t named, bare;

	fixture_init(&f);
	named = fixture_symbol(&f, "main", "/opt/program");
	bare = fixture_symbol(&f, NULL, "/opt/program");
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE, named, bare));
	fixture_report(&f);
	check(f.report, false, "");
}

static void stored(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE,
				    fixture_symbol(&f, NULL, "/usr/a.so")));
	fixture_report(&f);
	check(f.report, true,
	      "memtrace: no function names in a.so: debug packages (-dbgsym, -debuginfo) "
	      "have them; unpack them to DIR and add --debug-dir "
	      "DIR\n");
}

/* At most two lines of a terminal, however long the names are. */
static void long_names(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_block(
		&f, BLOCK_HEAP, 8, 1,
		FIXTURE_STACK(
			&f, STACK_END_COMPLETE, fixture_symbol(&f, NULL, "/usr/a.so"),
			fixture_symbol(&f, NULL,
				       "/usr/lib_with_a_long_name.cpython-311-x86_64.so"),
			fixture_symbol(&f, NULL, "/usr/b.so")));
	fixture_report(&f);
	check(f.report, true,
	      "memtrace: no function names in a.so, b.so and 1 more: debug packages "
	      "(-dbgsym, -debuginfo) have them; unpack them to DIR and add --debug-dir "
	      "DIR\n");
}

static void of_files(const char *const paths[], size_t count, const char *want)
{
	_cleanup_(fixture_deinit) struct fixture f;
	uint64_t frames[8];

	fixture_init(&f);
	for (size_t i = 0; i < count; i++)
		frames[i] = fixture_symbol(&f, NULL, paths[i]);
	fixture_module(&f, FIXTURE_BASE, FIXTURE_BASE + 0x100, paths[0], "12ab");
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      fixture_stack(&f, STACK_END_COMPLETE, count, frames));
	fixture_report(&f);
	check(f.report, false, want);
}

/* What no package has installed is the user's own. */
static void own_programs(void)
{
	static const char *const both[] = {"/srv/server", "/usr/lib/libc.so.6",
					   "/usr/local/lib/libown.so"};
	static const char *const without_id[] = {"/lib/libm.so.6", "/home/user/server"};
	_cleanup_(fixture_deinit) struct fixture f;

	of_files(both, 3,
		 WITHOUT "server, libown.so" KEEP WITHOUT
			 "libc.so.6: debug packages (-dbgsym, -debuginfo)" FETCH);
	of_files(without_id, 2,
		 WITHOUT "server: the file before it was stripped has them; trace that "
			 "one, or link with -Wl,--build-id, so that memtrace recognizes "
			 "it\n" WITHOUT
			 "libm.so.6: debug packages (-dbgsym, -debuginfo)" FETCH);
	fixture_init(&f);
	fixture_module(&f, FIXTURE_BASE, FIXTURE_BASE + 0x100, "/srv/server", "12ab");
	fixture_block(&f, BLOCK_HEAP, 8, 1,
		      FIXTURE_STACK(&f, STACK_END_COMPLETE,
				    fixture_symbol(&f, NULL, "/srv/server")));
	fixture_report(&f);
	check(f.report, true,
	      WITHOUT "server: the file before it was stripped has them; put it below "
		      "DIR and add --debug-dir DIR\n");
}

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/%s", root, name);
	file = fopen(path, "we");
	REQUIRE(file);
	fputs(text, file);
	REQUIRE(!fclose(file));
}

/* The packages that own the files, by dpkg's lists. Only whole lines count. */
static void packages(void)
{
	static const char *const one[] = {"/usr/bin/app"};
	static const char *const three[] = {"/usr/lib/libc.so.6", "/usr/bin/app",
					    "/usr/lib/libx.so"};
	static const char *const own[] = {"/srv/server", "/opt/shop/server"};
	static const char *const none[] = {"/usr/bin/ap",
					   "/lib/libc.so.6\n/usr/bin/apply"};
	char dir[] = "/tmp/memtrace-test-XXXXXX", command[256];

	REQUIRE(mkdtemp(dir));
	root = dir;
	of_files(one, 1, WITHOUT "app: debug packages (-dbgsym, -debuginfo)" FETCH);
	snprintf(command, sizeof(command), "mkdir -p %s/var/lib/rpm", dir);
	REQUIRE(!system(command));
	of_files(one, 1, WITHOUT "app: debug packages (-debuginfo)" FETCH);
	snprintf(command, sizeof(command), "mkdir -p %s/var/lib/dpkg/info", dir);
	REQUIRE(!system(command));
	put("app-minimal.list", "/.\n/usr\n/usr/bin\n/usr/bin/app\n/usr/bin/app.conf\n");
	put("libc6:amd64.list", "/lib/libc.so.6\n/usr/bin/apply");
	put("other.list", "/usr/bin/app.conf\n/x/usr/bin/ap\n/usr/lib/libx.so.1\n");
	put("wrong.md5sums", "/usr/lib/libx.so\n");
	put("shop.list", "/opt/shop/server\n");
	of_files(one, 1,
		 WITHOUT "app: debug packages of app-minimal "
			 "(NAME-dbgsym, or -dbg)" FETCH);
	of_files(three, 3,
		 WITHOUT "app, libc.so.6, libx.so: debug packages of "
			 "app-minimal, libc6 "
			 "(NAME-dbgsym, or -dbg)" FETCH);
	of_files(own, 2,
		 WITHOUT "server" KEEP WITHOUT
			 "server: debug packages of shop (NAME-dbgsym, or -dbg)" FETCH);
	of_files(none, 2,
		 WITHOUT "apply, ap: debug packages (-dbgsym, -debuginfo)" FETCH);
	/* The lists take too long. */
	step_ms = 400;
	of_files(one, 1, WITHOUT "app: debug packages (-dbgsym, -debuginfo)" FETCH);
	step_ms = passed_ms = 0;
	/* A container's file has the package of another machine. */
	root = NULL;
	of_files(one, 1, WITHOUT "app: debug packages (-dbgsym, -debuginfo)" FETCH);
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	REQUIRE(!system(command));
}

/* Bytes that this process has read. */
static uint64_t bytes_read(void)
{
	FILE *file = fopen("/proc/self/io", "re");
	uint64_t bytes;

	REQUIRE(file && fscanf(file, "rchar: %" SCNu64, &bytes) == 1);
	fclose(file);
	return bytes;
}

/* Make a list with the path in its first line, and holes behind it. */
static void put_large(const char *name, const char *line, off_t size)
{
	char path[512];

	put(name, line);
	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/%s", root, name);
	REQUIRE(!truncate(path, size));
}

#define MIB ((off_t)1 << 20)

/* A target chooses which files have no names. Only dpkg's lists are opened for them, and
 * not all of them if there are very many bytes. */
static void few_files_are_opened(void)
{
	static const char *const one[] = {"/usr/bin/app"};
	char dir[] = "/tmp/memtrace-test-XXXXXX", command[256], path[128], to[128];
	const char *const fifo[] = {path};
	uint64_t before;

	REQUIRE(mkdtemp(dir));
	root = dir;
	snprintf(command, sizeof(command), "mkdir -p %s/var/lib/dpkg/info", dir);
	REQUIRE(!system(command));
	/* To open these would take for ever. */
	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/fifo.list", dir);
	REQUIRE(!mkfifo(path, 0600));
	of_files(fifo, 1, WITHOUT "fifo.list" KEEP);
	/* A link, and a list that is too large. */
	snprintf(to, sizeof(to), "%s/elsewhere", dir);
	snprintf(path, sizeof(path), "%s/var/lib/dpkg/info/link.list", dir);
	REQUIRE(!symlink(to, path));
	put("../../../../elsewhere", "/usr/bin/app\n");
	put_large("large.list", "/usr/bin/app\n", 8 * MIB + 1);
	of_files(one, 1, WITHOUT "app: debug packages (-dbgsym, -debuginfo)" FETCH);
	/* Very many bytes. */
	for (int i = 0; i < 24; i++) {
		snprintf(path, sizeof(path), "%d.list", i);
		put_large(path, "/usr/bin/other\n", 8 * MIB);
	}
	before = bytes_read();
	of_files(one, 1, WITHOUT "app: debug packages (-dbgsym, -debuginfo)" FETCH);
	CHECK(bytes_read() - before < 73 * MIB);
	root = NULL;
	snprintf(command, sizeof(command), "rm -rf %s", dir);
	REQUIRE(!system(command));
}

int main(void)
{
	RUN(files_of_frames);
	RUN(nothing_is_said_of_files_with_names);
	RUN(starts_of_programs);
	RUN(stored);
	RUN(long_names);
	RUN(own_programs);
	RUN(packages);
	RUN(few_files_are_opened);
	return check_done();
}
