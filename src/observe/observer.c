// SPDX-License-Identifier: Apache-2.0
#include "observe/observer.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/snapshot_file.h"
#include "report/recorded.h"
#include "snapshot/merge.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/fd_message.h"

DEFINE_CLEANUP(struct report *, report_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);

/* An observation, and what it is made of. */
struct held {
	struct observation shown; /* first */
	unsigned uses;
	struct snapshot_file file;
	struct snapshot_made made;
};

struct observer {
	int socket;
	const struct options *options;
	struct report_options report_options; /* all rows */
	struct snapshot_merge *merge;         /* of the present run */
	uint64_t attached_ns;                 /* of the present run; 0: none yet */
	uint64_t runs, asked;
	bool is_asked;       /* the run has not answered yet */
	struct held *newest; /* NULL: none */
};

struct observer *observer_create(int socket, const struct options *options,
				 const struct report_setup *setup)
{
	struct observer *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->socket = socket;
	s->options = options;
	s->report_options = setup->options;
	s->report_options.top = 0;
	s->report_options.past = true;
	s->report_options.show_blocks = false;
	s->report_options.progress = (struct report_progress){0};
	return s;
}

static void release(struct held *held)
{
	if (!held || --held->uses)
		return;
	report_destroy(held->shown.report);
	snapshot_made_deinit(&held->made);
	snapshot_file_deinit(&held->file);
	free(held);
}

void observer_destroy(struct observer *s)
{
	if (!s)
		return;
	release(s->newest);
	snapshot_merge_destroy(s->merge);
	free(s);
}

void observer_drop(struct observer *s)
{
	release(s->newest);
	s->newest = NULL;
}

uint64_t observer_asked(const struct observer *s)
{
	return s->asked;
}

/* --- the run's answer --------------------------------------------------------------- */

static struct error *ended(void)
{
	return error_create(ERROR_GONE, "the run has ended");
}

static struct error *ask(struct observer *s, bool with_blocks)
{
	const char question = with_blocks ? FEED_ASKS_BLOCKS : FEED_ASKS_SUMS;

	if (s->is_asked)
		return NULL;
	if (send(s->socket, &question, 1, MSG_NOSIGNAL) != 1)
		return ended();
	s->is_asked = true;
	s->asked++;
	return NULL;
}

static struct error *await(const struct observer *s, uint64_t until_ns)
{
	for (;;) {
		struct pollfd fd = {.fd = s->socket, .events = POLLIN};
		uint64_t now_ns = clock_now_ns();
		int left_ms =
			until_ns > now_ns ? (int)((until_ns - now_ns) / 1000000) + 1 : 0;
		int n = poll(&fd, 1, left_ms);

		if (n > 0)
			return NULL;
		if (n < 0 && errno != EINTR)
			return error_errno(ERROR_IO, errno, "cannot wait for the run");
		if (!left_ms)
			return error_create(ERROR_IO, "memtrace is busy: it has made no "
						      "snapshot in time");
	}
}

/* Receive the answer. *ret_fd is the caller's; -1: none. */
static struct error *receive(struct observer *s, struct feed_answer *ret, int *ret_fd)
{
	char *to = (char *)ret;
	size_t got = 0;

	*ret_fd = -1;
	while (got < sizeof(*ret)) {
		size_t count = 0;
		int fd = -1;
		ssize_t n = fd_message_receive(s->socket, to + got, sizeof(*ret) - got,
					       &fd, 1, &count);

		if (count) {
			closep(ret_fd);
			*ret_fd = fd;
		}
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			closep(ret_fd);
			*ret_fd = -1;
			return ended();
		}
		got += (size_t)n;
	}
	s->is_asked = false;
	ret->why[sizeof(ret->why) - 1] = '\0';
	return NULL;
}

/* --- observations ------------------------------------------------------------------- */

/* Stacks keep their numbers within a run only. */
static struct error *note_run(struct observer *s, const struct snapshot *snap)
{
	if (s->merge && snap->attached_ns == s->attached_ns)
		return NULL;
	/* The newest observation belongs to the merge. */
	release(s->newest);
	s->newest = NULL;
	snapshot_merge_destroy(s->merge);
	s->merge = snapshot_merge_create();
	s->attached_ns = snap->attached_ns;
	s->runs++;
	return s->merge ? NULL : error_no_memory();
}

static struct error *group(struct observer *s, struct held *held)
{
	bool ok = s->options->group_by == REPORT_GROUP_PROCESS
			  ? snapshot_split(held->file.snap, true, &held->made)
			  : snapshot_merge(s->merge, held->file.snap, true, &held->made);

	return ok ? NULL : error_no_memory();
}

static struct report_options options_for(const struct observer *s,
					 const struct held *held)
{
	struct report_options options = s->report_options;
	const struct snapshot *snap = held->file.snap;

	options.sums_only = !held->shown.answer.has_blocks;
	if (options.sums_only)
		options.singles = 0;

	/* The snapshot has no ages, so do not show any. */
	if (snap->ages_unknown) {
		options.combined_only = true;
		options.older_ns = 0;
	}
	return options;
}

static struct error *build(const struct observer *s, const struct held *held,
			   struct report_history *history, struct report **ret)
{
	const struct report_options options = options_for(s, held);

	return report_build(held->made.snap, history, held->file.frames, &options,
			    REPORT_INTERVAL, ret);
}

/* Make an observation of a memory file. Takes ownership of `fd`. */
static struct error *fill(struct observer *s, int fd, struct held *held)
{
	_cleanup_(report_history_destroyp) struct report_history *history = NULL;
	_cleanup_(closep) int owned = fd;
	struct error *err;
	struct stat st;

	if (fd < 0 || fstat(fd, &st))
		return error_create(ERROR_IO, "the run's answer has no snapshot");
	held->file = (struct snapshot_file){.option = "the run's",
					    .path = "snapshot",
					    .size_bytes = (uint64_t)st.st_size,
					    .is_quick = true,
					    .in = fdopen(fd, "r")};
	if (!held->file.in)
		return error_no_memory();
	owned = -1;
	err = snapshot_file_load(&held->file, !s->options->no_lines, NULL);
	if (!err)
		err = note_run(s, held->file.snap);
	if (!err)
		err = group(s, held);
	if (!err)
		err = report_recorded_history(held->made.snap, &history);
	if (!err)
		err = build(s, held, history, &held->shown.report);
	held->shown.run = s->runs;
	return err;
}

static void close_held(int *fd)
{
	closep(fd);
	*fd = -1;
}

/* Ask, and receive the answer. If it lacks blocks because an earlier client asked for
 * sums only, and took no answer, *ret_fd is -1. */
static struct error *ask_once(struct observer *s, bool with_blocks, uint64_t until_ns,
			      struct feed_answer *ret, int *ret_fd)
{
	struct error *err = ask(s, with_blocks);

	*ret_fd = -1;
	if (!err)
		err = await(s, until_ns);
	if (!err)
		err = receive(s, ret, ret_fd);
	if (!err && ret->has_snapshot && with_blocks && !ret->has_blocks)
		close_held(ret_fd);
	return err;
}

static struct error *observe(struct observer *s, bool with_blocks, uint64_t timeout_ns)
{
	uint64_t begun_ns = clock_now_ns(), until_ns = begun_ns + timeout_ns;
	struct feed_answer answer;
	struct held *held;
	int fd = -1;
	struct error *err = ask_once(s, with_blocks, until_ns, &answer, &fd);

	if (!err && answer.has_snapshot && fd < 0 && with_blocks)
		err = ask_once(s, with_blocks, until_ns, &answer, &fd);
	if (err)
		return err;
	held = calloc(1, sizeof(*held));
	if (!held) {
		closep(&fd);
		return error_no_memory();
	}
	held->uses = 1;
	held->shown.begun_ns = begun_ns;
	held->shown.answer = answer;
	if (!answer.has_snapshot) {
		closep(&fd);
		err = error_create(ERROR_NOT_FOUND, "%s", answer.why);
	} else {
		err = fill(s, fd, held);
	}
	if (err) {
		release(held);
		return err;
	}
	release(s->newest);
	s->newest = held;
	return NULL;
}

/* Do reports of this run list all blocks, and not those that are old enough only? */
static bool counts_all(const struct observer *s)
{
	return !s->report_options.older_ns || s->report_options.combined_only;
}

static bool has_newest(const struct observer *s, bool with_blocks, uint64_t max_age_ns)
{
	return s->newest && (s->newest->shown.answer.has_blocks || !with_blocks) &&
	       clock_now_ns() - s->newest->shown.begun_ns <= max_age_ns;
}

struct error *observer_get(struct observer *s, bool with_blocks, uint64_t max_age_ns,
			   uint64_t timeout_ns, const struct observation **ret)
{
	struct error *err = NULL;

	with_blocks |= !counts_all(s);
	if (!has_newest(s, with_blocks, max_age_ns))
		err = observe(s, with_blocks, timeout_ns);
	if (err)
		return err;
	s->newest->uses++;
	*ret = &s->newest->shown;
	return NULL;
}

void observer_put(struct observer *s, const struct observation *observation)
{
	(void)s;
	release((struct held *)observation);
}

struct error *observer_report_since(const struct observer *s,
				    const struct observation *observation,
				    struct report_history *base, struct report **ret)
{
	return build(s, (const struct held *)observation, base, ret);
}

struct error *observer_history(const struct observer *s,
			       const struct observation *observation,
			       struct report_history **ret)
{
	_cleanup_(report_history_destroyp) struct report_history *history =
		report_history_create();
	_cleanup_(report_destroyp) struct report *report = NULL;
	struct error *err = history ? NULL : error_no_memory();

	if (!err)
		err = build(s, (const struct held *)observation, history, &report);
	if (!err)
		*ret = take(history);
	return err;
}
