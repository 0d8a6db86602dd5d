// SPDX-License-Identifier: Apache-2.0
#include "symbol/reader.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "confined/keeper.h"
#include "symbol/fetcher.h"
#include "symbol/names_wire.h"
#include "process/open_policy.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/escape.h"
#include "util/vec.h"

/*
 * How many processes are open in the child at a time: the last ones used. Each takes a
 * descriptor or two for each of its files, and the memory of their symbols.
 */
#define OPEN_MAX 256

struct remote;

struct reader {
	struct open_policy policy;
	struct names_service *service; /* initial state of a new child */
	struct confined_service entry;
	struct fetcher *fetcher; /* NULL: nothing is fetched */
	struct keeper *keeper;
	VEC(struct remote *) open; /* may refer to a child that has ended */
	size_t open_max;
	uint64_t requests; /* count, over all processes */
	bool has_said_closed, has_said_put_off;
	uint64_t report_ns; /* limit for the lookups of a report */
	uint64_t spent_ns;  /* of it, in this report */
	uint64_t fetch_ns;  /* time for fetching files during a request */
};

/* The parent's view of one process. */
struct remote {
	struct symbolizer base;
	struct reader *reader;
	const struct proc *proc;
	uint32_t handle;
	unsigned child; /* the child that gave the handle (keeper_child()); 0: not open */
	uint64_t used;  /* reader->requests at its last request */
	struct mapped_files mapped;
	bool is_given_up; /* a child ended during a request for it, or it cannot be opened
			   */
	bool has_said_ignored, has_said_mappings, has_said_too_large;
	uint64_t address; /* of the code that `sources` belong to */
	struct source_frames sources;
};

/* Fetch a debug file that the child asks for. */
static int fetch(void *arg, struct wire *question)
{
	struct reader *reader = arg;
	const char *id = wire_get_text(question);
	int fd = -1;

	if (id && reader->fetcher) {
		uint64_t begin_ns = clock_now_ns();

		fd = fetcher_fetch(reader->fetcher, id);
		/* Servers have a limit of their own. */
		reader->fetch_ns += clock_now_ns() - begin_ns;
	}
	return fd;
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
				.policy = {.find = open_policy_find,
					   .arg = &reader->policy,
					   .may_open = open_policy_may_open,
					   .may_read = open_policy_may_read},
				.progress = options->progress,
				.progress_arg = options->progress_arg,
				.question = fetch,
				.question_arg = reader,
				.stopping_ns = options->stopping_ns,
				.stopping_arg = options->stopping_arg,
			},
		.work = "symbols are read",
		.warn = options->warn,
		.warn_arg = options->warn_arg,
	};

	return keeper_create(&keeper_options, &reader->keeper);
}

static struct error *start_fetcher(struct reader *reader,
				   const struct reader_options *options)
{
	const struct fetcher_options fetcher_options = {
		.cache = options->fetch_cache,
		.stopping_ns = options->stopping_ns,
		.stopping_arg = options->stopping_arg,
		.warn = options->warn,
		.warn_arg = options->warn_arg,
	};

	return fetcher_create(&fetcher_options, &reader->fetcher);
}

struct error *reader_create(const struct reader_options *options, struct reader **ret)
{
	struct reader *reader = calloc(1, sizeof(*reader));
	struct error *err = NULL;

	if (!reader)
		return error_no_memory();
	reader->open_max = options->open_max ? options->open_max : OPEN_MAX;
	reader->report_ns = options->report_ns ? options->report_ns : READER_REPORT_NS;
	reader->policy.debug_dirs = options->names.debug_dirs;
	reader->service = names_service_create(&options->names);
	if (!reader->service)
		err = error_no_memory();
	if (!err && options->names.debuginfod)
		err = start_fetcher(reader, options);
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
	free(reader->policy.too_large);
	fetcher_destroy(reader->fetcher);
	names_service_destroy(reader->service);
	vec_deinit(&reader->open);
	free(reader);
}

void reader_begin_observation(struct reader *reader)
{
	reader->spent_ns = 0;
}

void reader_begin_report(struct reader *reader)
{
	reader_begin_observation(reader);
	if (reader->fetcher)
		fetcher_begin_report(reader->fetcher);
}

unsigned reader_lost_files(struct reader *reader, const char **ret_why)
{
	return reader->fetcher ? fetcher_lost(reader->fetcher, ret_why) : 0;
}

int reader_pid(const struct reader *reader)
{
	return keeper_pid(reader->keeper);
}

/* --- one process ----------------------------------------------------------------------
 */

/* The child ended during a request for this process. */
static void give_up(struct remote *remote, const char *how)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	remote->is_given_up = true;
	strbuf_appendf(&text,
		       "%s while it read symbols of process %d: frames that it has not "
		       "named yet have no names in reports",
		       how, remote->proc->pid);
	keeper_warn(remote->reader->keeper, strbuf_text(&text));
}

/* Report a file that was refused while the child read symbols of the process. */
static void say_too_large(struct remote *remote)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	_cleanup_(freep) char *path = take(remote->reader->policy.too_large);

	if (!path || remote->has_said_too_large)
		return;
	remote->has_said_too_large = true;
	escape_text(&text, path);
	strbuf_appendf(
		&text,
		", of process %d, has symbol tables of more than 256 MiB, or names "
		"of more than 512 MiB in them: such files are not read, and their "
		"code has neither names nor source lines",
		remote->proc->pid);
	keeper_warn(remote->reader->keeper, strbuf_text(&text));
}

/* Send the child a request about the process. ERROR_GONE: the process or the child
 * ended. */
static struct error *ask(struct remote *remote, enum names_request request,
			 const struct strbuf *in, int fd, struct strbuf *out)
{
	struct reader *reader = remote->reader;
	uint64_t begin_ns = clock_now_ns();
	struct error *err;

	reader->fetch_ns = 0;
	remote->used = ++reader->requests;
	reader->policy.proc = remote->proc;
	reader->policy.mapped = &remote->mapped;
	err = keeper_call(reader->keeper, request, in, fd, out);
	reader->policy.proc = NULL;
	reader->spent_ns += clock_now_ns() - begin_ns - reader->fetch_ns;
	say_too_large(remote);
	if (err && err->code == ERROR_GONE && !keeper_pid(reader->keeper))
		give_up(remote, err->message);
	return err;
}

static void say_ignored(struct remote *remote, uint64_t ignored)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if (!ignored || remote->has_said_ignored)
		return;
	remote->has_said_ignored = true;
	strbuf_appendf(&text,
		       "/tmp/perf-%d.map of process %d is beyond 256 MiB or 4 million "
		       "names: memtrace ignores the rest",
		       remote->proc->namespace_pid, remote->proc->pid);
	keeper_warn(remote->reader->keeper, strbuf_text(&text));
}

static void say_mappings(struct remote *remote, uint64_t names, uint64_t lines)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	if ((!names && !lines) || remote->has_said_mappings)
		return;
	remote->has_said_mappings = true;
	strbuf_appendf(&text,
		       "process %d maps more code than memtrace reads (1,024 files, and "
		       "4,096 different parts of them): %" PRIu64
		       " of its mappings have no function names, %" PRIu64
		       " no source lines",
		       remote->proc->pid, names, lines);
	keeper_warn(remote->reader->keeper, strbuf_text(&text));
}

/* Report what the child ignores. */
static void say_left_out(struct remote *remote, struct wire *answer)
{
	struct names_left_out left_out = names_get_left_out(answer);

	say_ignored(remote, left_out.names.of_perf_map);
	say_mappings(remote, left_out.names.mappings, left_out.lines);
}

static void remove_open(struct remote *remote)
{
	struct reader *reader = remote->reader;
	size_t kept = 0;

	for (size_t i = 0; i < reader->open.len; i++)
		if (reader->open.data[i] != remote)
			reader->open.data[kept++] = reader->open.data[i];
	reader->open.len = kept;
}

/* Let the child close the process. */
static void close_remote(struct remote *remote)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};

	wire_put_u32(&in, remote->handle);
	if (remote->child && remote->child == keeper_child(remote->reader->keeper))
		error_destroy(ask(remote, NAMES_CLOSE, &in, -1, &out));
	remote->child = 0;
	remove_open(remote);
}

/* The process that was used longest ago. Running processes come first: they can be
 * opened again. */
static struct remote *least_used(const struct reader *reader)
{
	struct remote *best = NULL;
	bool best_lives = false;

	vec_foreach (at, &reader->open) {
		bool lives = !proc_has_exited((*at)->proc);

		if (!best || (lives && !best_lives) ||
		    (lives == best_lives && (*at)->used < best->used)) {
			best = *at;
			best_lives = lives;
		}
	}
	return best;
}

static bool make_room(struct reader *reader)
{
	if (reader->open.len < reader->open_max)
		return vec_reserve(&reader->open, reader->open.len + 1);
	close_remote(least_used(reader));
	return true;
}

static struct error *open_remote(struct remote *remote)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	unsigned child = keeper_child(remote->reader->keeper);
	struct error *err;
	struct wire answer;

	/* It may be listed for a child that has ended. */
	remove_open(remote);
	if (!make_room(remote->reader))
		return error_no_memory();
	wire_put_u32(&in, (uint32_t)remote->proc->pid);
	err = ask(remote, NAMES_OPEN, &in, remote->proc->pidfd, &out);
	if (err)
		return err;
	answer = wire_read(&out);
	remote->handle = wire_get_u32(&answer);
	remote->child = child;
	say_left_out(remote, &answer);
	if (!vec_push(&remote->reader->open, remote))
		return error_no_memory();
	return NULL;
}

static void give_up_ended(struct remote *remote)
{
	struct reader *reader = remote->reader;

	remote->is_given_up = true;
	if (reader->open.len < reader->open_max || reader->has_said_closed)
		return;
	reader->has_said_closed = true;
	keeper_warn(reader->keeper,
		    "more processes have exited than memtrace keeps symbols of: frames "
		    "of some have no names in reports");
}

/* Is the process open in the current child? Opens it if needed. */
static bool is_ready(struct remote *remote)
{
	unsigned child = remote->is_given_up ? 0 : keeper_child(remote->reader->keeper);
	struct error *err = NULL;

	/* A process that has exited meanwhile stays unnamed. */
	if (child && remote->child != child && proc_has_exited(remote->proc))
		give_up_ended(remote);
	else if (child && remote->child != child)
		err = open_remote(remote);
	remote->is_given_up |= err != NULL;
	error_destroy(err);
	return child && !remote->is_given_up;
}

/* Have the lookups of this report taken their time? */
static bool is_put_off(struct reader *reader)
{
	if (reader->spent_ns < reader->report_ns)
		return false;
	if (!reader->has_said_put_off)
		keeper_warn(reader->keeper,
			    "looking up names has taken as long as one report may take "
			    "(2 min): frames without a name get theirs in later "
			    "reports");
	reader->has_said_put_off = true;
	return true;
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
	ret->is_put_off = is_put_off(remote->reader);
	if (ret->is_put_off || !is_ready(remote))
		return NULL;
	wire_put_u32(&in, remote->handle);
	wire_put_u64(&in, address);
	err = ask(remote, NAMES_LOOK_UP, &in, -1, &out);
	if (!err) {
		answer = wire_read(&out);
		err = names_get_frame(&answer, ret, &remote->sources);
	}
	remote->address = address;
	/* After other errors the frame has no name. */
	return error_only_no_memory(err);
}

/* The source frames that came with the symbol. */
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

/* Send a request that has only the handle. False: no answer. */
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
	bool has_changed;

	/* Another process may have its pid now. */
	if (proc_has_exited(((struct remote *)base)->proc))
		return false;
	/* It is closed, and the next lookup opens it again with the current mappings. */
	if (!((struct remote *)base)->child)
		return ((struct remote *)base)->used;
	if (!ask_about((struct remote *)base, NAMES_CHANGED, &out))
		return false;
	answer = wire_read(&out);
	has_changed = wire_get_u32(&answer) == 1;
	say_left_out((struct remote *)base, &answer);
	return has_changed;
}

static void remote_destroy(struct symbolizer *base)
{
	struct remote *remote = (struct remote *)base;

	close_remote(remote);
	source_frames_deinit(&remote->sources);
	mapped_files_deinit(&remote->mapped);
	free(remote);
}

static const struct symbolizer_ops remote_ops = {
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
	/* Open it now, since it may exit soon. */
	if (reader->open.len < reader->open_max && keeper_child(reader->keeper))
		err = open_remote(remote);
	if (err && err->code != ERROR_GONE) {
		mapped_files_deinit(&remote->mapped);
		free(remote);
		return err;
	}
	error_destroy(err);
	*ret = &remote->base;
	return NULL;
}

bool reader_is_unopened(const struct symbolizer *symbolizer)
{
	return !((const struct remote *)symbolizer)->child;
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

void reader_cut_off(struct reader *reader, bool anew)
{
	reader->fetcher = NULL;
	reader->policy.avoids_servers = true;
	keeper_cut_off(reader->keeper, anew);
}
