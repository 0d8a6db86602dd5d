// SPDX-License-Identifier: Apache-2.0
#include "output/writer.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "confined/confined.h"
#include "options/option_table.h"
#include "util/cleanup.h"
#include "util/say_error.h"

#define OUTPUTS (OUTPUT_KIND_COUNT + 1)

/* The first item of each request is the number of the output. */
enum request {
	OPEN = 1, /* and the values; the answer has the descriptor */
	CHECK_NAME,
	GIVE_NAME,
	DROP,
	REQUEST_END,
};

/* The option that names the file, without "--". */
static const char *option_of(size_t output)
{
	size_t at = offsetof(struct options, files) + output * sizeof(char *);

	for (size_t i = 0; output != WRITER_REPORT && i < OPTION_ID_COUNT; i++)
		if (option_rows[i].kind == KIND_PATTERN && option_rows[i].offset == at)
			return option_rows[i].name;
	return option_rows[OPTION_OUTPUT].name;
}

static const char *pattern_of(const struct options *options, size_t output)
{
	return output == WRITER_REPORT ? options->output : options->files[output];
}

static bool is_wanted(const struct options *options, size_t output)
{
	const char *pattern = pattern_of(options, output);

	return pattern && !new_file_is_direct(pattern);
}

/* Files of one kind that the screen of --live may write, which never has --force. */
#define LIVE_FILES_MAX 1000

/* --- the child ---------------------------------------------------------------------- */

/* The kernel's PID_MAX_LIMIT (include/linux/threads.h). */
#define PID_MAX (1u << 22)

struct created {
	struct new_file file;
	char *path;       /* owned; NULL: no file is open */
	unsigned written; /* number of files */
};

struct server {
	const struct options *options;
	struct created created[OUTPUTS];
};

static void drop(struct created *created)
{
	if (!created->path)
		return;
	new_file_deinit(&created->file);
	free(take(created->path));
}

static void drop_all(void *state)
{
	struct server *server = state;

	for (size_t i = 0; i < OUTPUTS; i++)
		drop(&server->created[i]);
}

static struct error *create(struct server *server, size_t output, struct wire *in,
			    int *ret_fd)
{
	const char *pattern = pattern_of(server->options, output);
	struct created *created = &server->created[output];
	uint32_t pid = wire_get_u32(in);
	struct file_name_values values = {.pid = (int)pid};
	struct error *err = NULL;

	if (pid > PID_MAX)
		return error_create(ERROR_USAGE, "--%s: no process has the id %d",
				    option_of(output), values.pid);
	values.wall_ns = wire_get_u64(in);
	values.number = wire_get_u64(in);
	drop(created);
	if (output == WRITER_REPORT)
		created->path = strdup(pattern);
	else
		err = file_name_expand(pattern, &values, &created->path);
	if (err)
		return err;
	if (!created->path)
		return error_no_memory();
	err = new_file_open(option_of(output), created->path, &created->file);
	if (err) {
		drop(created);
		return err;
	}
	*ret_fd = fcntl(created->file.fd, F_DUPFD_CLOEXEC, 0);
	return *ret_fd < 0 ? error_errno(ERROR_IO, errno, "cannot write --%s %s",
					 option_of(output), created->path)
			   : NULL;
}

static struct error *check(const struct server *server, const struct created *created,
			   struct strbuf *out)
{
	bool in_place;
	struct error *err = new_file_check(&created->file, server->options->force,
					   &(const struct file_identity){0}, &in_place);

	wire_put_u32(out, in_place);
	return err;
}

static struct error *give_name(const struct server *server, struct created *created)
{
	struct file_identity own = {0};
	struct error *err =
		new_file_give_name(&created->file, server->options->force, &own);

	created->written += !err;
	return err;
}

static struct error *answer(void *state, struct confined_request *request)
{
	struct server *server = state;
	size_t output = wire_get_u32(&request->in);
	struct created *created;

	if (output >= OUTPUTS || !is_wanted(server->options, output))
		return error_create(ERROR_USAGE, "unknown output %zu", output);
	created = &server->created[output];
	/* With --force more requests could overwrite all files whose names differ in the
	 * values. */
	if (created->written >= (server->options->live ? LIVE_FILES_MAX : 1) &&
	    (request->number == OPEN || request->number == GIVE_NAME))
		return error_create(ERROR_USAGE, "--%s is written already",
				    option_of(output));
	if (request->number == OPEN)
		return create(server, output, &request->in, request->ret_fd);
	if (!created->path)
		return error_create(ERROR_USAGE, "--%s is not open", option_of(output));
	switch (request->number) {
	case CHECK_NAME:
		return check(server, created, request->out);
	case GIVE_NAME:
		return give_name(server, created);
	default:
		drop(created);
		return NULL;
	}
}

/* --- the parent --------------------------------------------------------------------- */

struct output_file {
	struct writer *writer;
	struct new_file_maker maker;
};

struct writer {
	struct confined *child;
	struct output_file files[OUTPUTS];
};

static struct error *call(const struct output_file *file, enum request request,
			  struct strbuf *out)
{
	size_t output = (size_t)(file - file->writer->files);
	_cleanup_(strbuf_deinit) struct strbuf in = {0};

	wire_put_u32(&in, (uint32_t)output);
	return confined_call(file->writer->child, request, &in, -1, out, NULL);
}

static struct error *ask_check(void *arg, bool *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct error *err = call(arg, CHECK_NAME, &out);
	struct wire wire = wire_read(&out);

	*ret = !err && wire_get_u32(&wire);
	return err;
}

static struct error *ask_give_name(void *arg)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};

	return call(arg, GIVE_NAME, &out);
}

static void ask_drop(void *arg)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};

	error_destroy(call(arg, DROP, &out));
}

struct error *writer_start(const struct options *options, struct writer **ret)
{
	struct server server = {.options = options};
	const struct confined_service service = {OPEN, REQUEST_END - OPEN, answer,
						 &server};
	const struct confined_options child = {
		.kind = CONFINED_WRITER,
		.name = "memtrace-write",
		.services = &service,
		.service_count = 1,
		.ends = drop_all,
		.ends_arg = &server,
	};
	_cleanup_(error_destroyp) struct error *why = NULL;
	bool is_needed = false;
	struct writer *writer;
	struct error *err;

	*ret = NULL;
	for (size_t i = 0; i < OUTPUTS; i++)
		is_needed |= is_wanted(options, i);
	if (geteuid() || !is_needed)
		return NULL;
	writer = calloc(1, sizeof(*writer));
	if (!writer)
		return error_no_memory();
	for (size_t i = 0; i < OUTPUTS; i++) {
		struct output_file *file = &writer->files[i];

		file->writer = writer;
		file->maker =
			(struct new_file_maker){ask_check, ask_give_name, ask_drop, file};
	}
	err = confined_start(&child, &writer->child, &why);
	if (why)
		say_error("warning: files are created in a process without a filter: ",
			  why, "");
	if (err)
		free(writer);
	else
		*ret = writer;
	return err;
}

void writer_stop(struct writer *writer)
{
	if (!writer)
		return;
	confined_destroy(writer->child);
	free(writer);
}

struct error *writer_open(struct writer *writer, size_t output,
			  const struct file_name_values *values, const char *path,
			  struct new_file *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	struct error *err;
	int fd;

	if (!writer || new_file_is_direct(path))
		return new_file_open(option_of(output), path, ret);
	*ret = (struct new_file)NEW_FILE_NONE;
	wire_put_u32(&in, (uint32_t)output);
	wire_put_u32(&in, values ? (uint32_t)values->pid : 0);
	wire_put_u64(&in, values ? values->wall_ns : 0);
	wire_put_u64(&in, values ? values->number : 0);
	err = confined_call(writer->child, OPEN, &in, -1, &out, &fd);
	if (err)
		return err;
	return new_file_adopt(option_of(output), path, fd, &writer->files[output].maker,
			      ret);
}
