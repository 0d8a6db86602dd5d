// SPDX-License-Identifier: Apache-2.0
#include "bpf/cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/vec.h"
#include "util/whole_io.h"

/* Size limit of one entry. Compiled code has some 100 KB. */
#define ENTRY_MAX_BYTES (16u << 20)

/* At most this many names in the directory are examined. */
#define NAMES_MAX  10000

#define SUFFIX     ".kept"
#define SUFFIX_NEW ".new" /* not complete yet */

/* At most this many notes about ignored entries are kept. */
#define IGNORED_MAX 8

/* A file that is incomplete after this time was left behind by a run that died. */
#define NEW_MAX_S 60

/* How an entry begins. Change the number when the format of entries changes. */
static const char magic[16] = "memtrace kept 2";

struct entry_head {
	char magic[sizeof(magic)];
	uint64_t size_bytes;  /* of the data that follows */
	struct cache_key key; /* a file that was renamed is not taken for another entry */
	uint8_t hash[SHA256_BYTES]; /* of the data */
};

struct entry_name {
	char s[2 * SHA256_BYTES + sizeof(SUFFIX)];
};

bool cache_key_make(const struct strbuf *text, struct cache_key *ret)
{
	if (text->failed)
		return false;
	sha256(strbuf_text(text), text->len, ret->hash);
	return true;
}

static struct entry_name name_of(const struct cache_key *key)
{
	struct entry_name name;

	for (size_t i = 0; i < SHA256_BYTES; i++)
		snprintf(name.s + 2 * i, 3, "%02x", key->hash[i]);
	strcpy(name.s + 2 * SHA256_BYTES, SUFFIX);
	return name;
}

/* --- the directory ---------------------------------------------------------------- */

/* The variable is ignored if file capabilities give memtrace more rights than its user
 * has: the user could put code into the cache. */
static const char *directory_path(void)
{
	const char *named = secure_getenv(CACHE_ENV);

	return named && *named ? named : CACHE_PATH;
}

struct error *cache_open(struct cache *ret)
{
	struct stat st;

	*ret = (struct cache){.dir = -1, .path = strdup(directory_path())};
	if (!ret->path)
		return error_no_memory();
	if (mkdir(ret->path, 0700) && errno != EEXIST)
		return error_errno(ERROR_IO, errno, "cannot make the directory %s",
				   ret->path);

	_cleanup_(closep) int dir =
		open(ret->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (dir < 0 || fstat(dir, &st))
		return error_errno(ERROR_IO, errno, "cannot open the directory %s",
				   ret->path);
	if (st.st_uid != geteuid() || st.st_mode & (S_IRWXG | S_IRWXO))
		return error_create(ERROR_PERMISSION,
				    "%s does not belong to user %d with mode 0700: "
				    "compiled probes are not kept there",
				    ret->path, (int)geteuid());
	ret->dir = dir;
	dir = -1;
	return NULL;
}

void cache_close(struct cache *cache)
{
	closep(&cache->dir);
	cache->dir = -1;
	free(cache->path);
	cache->path = NULL;
	vec_foreach (err, &cache->ignored)
		error_destroy(*err);
	vec_deinit(&cache->ignored);
	error_destroy(cache->unstored);
	cache->unstored = NULL;
}

/* --- one entry -------------------------------------------------------------------- */

/* What is wrong with the file of an entry, or NULL. */
static const char *flaw_of_file(const struct stat *st)
{
	if (!S_ISREG(st->st_mode))
		return "it is not a regular file";
	if (st->st_uid != geteuid())
		return "it belongs to another user";
	if (st->st_mode & (S_IRWXG | S_IRWXO))
		return "other users may access it";
	if (st->st_nlink != 1)
		return "the file has another name elsewhere";
	return st->st_size > ENTRY_MAX_BYTES ? "it is too large" : NULL;
}

static const char *flaw_of_head(const struct entry_head *head,
				const struct cache_key *key, off_t file_bytes)
{
	if (memcmp(head->magic, magic, sizeof(magic)) != 0)
		return "another version of memtrace has made it, or it is damaged";
	if (head->size_bytes != (uint64_t)file_bytes - sizeof(*head))
		return "it is incomplete";
	if (memcmp(&head->key, key, sizeof(*key)) != 0)
		return "it was stored under another name, or is damaged";
	return NULL;
}

/* Read the contents of an entry: *size bytes at *ret, which the caller frees. Returns
 * what is wrong with it, or NULL. */
static const char *read_entry(int fd, const struct cache_key *key, void **ret,
			      size_t *size)
{
	struct entry_head head;
	uint8_t hash[SHA256_BYTES];
	struct stat st;
	const char *flaw;

	if (fstat(fd, &st))
		return "it cannot be read";
	flaw = flaw_of_file(&st);
	if (flaw)
		return flaw;
	if (!whole_pread(fd, &head, sizeof(head), 0))
		return "it is incomplete";
	flaw = flaw_of_head(&head, key, st.st_size);
	if (flaw)
		return flaw;

	_cleanup_(freep) void *bytes = malloc(head.size_bytes + 1);

	if (!bytes || !whole_pread(fd, bytes, head.size_bytes, sizeof(head)))
		return "it cannot be read";
	sha256(bytes, head.size_bytes, hash);
	if (memcmp(hash, head.hash, sizeof(hash)) != 0)
		return "it is damaged";
	*size = head.size_bytes;
	*ret = take(bytes);
	return NULL;
}

void *cache_get(struct cache *cache, const struct cache_key *key, size_t *size)
{
	void *bytes = NULL;
	const char *flaw;

	if (cache->dir < 0)
		return NULL;

	_cleanup_(closep) int fd =
		openat(cache->dir, name_of(key).s,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

	if (fd >= 0)
		flaw = read_entry(fd, key, &bytes, size);
	else
		flaw = errno == ENOENT  ? NULL
		       : errno == ELOOP ? "it is a symbolic link"
					: "it cannot be opened";
	if (flaw)
		cache_ignore(cache, key, flaw);
	/* Mark it as used, so that it is not evicted next. */
	if (bytes)
		(void)futimens(fd, NULL);
	return bytes;
}

void cache_ignore(struct cache *cache, const struct cache_key *key, const char *why)
{
	struct error *err;

	if (cache->ignored.len >= IGNORED_MAX)
		return;
	err = error_create(ERROR_IO, "%s/%s is not used: %s", cache->path, name_of(key).s,
			   why);
	if (!vec_push(&cache->ignored, err))
		error_destroy(err);
}

/* --- how much there is ------------------------------------------------------------ */

struct kept {
	char name[sizeof(struct entry_name) + 32];
	struct timespec used;
	off_t size_bytes;
};

static int by_age(const void *a, const void *b)
{
	const struct kept *one = a, *other = b;

	if (one->used.tv_sec != other->used.tv_sec)
		return one->used.tv_sec < other->used.tv_sec ? -1 : 1;
	return one->used.tv_nsec < other->used.tv_nsec
		       ? -1
		       : one->used.tv_nsec > other->used.tv_nsec;
}

static bool ends_with(const char *text, const char *end)
{
	size_t len = strlen(text), end_len = strlen(end);

	return len >= end_len && !strcmp(text + len - end_len, end);
}

/* Remove the oldest entries until the size limit is met, and incomplete files that are
 * old. */
static void prune(int dir_fd)
{
	VEC(struct kept) all = {0};
	int copy = openat(dir_fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_(closedirp) DIR *dir = copy < 0 ? NULL : fdopendir(copy);
	off_t sum = 0;
	struct dirent *at;

	if (!dir) {
		closep(&copy);
		return;
	}
	for (int n = 0; n < NAMES_MAX && (at = readdir(dir)); n++) {
		struct kept kept;
		struct stat st;

		if (fstatat(dir_fd, at->d_name, &st, AT_SYMLINK_NOFOLLOW) ||
		    !S_ISREG(st.st_mode) || strlen(at->d_name) >= sizeof(kept.name))
			continue;
		if (ends_with(at->d_name, SUFFIX_NEW) &&
		    st.st_mtim.tv_sec + NEW_MAX_S < time(NULL))
			unlinkat(dir_fd, at->d_name, 0);
		if (!ends_with(at->d_name, SUFFIX))
			continue;
		strcpy(kept.name, at->d_name);
		kept.used = st.st_mtim;
		kept.size_bytes = st.st_size;
		sum += st.st_size;
		if (!vec_push(&all, kept))
			break;
	}
	if (all.len)
		qsort(all.data, all.len, sizeof(*all.data), by_age);
	vec_foreach (kept, &all) {
		if (sum <= (off_t)CACHE_BYTES)
			break;
		if (!unlinkat(dir_fd, kept->name, 0))
			sum -= kept->size_bytes;
	}
	vec_deinit(&all);
}

bool cache_is_empty(void)
{
	_cleanup_(closedirp) DIR *dir = opendir(directory_path());
	const struct dirent *at;

	if (!dir)
		return true;
	for (int n = 0; n < NAMES_MAX && (at = readdir(dir)); n++)
		if (ends_with(at->d_name, SUFFIX))
			return false;
	return true;
}

/* Write the entry to the file. Returns 0, or an errno. */
static int write_entry(int fd, const struct cache_key *key, const void *bytes,
		       size_t size)
{
	struct entry_head head = {.size_bytes = size, .key = *key};

	memcpy(head.magic, magic, sizeof(magic));
	sha256(bytes, size, head.hash);
	return whole_write(fd, &head, sizeof(head)) && whole_write(fd, bytes, size)
		       ? 0
		       : errno;
}

/* Returns 0, or an errno. */
static int store(const struct cache *cache, const struct cache_key *key,
		 const void *bytes, size_t size)
{
	struct entry_name name = name_of(key);
	char name_new[sizeof(struct kept)];

	snprintf(name_new, sizeof(name_new), "%s.%d" SUFFIX_NEW, name.s, (int)getpid());

	_cleanup_(closep) int fd =
		openat(cache->dir, name_new,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	int err = fd < 0 ? errno : write_entry(fd, key, bytes, size);

	if (!err && renameat(cache->dir, name_new, cache->dir, name.s))
		err = errno;
	if (err && fd >= 0)
		unlinkat(cache->dir, name_new, 0);
	prune(cache->dir);
	return err;
}

void cache_put(struct cache *cache, const struct cache_key *key, const void *bytes,
	       size_t size)
{
	int err;

	if (cache->dir < 0)
		return;
	err = size > ENTRY_MAX_BYTES - sizeof(struct entry_head)
		      ? EFBIG
		      : store(cache, key, bytes, size);
	if (err && !cache->unstored)
		cache->unstored = error_errno(ERROR_IO, err, "cannot write %s/%s",
					      cache->path, name_of(key).s);
}

void cache_drop(const struct cache *cache, const struct cache_key *key)
{
	if (cache->dir >= 0)
		unlinkat(cache->dir, name_of(key).s, 0);
}
