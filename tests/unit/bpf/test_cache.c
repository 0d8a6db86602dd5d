// SPDX-License-Identifier: Apache-2.0
/* Entries that are kept from run to run, and entries that are not trusted. */
#include "bpf/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <glob.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static char root[] = "/tmp/memtrace-test-XXXXXX";
static char directory[64], entry_path[256];
static struct cache cache;
static const struct cache_key key = {{1, 2, 3}}, other_key = {{4, 5, 6}};

#define WORDS 3000

/* Keeps words that contain `number`. */
static void put(const struct cache_key *of, uint32_t number)
{
	uint32_t words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = number;
	cache_put(&cache, of, words, sizeof(words));
}

/* The number in the entry. 0: no entry. UINT32_MAX: the words differ from what put()
 * wrote. */
static uint32_t get(const struct cache_key *of)
{
	size_t size = 0;
	uint32_t *words = cache_get(&cache, of, &size), number = words ? words[0] : 0;

	for (int i = 0; words && i < WORDS; i++)
		if (size != WORDS * sizeof(*words) || words[i] != number)
			number = UINT32_MAX;
	free(words);
	return number;
}

static void clear_ignored(void)
{
	while (cache.ignored.len)
		error_destroy(cache.ignored.data[--cache.ignored.len]);
}

/* The entry exists, but get() does not return it, and the note says why. */
static void check_ignored(const char *why)
{
	char wanted[512];

	clear_ignored();
	CHECK_INT(get(&key), 0);
	CHECK_INT(cache.ignored.len, 1);
	if (cache.ignored.len != 1)
		return;
	snprintf(wanted, sizeof(wanted), "%s is not used: %s", entry_path, why);
	CHECK_STR(cache.ignored.data[0]->message, wanted);
}

static size_t count(const char *pattern)
{
	char path[256];
	glob_t found;
	size_t n;

	snprintf(path, sizeof(path), "%s/%s", directory, pattern);
	n = glob(path, 0, NULL, &found) == 0 ? found.gl_pathc : 0;
	globfree(&found);
	return n;
}

/* Makes an empty directory with one valid entry, whose path is entry_path. */
static void begin(void)
{
	char command[128];
	glob_t found;

	cache_close(&cache);
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	REQUIRE(system(command) == 0);
	REQUIRE(!cache_open(&cache));
	put(&key, 7);
	snprintf(command, sizeof(command), "%s/*", directory);
	REQUIRE(glob(command, 0, NULL, &found) == 0 && found.gl_pathc == 1);
	strcpy(entry_path, found.gl_pathv[0]);
	globfree(&found);
	REQUIRE(get(&key) == 7);
}

static void what_is_put_is_there(void)
{
	struct stat st;

	begin();
	CHECK_INT(get(&other_key), 0);
	/* There is none: nothing is wrong. */
	CHECK_INT(cache.ignored.len, 0);
	put(&other_key, 8);
	CHECK(!cache.unstored);
	CHECK_INT(get(&key), 7);
	CHECK_INT(get(&other_key), 8);
	put(&key, 9);
	CHECK_INT(get(&key), 9);
	cache_drop(&cache, &key);
	CHECK_INT(get(&key), 0);
	CHECK_INT(get(&other_key), 8);
	CHECK_INT(count("*"), 1);
	REQUIRE(stat(directory, &st) == 0);
	CHECK_INT(st.st_mode & 07777, 0700);
}

/* What the note says if this byte of the entry is damaged. */
static const char *damage_at(off_t at)
{
	return at < 16       ? "another version of memtrace has made it, or it is damaged"
	       : at < 16 + 8 ? "it is incomplete"
	       : at < 16 + 8 + 32 ? "it was stored under another name, or is damaged"
				  : "it is damaged";
}

/* Damages each byte of the entry. */
static void damaged(void)
{
	struct stat st;
	int fd;

	begin();
	fd = open(entry_path, O_RDWR | O_CLOEXEC);
	REQUIRE(fd >= 0 && fstat(fd, &st) == 0);
	for (off_t at = 0; at < st.st_size; at += at < 200 ? 1 : 101) {
		unsigned char was, now;

		REQUIRE(pread(fd, &was, 1, at) == 1);
		now = was ^ 0x10;
		REQUIRE(pwrite(fd, &now, 1, at) == 1);
		check_ignored(damage_at(at));
		REQUIRE(pwrite(fd, &was, 1, at) == 1);
	}
	CHECK_INT(get(&key), 7);
	REQUIRE(ftruncate(fd, st.st_size + 1) == 0);
	check_ignored("it is incomplete");
	for (off_t size = st.st_size - 1; size > 0; size /= 2) {
		REQUIRE(ftruncate(fd, size) == 0);
		check_ignored("it is incomplete");
	}
	REQUIRE(ftruncate(fd, 0) == 0);
	check_ignored("it is incomplete");
	/* Larger than any entry. */
	REQUIRE(ftruncate(fd, (off_t)1 << 40) == 0);
	check_ignored("it is too large");
	close(fd);
}

/* The entry is not a regular file, or other users can change it. The next put replaces
 * it. */
static void untrusted(void)
{
	char elsewhere[128];

	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", root);
	begin();
	REQUIRE(chmod(entry_path, 0620) == 0);
	check_ignored("other users may access it");
	REQUIRE(chmod(entry_path, 0606) == 0);
	check_ignored("other users may access it");
	put(&key, 8);
	CHECK_INT(get(&key), 8);

	if (geteuid() == 0) {
		REQUIRE(chown(entry_path, 1, 1) == 0);
		check_ignored("it belongs to another user");
		put(&key, 9);
		CHECK_INT(get(&key), 9);
	}

	REQUIRE(link(entry_path, elsewhere) == 0);
	check_ignored("the file has another name elsewhere");
	REQUIRE(unlink(entry_path) == 0);
	REQUIRE(symlink(elsewhere, entry_path) == 0);
	check_ignored("it is a symbolic link");
	put(&key, 10);
	CHECK_INT(get(&key), 10);

	/* A FIFO without a writer. */
	REQUIRE(unlink(entry_path) == 0 && mkfifo(entry_path, 0600) == 0);
	check_ignored("it is not a regular file");
	put(&key, 11);
	CHECK_INT(get(&key), 11);

	REQUIRE(unlink(entry_path) == 0 && mkdir(entry_path, 0700) == 0);
	CHECK_INT(get(&key), 0);
	put(&key, 12);
	CHECK_INT(get(&key), 0);
	CHECK_INT(count("*.new"), 0);
	CHECK(cache.unstored);
	if (cache.unstored)
		CHECK_CONTAINS(cache.unstored->message, entry_path);
	REQUIRE(rmdir(entry_path) == 0);
	unlink(elsewhere);
}

/* A valid entry that was renamed is not taken for the entry of its new name. */
static void of_another_key(void)
{
	char other_path[256];

	begin();
	put(&other_key, 8);
	REQUIRE(unlink(entry_path) == 0);
	snprintf(other_path, sizeof(other_path), "%s/040506%058d.kept", directory, 0);
	REQUIRE(rename(other_path, entry_path) == 0);
	check_ignored("it was stored under another name, or is damaged");
	put(&key, 9);
	CHECK_INT(get(&key), 9);
}

/* Notes do not pile up. */
static void few_notes(void)
{
	begin();
	REQUIRE(chmod(entry_path, 0606) == 0);
	for (int i = 0; i < 100; i++)
		CHECK_INT(get(&key), 0);
	CHECK_INT(cache.ignored.len, 8);
}

/* Checks that no cache opens, and the message. */
static void check_no_cache(const char *message)
{
	struct error *err;

	cache_close(&cache);
	err = cache_open(&cache);
	CHECK(err);
	if (err)
		CHECK_CONTAINS(err->message, message);
	error_destroy(err);
	CHECK_INT(cache.dir, -1);
	put(&key, 1);
	CHECK_INT(get(&key), 0);
	cache_drop(&cache, &key);
}

static void directory_of_others(void)
{
	char elsewhere[128];

	begin();
	REQUIRE(chmod(directory, 0755) == 0);
	check_no_cache("mode 0700");
	REQUIRE(chmod(directory, 0700) == 0);
	if (geteuid() == 0) {
		REQUIRE(chown(directory, 1, 1) == 0);
		check_no_cache("mode 0700");
		REQUIRE(chown(directory, 0, 0) == 0);
	}
	begin();
	snprintf(elsewhere, sizeof(elsewhere), "%s/moved", root);
	REQUIRE(rename(directory, elsewhere) == 0);
	REQUIRE(symlink(elsewhere, directory) == 0);
	check_no_cache(directory);
	REQUIRE(unlink(directory) == 0);
	fclose(fopen(directory, "w"));
	check_no_cache(directory);
	REQUIRE(unlink(directory) == 0);
	REQUIRE(rename(elsewhere, directory) == 0);
	cache_close(&cache);
	REQUIRE(!cache_open(&cache));
	CHECK_INT(get(&key), 7);
}

/* As on a full disk. */
static void no_room(void)
{
	struct rlimit before, little;

	begin();
	REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
	little = before;
	little.rlim_cur = 500;
	signal(SIGXFSZ, SIG_IGN);
	REQUIRE(setrlimit(RLIMIT_FSIZE, &little) == 0);
	put(&key, 8);
	put(&other_key, 8);
	REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
	CHECK_INT(get(&key), 7);
	CHECK_INT(get(&other_key), 0);
	CHECK_INT(count("*"), 1);
	CHECK(cache.unstored);
	if (cache.unstored)
		CHECK_CONTAINS(cache.unstored->message, "File too large");
}

static void it_does_not_grow_without_end(void)
{
	const struct timespec old[] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	char path[512];

	begin();
	/* With the existing entry, a little more than the limit. */
	for (unsigned i = 0; i < CACHE_BYTES >> 20; i++) {
		int fd;

		snprintf(path, sizeof(path), "%s/%02u.kept", directory, i);
		fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
		REQUIRE(fd >= 0 && ftruncate(fd, 1 << 20) == 0);
		REQUIRE(futimens(fd, (struct timespec[]){{.tv_sec = 2000 + i},
							 {.tv_sec = 2000 + i}}) == 0);
		close(fd);
	}
	/* The oldest entry, but just used. And a file that a run has not finished. */
	REQUIRE(utimensat(AT_FDCWD, entry_path, old, 0) == 0);
	CHECK_INT(get(&key), 7);
	snprintf(path, sizeof(path), "%s/x.1.new", directory);
	fclose(fopen(path, "w"));
	REQUIRE(utimensat(AT_FDCWD, path, old, 0) == 0);

	put(&other_key, 8);
	CHECK_INT(get(&key), 7);
	CHECK_INT(get(&other_key), 8);
	CHECK_INT(count("00.kept"), 0);
	CHECK_INT(count("01.kept"), 1);
	CHECK_INT(count("63.kept"), 1);
	CHECK_INT(count("*.new"), 0);
}

/* Two processes fill and read the cache at once: each entry that they read is
 * complete. */
static void two_at_once(void)
{
	pid_t child;
	int status = 0;

	begin();
	child = fork();
	REQUIRE(child >= 0);
	for (uint32_t i = 1; i <= 300; i++) {
		uint32_t got;

		put(&key, (child ? 1000 : 2000) + i);
		got = get(&key);
		if (got <= 1000 || got > 2300) {
			CHECK_INT(got, 0);
			break;
		}
	}
	if (!child)
		_exit(check_state.failures != 0);
	REQUIRE(waitpid(child, &status, 0) == child);
	CHECK_INT(status, 0);
	CHECK(get(&key) > 1000);
	CHECK_INT(count("*"), 1);
}

int main(void)
{
	char command[128];

	REQUIRE(mkdtemp(root));
	snprintf(directory, sizeof(directory), "%s/cache", root);
	setenv(CACHE_ENV, directory, 1);
	cache.dir = -1;
	RUN(what_is_put_is_there);
	RUN(damaged);
	RUN(untrusted);
	RUN(of_another_key);
	RUN(few_notes);
	RUN(directory_of_others);
	RUN(no_room);
	RUN(it_does_not_grow_without_end);
	RUN(two_at_once);
	cache_close(&cache);
	snprintf(command, sizeof(command), "rm -rf %s", root);
	CHECK(system(command) == 0);
	return check_done();
}
