// SPDX-License-Identifier: Apache-2.0
#include "symbol/reader.h"

#include <stdlib.h>
#include <string.h>

#include "confined/confined.h"
#include "symbol/fetcher.h"
#include "symbol/names_wire.h"
#include "target/open_policy.h"
#include "util/cleanup.h"

/* So often a child that has ended is followed by another one. */
#define STARTS_MAX 4

struct reader {
	struct reader_options options;
	struct open_policy policy;
	struct names_service *service; /* what a child begins with */
	struct fetcher *fetcher;       /* NULL: nothing is fetched */
	struct confined *child;        /* NULL: there will be none any more */
	unsigned starts;
};

/* One process, as the parent sees it. */
struct remote {
	struct symbolizer base;
	struct reader *reader;
	const struct proc *proc;
	uint32_t handle;
	unsigned start;   /* the child that has given the handle: reader->starts */
	bool is_given_up; /* a child has ended over it */
	uint64_t address; /* of the code that `sources` belong to */
	struct source_frames sources;
};

static void warn(const struct reader *reader, const char *text)
{
	if (reader->options.warn)
		reader->options.warn(reader->options.warn_arg, text);
}

/* A debug file that the child asks for. */
static int fetch(void *arg, struct wire *question)
{
	struct reader *reader = arg;
	const char *id = wire_get_text(question);

	return id && reader->fetcher ? fetcher_fetch(reader->fetcher, id) : -1;
}

static struct error *start(struct reader *reader)
{
	const struct confined_service services[] = {
		names_service_entry(reader->service),
	};
	const struct confined_options options = {
		.kind = CONFINED_READER,
		.name = "memtrace-read",
		.services = services,
		.service_count = sizeof(services) / sizeof(*services),
		.policy = {open_policy_find, &reader->policy},
		.progress = reader->options.progress,
		.progress_arg = reader->options.progress_arg,
		.question = fetch,
		.question_arg = reader,
	};
	_cleanup_(error_destroyp) struct error *why = NULL;
	struct error *err = confined_start(&options, &reader->child, &why);

	reader->starts++;
	if (why) {
		_cleanup_(strbuf_deinit) struct strbuf text = {0};

		strbuf_appendf(&text,
			       "warning: files of the target are parsed with all "
			       "privileges: %s",
			       why->message);
		warn(reader, strbuf_text(&text));
	}
	return err;
}

struct error *reader_create(const struct reader_options *options, struct reader **ret)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct error *err = NULL;

	if (!reader)
		return error_no_memory();
	reader->options = *options;
	reader->policy.debug_dirs = options->names.debug_dirs;
	reader->service = names_service_create(&options->names);
	if (!reader->service)
		err = error_no_memory();
	if (!err && options->names.debuginfod)
		err = fetcher_create(options->is_late, options->is_late_arg,
				     &reader->fetcher);
	if (!err)
		err = start(reader);
	if (err) {
		reader_destroy(reader);
		return err;
	}
	*ret = reader;
	return NULL;
}

void reader_destroy(struct reader *reader)
{
	if (!reader)
		return;
	confined_destroy(reader->child);
	fetcher_destroy(reader->fetcher);
	names_service_destroy(reader->service);
	free(reader);
}

int reader_pid(const struct reader *reader)
{
	return reader->child ? confined_pid(reader->child) : 0;
}

/* --- one process ----------------------------------------------------------------------
 */

/* The child has ended over a request for this process. */
static struct error *restart(struct remote *remote, const char *how)
{
	struct reader *reader = remote->reader;
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	struct error *err = NULL;

	remote->is_given_up = true;
	strbuf_appendf(&text,
		       "%s while it read symbols of process %d: code of which it "
		       "has not told the name has none in reports",
		       how, remote->proc->pid);
	warn(reader, strbuf_text(&text));
	confined_destroy(reader->child);
	reader->child = NULL;
	if (reader->starts == STARTS_MAX)
		warn(reader, "symbols are read no more: too many attempts have failed");
	else
		err = start(reader);
	return err;
}

/* Ask for something that the child may know of the process. ERROR_GONE: it has ended. */
static struct error *ask(struct remote *remote, enum names_request request,
			 const struct strbuf *in, int fd, struct strbuf *out)
{
	struct reader *reader = remote->reader;
	struct error *err;

	reader->policy.proc = remote->proc;
	err = confined_call(reader->child, request, in, fd, out, NULL);
	reader->policy.proc = NULL;
	if (!err || err->code != ERROR_GONE || confined_pid(reader->child))
		return err;

	struct error *failed = restart(remote, err->message);

	error_destroy(failed);
	return err;
}

static struct error *open_remote(struct remote *remote)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	struct error *err;
	struct wire answer;

	wire_put_u32(&in, (uint32_t)remote->proc->pid);
	err = ask(remote, NAMES_OPEN, &in, remote->proc->pidfd, &out);
	if (err)
		return err;
	answer = wire_read(&out);
	remote->handle = wire_get_u32(&answer);
	remote->start = remote->reader->starts;
	return NULL;
}

/* Is there a child that knows the process? */
static bool is_ready(struct remote *remote)
{
	struct error *err = NULL;

	if (remote->is_given_up || !remote->reader->child)
		return false;
	if (remote->start != remote->reader->starts) {
		err = open_remote(remote);
		/* One that has exited meanwhile stays unnamed. */
		remote->is_given_up |= err != NULL;
	}
	error_destroy(err);
	return !remote->is_given_up;
}

static struct error *remote_resolve(struct symbolizer *base, uint64_t address,
				    struct symbol *ret)
{
	struct remote *remote = (struct remote *)base;
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	struct error *err;
	struct wire answer;

	*ret = (struct symbol){0};
	source_frames_deinit(&remote->sources);
	remote->sources = (struct source_frames){.function_offset = 0};
	if (!is_ready(remote))
		return NULL;
	wire_put_u32(&in, remote->handle);
	wire_put_u64(&in, address);
	err = ask(remote, NAMES_LOOK_UP, &in, -1, &out);
	if (!err) {
		answer = wire_read(&out);
		err = names_get_frame(&answer, ret, &remote->sources);
	}
	remote->address = address;
	if (!err || err->code == ERROR_NO_MEMORY)
		return err;
	/* The frame goes without a name. */
	error_destroy(err);
	return NULL;
}

/* Those that came with the name. */
static struct error *remote_find_sources(struct symbolizer *base, uint64_t address,
					 struct source_frames *ret)
{
	struct remote *remote = (struct remote *)base;

	if (address != remote->address)
		return NULL;
	*ret = remote->sources;
	remote->sources = (struct source_frames){.function_offset = 0};
	return NULL;
}

/* Ask by the handle alone. False: there is no answer. */
static bool ask_about(struct remote *remote, enum names_request request,
		      struct strbuf *out)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0};
	struct error *err;

	if (!is_ready(remote))
		return false;
	wire_put_u32(&in, remote->handle);
	err = ask(remote, request, &in, -1, out);
	error_destroy(err);
	return !err;
}

static bool remote_mappings_changed(struct symbolizer *base)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct wire answer;

	/* Its pid may be another process by now. */
	if (proc_has_exited(((struct remote *)base)->proc) ||
	    !ask_about((struct remote *)base, NAMES_CHANGED, &out))
		return false;
	answer = wire_read(&out);
	return wire_get_u32(&answer) == 1;
}

static void remote_destroy(struct symbolizer *base)
{
	struct remote *remote = (struct remote *)base;
	_cleanup_(strbuf_deinit) struct strbuf out = {0};

	if (remote->start == remote->reader->starts)
		ask_about(remote, NAMES_CLOSE, &out);
	source_frames_deinit(&remote->sources);
	free(remote);
}

static const struct symbolizer_ops remote_ops = {
	.name = "reader",
	.resolve = remote_resolve,
	.find_sources = remote_find_sources,
	.mappings_changed = remote_mappings_changed,
	.destroy = remote_destroy,
};

struct error *reader_symbolizer_create(struct reader *reader, const struct proc *proc,
				       struct symbolizer **ret)
{
	struct remote *remote = calloc(1, sizeof(*remote));
	struct error *err = NULL;

	if (!remote)
		return error_no_memory();
	remote->base.ops = &remote_ops;
	remote->reader = reader;
	remote->proc = proc;
	if (reader->child)
		err = open_remote(remote);
	if (err && err->code != ERROR_GONE) {
		free(remote);
		return err;
	}
	error_destroy(err);
	*ret = &remote->base;
	return NULL;
}

bool reader_next_missing(struct symbolizer *symbolizer, struct reader_missing *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct wire answer;
	const char *path, *why;

	if (!ask_about((struct remote *)symbolizer, NAMES_MISSING, &out))
		return false;
	answer = wire_read(&out);
	if (!wire_get_u32(&answer))
		return false;
	path = wire_get_text(&answer);
	why = wire_get_text(&answer);
	*ret = (struct reader_missing){strdup(path ? path : "?"),
				       why ? strdup(why) : NULL};
	return true;
}

void reader_missing_deinit(struct reader_missing *missing)
{
	free(missing->path);
	free(missing->why);
	*missing = (struct reader_missing){NULL, NULL};
}
