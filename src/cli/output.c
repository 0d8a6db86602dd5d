// SPDX-License-Identifier: Apache-2.0
#include "cli/output.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>

#include "util/cleanup.h"

/* A report of very many stacks is hundreds of megabytes long. */
#define STREAM_BYTES ((size_t)256 * 1024)

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
	*ret = fd;
	fd = -1;
	return NULL;
}

struct error *output_open(const char *path, bool force, struct output *ret)
{
	struct error *err = NULL;

	*ret = (struct output){.path = path, .file = path ? NULL : stdout};
	if (!path) {
		if (!isatty(STDOUT_FILENO))
			setvbuf(stdout, NULL, _IOFBF, STREAM_BYTES);
		return NULL;
	}

	_cleanup_(closep) int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	ret->created = fd >= 0;
	if (fd < 0 && errno == EEXIST && !force)
		return error_create(ERROR_IO,
				    "--output %s exists: use --force (-f) to overwrite "
				    "it, or another name",
				    path);
	if (fd < 0 && errno == EEXIST)
		err = open_existing(path, &fd);
	else if (fd < 0)
		err = error_errno(ERROR_IO, errno, "cannot write --output %s", path);
	if (err)
		return err;
	ret->file = fdopen(fd, "w");
	if (!ret->file)
		return error_no_memory();
	fd = -1;
	setvbuf(ret->file, NULL, _IOFBF, STREAM_BYTES);
	return NULL;
}

struct error *output_begin(struct output *output)
{
	if (output->begun)
		return NULL;
	output->begun = true;
	if (output->path && ftruncate(fileno(output->file), 0))
		return error_errno(ERROR_IO, errno, "cannot empty --output %s",
				   output->path);
	return NULL;
}

static struct error *write_failed(const struct output *output, int err)
{
	return error_errno(ERROR_IO, err, "cannot write the report to %s",
			   output->path ? output->path : "standard output");
}

struct error *output_flush(struct output *output)
{
	errno = EIO; /* for an error that an earlier write has met */
	return fflush(output->file) || ferror(output->file) ? write_failed(output, errno)
							    : NULL;
}

struct error *output_close(struct output *output)
{
	struct error *err = NULL;

	if (!output->file)
		return NULL;
	if (output->begun)
		err = output_flush(output);
	if (output->created && !output->begun)
		unlink(output->path);
	if (output->path && fclose(output->file) && !err)
		err = write_failed(output, errno);
	output->file = NULL;
	return err;
}
