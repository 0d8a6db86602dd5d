// SPDX-License-Identifier: Apache-2.0
#include "files/new_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/path.h"

#define TEMPORARY_TRY 16

/* Temporary names are this prefix and 16 hex digits. */
#define TEMPORARY_PREFIX ".memtrace-"

static struct error *cannot_write(const struct new_file *file, int err)
{
	return error_errno(ERROR_IO, err, "cannot write --%s %s", file->option,
			   file->path);
}

/* stdio does not keep the errno of an earlier failed write, so keep it here. */
static ssize_t write_cookie(void *cookie, const char *data, size_t size)
{
	struct new_file *file = cookie;
	size_t done = 0;

	while (done < size) {
		ssize_t n = write(file->fd, data + done, size - done);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			if (!file->write_errno)
				file->write_errno = n ? errno : EIO;
			return 0;
		}
		done += (size_t)n;
	}
	return (ssize_t)done;
}

static struct error *open_directory(struct new_file *file)
{
	const char *slash = strrchr(file->path, '/');
	_cleanup_(freep) char *dir = NULL;

	file->base = slash ? slash + 1 : file->path;
	if (!*file->base || !strcmp(file->base, ".") || !strcmp(file->base, ".."))
		return error_create(ERROR_IO, "--%s %s is not a file name", file->option,
				    file->path);
	/* Include the slash, so that "/name" has a directory too. */
	dir = slash ? strndup(file->path, (size_t)(slash - file->path) + 1) : strdup(".");
	if (!dir)
		return error_no_memory();
	file->dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	return file->dir_fd < 0 ? cannot_write(file, errno) : NULL;
}

static bool make_temporary_name(struct new_file *file)
{
	uint64_t random;

	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		return false;
	snprintf(file->temporary, sizeof(file->temporary), TEMPORARY_PREFIX "%016" PRIx64,
		 random);
	return true;
}

/* For file systems without O_TMPFILE: use a name that cannot be guessed. */
static int open_temporary(struct new_file *file)
{
	int fd = -1;

	for (int i = 0; fd < 0 && i < TEMPORARY_TRY; i++) {
		if (!make_temporary_name(file))
			break;
		fd = openat(file->dir_fd, file->temporary,
			    O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0)
		file->temporary[0] = '\0';
	return fd;
}

/* /dev/null is memory device 1:3 (Documentation/admin-guide/devices.txt). */
static bool is_null_device(int fd)
{
	struct stat st;

	return !fstat(fd, &st) && S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3);
}

static struct error *open_direct(struct new_file *file)
{
	bool is_stdout = !strcmp(file->path, NEW_FILE_STDOUT);

	file->is_direct = true;
	file->fd = is_stdout ? fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, STDERR_FILENO + 1)
			     : open(NEW_FILE_NULL, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file->fd < 0)
		return cannot_write(file, errno);
	if (!is_stdout && !is_null_device(file->fd))
		return error_create(ERROR_IO, "--%s %s is not the device of that name",
				    file->option, file->path);
	return NULL;
}

/* If "." is a directory that was removed, the errno of the kernel does not help the
 * user. */
static struct error *cannot_open(const struct new_file *file, int err)
{
	struct stat st;

	if (!fstat(file->dir_fd, &st) && !st.st_nlink)
		return error_create(ERROR_IO,
				    "cannot write --%s %s: the current directory was "
				    "removed",
				    file->option, file->path);
	return cannot_write(file, err);
}

static struct error *open_nameless(struct new_file *file)
{
	struct error *err = open_directory(file);

	if (err)
		return err;
	file->fd = openat(file->dir_fd, ".", O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600);
	if (file->fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL))
		file->fd = open_temporary(file);
	return file->fd < 0 ? cannot_open(file, errno) : NULL;
}

static struct error *open_stream(struct new_file *file)
{
	file->stream =
		fopencookie(file, "w", (cookie_io_functions_t){.write = write_cookie});
	return file->stream ? NULL : error_no_memory();
}

struct error *new_file_open(const char *option, const char *path, struct new_file *ret)
{
	struct error *err;

	*ret = (struct new_file){.option = option, .path = path, .dir_fd = -1, .fd = -1};
	err = new_file_is_direct(path) ? open_direct(ret) : open_nameless(ret);
	return err ? err : open_stream(ret);
}

struct error *new_file_adopt(const char *option, const char *path, int fd,
			     const struct new_file_maker *maker, struct new_file *ret)
{
	*ret = (struct new_file){
		.maker = maker,
		.option = option,
		.path = path,
		.dir_fd = -1,
		.fd = fd,
	};
	return open_stream(ret);
}

bool new_file_is_direct(const char *path)
{
	return !strcmp(path, NEW_FILE_STDOUT) || !strcmp(path, NEW_FILE_NULL);
}

struct error *new_file_check(const struct new_file *file, bool force,
			     const struct file_identity *own, bool *ret)
{
	struct stat st;

	*ret = false;
	if (file->is_direct)
		return NULL;
	if (file->maker)
		return file->maker->check(file->maker->arg, ret);
	if (fstatat(file->dir_fd, file->base, &st, AT_SYMLINK_NOFOLLOW))
		return errno == ENOENT ? NULL : cannot_write(file, errno);
	if (S_ISLNK(st.st_mode))
		return error_create(ERROR_IO, "--%s %s is a symbolic link: %s",
				    file->option, file->path,
				    strcmp(file->path, "/dev/stdout")
					    ? "name the file"
					    : "'-' is standard output");
	if (!S_ISREG(st.st_mode))
		return error_create(ERROR_IO, "--%s %s is not a regular file",
				    file->option, file->path);
	if (!force && (st.st_ino != own->inode || st.st_dev != own->device))
		return error_create(
			ERROR_IO,
			"--%s %s exists: use --force (-f) to overwrite it, or "
			"another name",
			file->option, file->path);
	*ret = true;
	return NULL;
}

/* Link the file that has no name yet to `name`, which must be free. */
static int link_nameless(const struct new_file *file, const char *name)
{
	char self[64];

	/* open(2), O_TMPFILE: this needs no capability, unlike AT_EMPTY_PATH. */
	snprintf(self, sizeof(self), "/proc/self/fd/%d", file->fd);
	return linkat(AT_FDCWD, self, file->dir_fd, name, AT_SYMLINK_FOLLOW);
}

/* Give the file its name, which must be free. Atomic: no other file of that name is ever
 * replaced. */
static int link_or_rename(struct new_file *file)
{
	int dir = file->dir_fd;

	if (!file->temporary[0])
		return link_nameless(file, file->base);
	if (!renameat2(dir, file->temporary, dir, file->base, RENAME_NOREPLACE)) {
		file->temporary[0] = '\0';
		return 0;
	}
	/* Some file systems cannot rename with RENAME_NOREPLACE but support links.
	 * new_file_deinit() then removes the temporary name. */
	return errno == EINVAL || errno == ENOSYS
		       ? linkat(dir, file->temporary, dir, file->base, 0)
		       : -1;
}

/* Replace another file. rename(2) does not follow a symbolic link there. */
static int rename_over(struct new_file *file)
{
	if (!file->temporary[0]) {
		if (!make_temporary_name(file))
			return -1;
		if (link_nameless(file, file->temporary)) {
			file->temporary[0] = '\0';
			return -1;
		}
	}
	if (renameat(file->dir_fd, file->temporary, file->dir_fd, file->base))
		return -1;
	file->temporary[0] = '\0';
	return 0;
}

struct error *new_file_flush(struct new_file *file)
{
	if (fflush(file->stream) || ferror(file->stream))
		return cannot_write(file, file->write_errno ? file->write_errno : EIO);
	return NULL;
}

void new_file_truncate(struct new_file *file, off_t size_bytes)
{
	/* fclose() writes the buffered data, so close before cutting. */
	if (file->stream)
		fclose(file->stream);
	file->stream = NULL;
	if (!file->is_direct && ftruncate(file->fd, size_bytes) && !file->write_errno)
		file->write_errno = errno;
}

struct error *new_file_rewind(struct new_file *file, off_t size_bytes)
{
	new_file_truncate(file, size_bytes);
	file->write_errno = 0;
	if (!file->is_direct)
		lseek(file->fd, size_bytes, SEEK_SET);
	return open_stream(file);
}

/* Has the file its name already? Then rename(2) would leave the temporary one. */
static bool has_name(const struct new_file *file)
{
	struct stat named, open_file;

	return !fstatat(file->dir_fd, file->base, &named, AT_SYMLINK_NOFOLLOW) &&
	       !fstat(file->fd, &open_file) && named.st_dev == open_file.st_dev &&
	       named.st_ino == open_file.st_ino;
}

static struct error *give_name(struct new_file *file, bool force,
			       const struct file_identity *own)
{
	bool in_place;
	struct error *err;

	if (file->maker)
		return file->maker->give_name(file->maker->arg);
	/* EINVAL: the file system has no disk. */
	if (fsync(file->fd) && errno != EINVAL)
		return cannot_write(file, errno);
	err = new_file_check(file, force, own, &in_place);
	if (err || has_name(file))
		return err;
	return (in_place ? rename_over(file) : link_or_rename(file))
		       ? cannot_write(file, errno)
		       : NULL;
}

struct error *new_file_give_name(struct new_file *file, bool force,
				 struct file_identity *own)
{
	struct stat st;
	struct error *err;

	err = new_file_flush(file);
	if (err || file->is_direct)
		return err;
	if (fstat(file->fd, &st))
		return cannot_write(file, errno);
	err = give_name(file, force, own);
	if (!err)
		*own = (struct file_identity){st.st_dev, st.st_ino};
	return err;
}

void new_file_deinit(struct new_file *file)
{
	/* fclose() writes the buffered data. That does no harm: the file has no name, or
	 * is written directly and has its beginning already. */
	if (file->stream)
		fclose(file->stream);
	if (file->temporary[0])
		unlinkat(file->dir_fd, file->temporary, 0);
	if (file->fd >= 0)
		close(file->fd);
	if (file->dir_fd >= 0)
		close(file->dir_fd);
	if (file->maker)
		file->maker->drop(file->maker->arg);
	*file = (struct new_file)NEW_FILE_NONE;
}

static bool is_temporary(const char *path)
{
	const char *base = path_base_name(path);
	size_t prefix = strlen(TEMPORARY_PREFIX);

	return !strncmp(base, TEMPORARY_PREFIX, prefix) &&
	       strspn(base + prefix, "0123456789abcdef") == 16 && !base[prefix + 16];
}

/* Does `path` name the file of the descriptor? */
static bool is_file(const char *path, int fd)
{
	struct stat named, open_file;

	return !lstat(path, &named) && !fstat(fd, &open_file) &&
	       named.st_dev == open_file.st_dev && named.st_ino == open_file.st_ino;
}

void new_file_remove_temporaries(void)
{
	const struct dirent *entry;
	_cleanup_(closedirp) DIR *dir = opendir("/proc/self/fd");

	while (dir && (entry = readdir(dir))) {
		char path[PATH_MAX];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, path, sizeof(path) - 1);

		path[n > 0 ? n : 0] = '\0';
		if (is_temporary(path) && is_file(path, atoi(entry->d_name)))
			unlink(path);
	}
}
