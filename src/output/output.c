// SPDX-License-Identifier: Apache-2.0
#include "output/output.h"

#include <errno.h>
#include <stdio_ext.h>
#include <unistd.h>

#include "util/unread.h"

/* Large, because reports of many stacks reach hundreds of megabytes. */
#define STREAM_BYTES ((size_t)256 * 1024)

static struct error *open_file(struct output *output)
{
	bool in_place;
	struct error *err = writer_open(output->writer, WRITER_REPORT, NULL, output->path,
					&output->whole);

	if (!err)
		err = new_file_check(&output->whole, output->force, &output->own,
				     &in_place);
	return err;
}

struct error *output_open(const char *path, bool force, struct writer *writer,
			  struct output *ret)
{
	/* glibc ignores the size without a buffer. */
	static char buffer[STREAM_BYTES];
	struct error *err;

	*ret = (struct output){.path = path, .writer = writer, .force = force};
	if (!path) {
		ret->file = stdout;
		if (!isatty(STDOUT_FILENO))
			setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
		return NULL;
	}
	err = open_file(ret);
	if (err)
		new_file_deinit(&ret->whole);
	else
		ret->file = ret->whole.stream;
	return err;
}

struct error *output_flush(struct output *output)
{
	struct error *err = NULL;

	if (!output->path) {
		/* For the error of an earlier write, whose errno is lost. */
		errno = fd_write_errno(fileno(output->file));
		return fflush(output->file) || ferror(output->file)
			       ? error_errno(ERROR_IO, errno,
					     "cannot write the report to standard output")
			       : NULL;
	}
	/* Later reports follow the first one in the same file, even if it was renamed
	 * meanwhile. */
	err = output->good_bytes
		      ? new_file_flush(&output->whole)
		      : new_file_give_name(&output->whole, output->force, &output->own);
	if (!err)
		output->good_bytes = lseek(output->whole.fd, 0, SEEK_CUR);
	return err;
}

struct error *output_discard(struct output *output)
{
	struct error *err;

	if (!output->path) {
		__fpurge(output->file);
		clearerr(output->file);
		return NULL;
	}
	err = new_file_rewind(&output->whole, output->good_bytes);
	output->file = err ? NULL : output->whole.stream;
	return err;
}

void output_close(struct output *output)
{
	if (output->path) {
		new_file_truncate(&output->whole, output->good_bytes);
		new_file_deinit(&output->whole);
	}
	output->file = NULL;
}
