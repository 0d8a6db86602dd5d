// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "util/cleanup.h"

static struct error *open_existing(const char *path, int *ret)
{
	/* Non-blocking, or a FIFO would keep us here. */
	_cleanup_(closep) int fd =
		open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	struct stat st;

	if (fd < 0 && errno == ELOOP)
		return error_create(
			ERROR_IO, "--output %s is a symbolic link: name the file", path);
	if (fd < 0 || fstat(fd, &st))
		return error_errno(ERROR_IO, errno, "cannot write --output %s", path);
	if (!S_ISREG(st.st_mode))
		return error_create(ERROR_IO, "--output %s is not a regular file", path);
	if (ftruncate(fd, 0))
		return error_errno(ERROR_IO, errno, "cannot empty --output %s", path);
	*ret = fd;
	fd = -1;
	return NULL;
}

struct error *output_open(const char *path, bool force, FILE **ret)
{
	struct error *err = NULL;

	if (!path) {
		*ret = stdout;
		return NULL;
	}

	_cleanup_(closep) int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 && errno == EEXIST && !force)
		return error_create(ERROR_IO,
				    "--output %s exists: use --force (-f) to "
				    "overwrite it, or another name",
				    path);
	if (fd < 0 && errno == EEXIST)
		err = open_existing(path, &fd);
	else if (fd < 0)
		err = error_errno(ERROR_IO, errno, "cannot write --output %s", path);
	if (err)
		return err;
	*ret = fdopen(fd, "w");
	if (!*ret)
		return error_no_memory();
	fd = -1;
	return NULL;
}

static struct error *write_failed(const char *path)
{
	return error_errno(ERROR_IO, errno, "cannot write the report to %s",
			   path ? path : "standard output");
}

struct error *output_flush(FILE *out, const char *path)
{
	return fflush(out) || ferror(out) ? write_failed(path) : NULL;
}

struct error *output_close(FILE *out, const char *path)
{
	if (!out)
		return NULL;
	if (out == stdout)
		return output_flush(out, path);

	struct error *err = output_flush(out, path);

	if (fclose(out) && !err)
		err = write_failed(path);
	return err;
}
