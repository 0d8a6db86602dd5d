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

/* A file that is incomplete after this time was left behind by a run that died. */
#define NEW_MAX_S 60

/* How an entry begins. Change the number when the format of entries changes. */
static const char magic[16] = "memtrace kept 1";

struct entry_head {
	char magic[sizeof(magic)];
	uint64_t size_bytes; /* of the data that follows */
	uint8_t hash[SHA256_BYTES];
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

	ret->dir = -1;
	ret->path = strdup(directory_path());
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
}

/* --- one entry -------------------------------------------------------------------- */

static bool is_own(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_uid == geteuid() && st->st_nlink == 1 &&
	       !(st->st_mode & (S_IRWXG | S_IRWXO));
}

/* Read the contents of an entry: *size bytes, which the caller frees. Returns NULL if the
 * entry is not to be trusted. */
static void *read_entry(int fd, size_t *size)
{
	struct entry_head head;
	uint8_t hash[SHA256_BYTES];
	struct stat st;

	if (fstat(fd, &st) || !is_own(&st) || st.st_size > ENTRY_MAX_BYTES ||
	    !whole_pread(fd, &head, sizeof(head), 0) ||
	    memcmp(head.magic, magic, sizeof(magic)) != 0 ||
	    head.size_bytes != (uint64_t)st.st_size - sizeof(head))
		return NULL;

	_cleanup_(freep) void *bytes = malloc(head.size_bytes + 1);

	if (!bytes || !whole_pread(fd, bytes, head.size_bytes, sizeof(head)))
		return NULL;
	sha256(bytes, head.size_bytes, hash);
	if (memcmp(hash, head.hash, sizeof(hash)) != 0)
		return NULL;
	*size = head.size_bytes;
	return take(bytes);
}

void *cache_get(const struct cache *cache, const struct cache_key *key, size_t *size)
{
	if (cache->dir < 0)
		return NULL;

	_cleanup_(closep) int fd =
		openat(cache->dir, name_of(key).s,
		       O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	void *bytes = fd < 0 ? NULL : read_entry(fd, size);

	/* Mark it as used, so that it is not evicted next. */
	if (bytes)
		(void)futimens(fd, NULL);
	return bytes;
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

void cache_put(const struct cache *cache, const struct cache_key *key, const void *bytes,
	       size_t size)
{
	struct entry_head head = {.size_bytes = size};
	struct entry_name name = name_of(key);
	char name_new[sizeof(struct kept)];

	if (cache->dir < 0 || size > ENTRY_MAX_BYTES - sizeof(head))
		return;
	memcpy(head.magic, magic, sizeof(magic));
	sha256(bytes, size, head.hash);
	snprintf(name_new, sizeof(name_new), "%s.%d" SUFFIX_NEW, name.s, (int)getpid());

	_cleanup_(closep) int fd =
		openat(cache->dir, name_new,
		       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0)
		return;
	if (!whole_write(fd, &head, sizeof(head)) || !whole_write(fd, bytes, size) ||
	    renameat(cache->dir, name_new, cache->dir, name.s))
		unlinkat(cache->dir, name_new, 0);
	prune(cache->dir);
}

void cache_drop(const struct cache *cache, const struct cache_key *key)
{
	if (cache->dir >= 0)
		unlinkat(cache->dir, name_of(key).s, 0);
}
