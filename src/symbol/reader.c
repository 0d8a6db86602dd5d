// SPDX-License-Identifier: Apache-2.0
#include "symbol/reader.h"

#include <stdlib.h>
#include <string.h>

#include "confined/keeper.h"
#include "symbol/fetcher.h"
#include "symbol/names_wire.h"
#include "target/open_policy.h"
#include "util/cleanup.h"

struct reader {
	struct open_policy policy;
	struct names_service *service; /* what a child begins with */
	struct confined_service entry;
	struct fetcher *fetcher; /* NULL: nothing is fetched */
	struct keeper *keeper;
};

/* One process, as the parent sees it. */
struct remote {
	struct symbolizer base;
	struct reader *reader;
	const struct proc *proc;
	uint32_t handle;
	unsigned child;   /* that has given the handle (keeper_child()) */
	bool is_given_up; /* a child has ended over it */
	bool has_said_ignored;
	uint64_t address; /* of the code that `sources` belong to */
	struct source_frames sources;
};

/* A debug file that the child asks for. */
static int fetch(void *arg, struct wire *question)
{
	struct reader *reader = arg;
	const char *id = wire_get_text(question);

	return id && reader->fetcher ? fetcher_fetch(reader->fetcher, id) : -1;
}

static struct error *start(struct reader *reader, const struct reader_options *options)
{
	const struct keeper_options keeper_options = {
		.child =
			{
				.kind = CONFINED_READER,
				.name = "memtrace-read",
				.services = &reader->entry,
				.service_count = 1,
				.policy = {open_policy_find, &reader->policy},
				.progress = options->progress,
				.progress_arg = options->progress_arg,
				.question = fetch,
				.question_arg = reader,
			},
		.work = "symbols are read",
		.warn = options->warn,
		.warn_arg = options->warn_arg,
	};

	return keeper_create(&keeper_options, &reader->keeper);
}

struct error *reader_create(const struct reader_options *options, struct reader **ret)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct error *err = NULL;

	if (!reader)
		return error_no_memory();
	reader->policy.debug_dirs = options->names.debug_dirs;
	reader->service = names_service_create(&options->names);
	if (!reader->service)
		err = error_no_memory();
	if (!err && options->names.debuginfod)
		err = fetcher_create(options->is_late, options->is_late_arg,
				     &reader->fetcher);
	if (!err) {
		reader->entry = names_service_entry(reader->service);
		err = start(reader, options);
	}
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
	keeper_destroy(reader->keeper);
	fetcher_destroy(reader->fetcher);
	names_service_destroy(reader->service);
	free(reader);
}

int reader_pid(const struct reader *reader)
{
	return keeper_pid(reader->keeper);
}

/* --- one process ----------------------------------------------------------------------
 */

/* The child has ended over a request for this process. */
static void give_up(struct remote *remote, const char *how)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	remote->is_given_up = true;
	strbuf_appendf(&text,
		       "%s while it read symbols of process %d: code of which it "
		       "has not told the name has none in reports",
		       how, remote->proc->pid);
	keeper_warn(remote->reader->keeper, strbuf_text(&text));
}

/* Ask for something that the child may know of the process. ERROR_GONE: it has ended. */
static struct error *ask(struct remote *remote, enum names_request request,
			 const struct strbuf *in, int fd, struct strbuf *out)
{
	struct reader *reader = remote->reader;
	struct error *err;

	reader->policy.proc = remote->proc;
	err = keeper_call(reader->keeper, request, in, fd, out);
	reader->policy.proc = NULL;
	if (err && err->code == ERROR_GONE && !keeper_pid(reader->keeper))
		give_up(remote, err->message);
	return err;
}

static struct error *open_remote(struct remote *remote)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	unsigned child = keeper_child(remote->reader->keeper);
	struct error *err;
	struct wire answer;

	wire_put_u32(&in, (uint32_t)remote->proc->pid);
	err = ask(remote, NAMES_OPEN, &in, remote->proc->pidfd, &out);
	if (err)
		return err;
	answer = wire_read(&out);
	remote->handle = wire_get_u32(&answer);
	remote->child = child;
	return NULL;
}

/* Is there a child that knows the process? */
static bool is_ready(struct remote *remote)
{
	unsigned child = remote->is_given_up ? 0 : keeper_child(remote->reader->keeper);
	struct error *err = NULL;

	if (child && remote->child != child) {
		err = open_remote(remote);
		/* One that has exited meanwhile stays unnamed. */
		remote->is_given_up |= err != NULL;
	}
	error_destroy(err);
	return child && !remote->is_given_up;
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

static void say_ignored(struct remote *remote, uint64_t ignored)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if (!ignored || remote->has_said_ignored)
		return;
	remote->has_said_ignored = true;
	strbuf_appendf(&text,
		       "/tmp/perf-%d.map of process %d is beyond 256 MiB or 4 million "
		       "names: code that only the rest of it names has no name",
		       remote->proc->namespace_pid, remote->proc->pid);
	keeper_warn(remote->reader->keeper, strbuf_text(&text));
}

static bool remote_mappings_changed(struct symbolizer *base)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct wire answer;
	bool has_changed;

	/* Its pid may be another process by now. */
	if (proc_has_exited(((struct remote *)base)->proc) ||
	    !ask_about((struct remote *)base, NAMES_CHANGED, &out))
		return false;
	answer = wire_read(&out);
	has_changed = wire_get_u32(&answer) == 1;
	say_ignored((struct remote *)base, wire_get_u64(&answer));
	return has_changed;
}

static void remote_destroy(struct symbolizer *base)
{
	struct remote *remote = (struct remote *)base;
	_cleanup_(strbuf_deinit) struct strbuf out = {0};

	if (remote->child == keeper_child(remote->reader->keeper))
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
	if (keeper_child(reader->keeper))
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
