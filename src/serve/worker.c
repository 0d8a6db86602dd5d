// SPDX-License-Identifier: Apache-2.0
#include "serve/worker.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "serve/http.h"
#include "serve/responses.h"
#include "util/cleanup.h"
#include "util/clock.h"

#define NS_PER_S UINT64_C(1000000000)

/* Clients within this time share a snapshot. */
#define SHARE_NS NS_PER_S
/* What changes are counted from may be this old, so that clients who come together share
 * it. */
#define BASE_NS (NS_PER_S / 10)
/* How long to wait for a snapshot. */
#define SNAPSHOT_NS (30 * NS_PER_S)
/* A snapshot is kept this long after it was last asked for. */
#define KEEP_NS (10 * NS_PER_S)
/* Changes that are counted at one time. Each has the sums of all call paths. */
#define BEGUN_MAX 32

DEFINE_CLEANUP(struct report *, report_destroy);

/* A page of the newest observation. */
struct kept {
	const struct route *route;
	struct query query;
	struct rendered *page;
};

struct worker {
	const struct options *options;
	struct jobs *jobs;
	struct observer *observer;
	VEC(struct kept) kept;
	uint64_t kept_begun_ns; /* observation.begun_ns of their observation */
	bool is_over;
};

static void drop_kept(struct worker *w)
{
	vec_foreach (kept, &w->kept)
		rendered_release(kept->page);
	w->kept.len = 0;
}

/* --- answers ------------------------------------------------------------------------ */

/* Hand the job back to libmicrohttpd's thread. `response` is owned; NULL: there is no
 * memory for one, and the connection is closed. */
static void answer(struct job *job, unsigned status, struct MHD_Response *response)
{
	job->status = status;
	job->response = response;
	report_history_destroy(job->base);
	job->base = NULL;
	http.resume_connection(job->connection);
}

static void answer_page(struct job *job, struct rendered *page)
{
	answer(job, MHD_HTTP_OK, response_page(job->route, &job->query, page));
}

static void answer_later(struct job *job, const char *why)
{
	struct MHD_Response *response = response_text("%s\n", why);

	if (response)
		http.add_response_header(response, "Retry-After", "1");
	answer(job, MHD_HTTP_SERVICE_UNAVAILABLE, response);
}

static void answer_error(struct worker *w, struct job *job, struct error *err)
{
	w->is_over |= err->code == ERROR_GONE;
	if (err->code == ERROR_MALFORMED || err->code == ERROR_UNSUPPORTED)
		answer(job, MHD_HTTP_INTERNAL_SERVER_ERROR,
		       response_text("%s\n", err->message));
	else
		answer_later(job, err->message);
	error_destroy(err);
}

static struct error *render(const struct worker *w, const struct job *job,
			    const struct observation *observation,
			    const struct report *report, struct rendered **ret)
{
	const struct page page = {
		.options = w->options,
		.observation = observation,
		.report = report,
		.query = &job->query,
		.snapshots = observer_asked(w->observer),
	};
	char *data = NULL;
	size_t size_bytes = 0;
	FILE *out = open_memstream(&data, &size_bytes);
	struct error *err;
	bool failed;

	if (!out)
		return error_no_memory();
	err = job->route->render(&page, out);
	failed = ferror(out);
	failed |= fclose(out) != 0;
	if (!err && failed)
		err = error_no_memory();
	if (err) {
		free(data);
		return err;
	}
	*ret = rendered_create(data, size_bytes);
	return *ret ? NULL : error_no_memory();
}

/* --- pages -------------------------------------------------------------------------- */

static struct rendered *find_kept(const struct worker *w, const struct job *job)
{
	vec_foreach (kept, &w->kept)
		if (kept->route == job->route && query_equals(&kept->query, &job->query))
			return kept->page;
	return NULL;
}

/* The page of the newest observation: rendered now, or for an earlier client. *ret is
 * borrowed. */
static struct error *page_of(struct worker *w, const struct job *job,
			     const struct observation *observation, struct rendered **ret)
{
	struct error *err;

	if (w->kept_begun_ns != observation->begun_ns)
		drop_kept(w);
	w->kept_begun_ns = observation->begun_ns;
	*ret = find_kept(w, job);
	if (*ret)
		return NULL;
	err = render(w, job, observation, observation->report, ret);
	if (err)
		return err;
	if (vec_push(&w->kept, (struct kept){job->route, job->query, *ret}))
		return NULL;
	rendered_release(*ret);
	return error_no_memory();
}

static void serve_now(struct worker *w, struct job *job)
{
	const struct observation *observation = NULL;
	struct rendered *page = NULL;
	struct error *err =
		observer_get(w->observer, route_needs_blocks(job->route, &job->query),
			     SHARE_NS, SNAPSHOT_NS, &observation);

	if (err && err->code == ERROR_NOT_FOUND && job->route->takes_none) {
		error_destroy(err);
		err = render(w, job, NULL, NULL, &page);
		if (!err)
			answer_page(job, page);
		rendered_release(page);
		if (!err)
			return;
	} else if (!err) {
		err = page_of(w, job, observation, &page);
	}
	if (observation)
		observer_put(w->observer, observation);
	if (err)
		answer_error(w, job, err);
	else
		answer_page(job, page);
}

/* The first half of ?seconds=N: what changes are counted from. */
static void begin_changes(struct worker *w, struct job *job)
{
	const struct observation *observation;
	struct error *err;

	if (jobs_begun(w->jobs) >= BEGUN_MAX) {
		answer_later(job, "too many clients wait for changes");
		return;
	}
	err = observer_get(w->observer, false, BASE_NS, SNAPSHOT_NS, &observation);
	if (!err) {
		job->base_run = observation->run;
		job->due_ns = observation->begun_ns + job->query.seconds * NS_PER_S;
		err = observer_history(w->observer, observation, &job->base);
		observer_put(w->observer, observation);
	}
	if (err)
		answer_error(w, job, err);
	else
		jobs_put(w->jobs, job);
}

static void end_changes(struct worker *w, struct job *job)
{
	_cleanup_(report_destroyp) struct report *report = NULL;
	const struct observation *observation;
	struct rendered *page = NULL;
	struct error *err =
		observer_get(w->observer, route_needs_blocks(job->route, &job->query), 0,
			     SNAPSHOT_NS, &observation);

	if (err) {
		answer_error(w, job, err);
		return;
	}
	if (observation->run != job->base_run) {
		answer_later(job, "the process was started anew meanwhile");
	} else {
		err = observer_report_since(w->observer, observation, job->base, &report);
		if (!err)
			err = render(w, job, observation, report, &page);
		if (err)
			answer_error(w, job, err);
		else
			answer_page(job, page);
		rendered_release(page);
	}
	report_destroy(take(report));
	observer_put(w->observer, observation);
}

static void serve(struct worker *w, struct job *job)
{
	if (!job->query.seconds || !job->route->takes_seconds)
		serve_now(w, job);
	else if (!job->base)
		begin_changes(w, job);
	else
		end_changes(w, job);
}

void worker_run(const struct options *options, const struct report_setup *setup, int feed,
		struct jobs *jobs)
{
	struct worker w = {.options = options, .jobs = jobs};
	bool has_newest = false;

	w.observer = observer_create(feed, options, setup);
	while (w.observer && !w.is_over) {
		uint64_t until_ns = has_newest ? clock_now_ns() + KEEP_NS : UINT64_MAX;
		struct job *job = jobs_take(jobs, until_ns);

		if (job) {
			serve(&w, job);
			has_newest = true;
		} else {
			drop_kept(&w);
			observer_drop(w.observer);
			malloc_trim(0);
			has_newest = false;
		}
	}
	drop_kept(&w);
	vec_deinit(&w.kept);
	observer_destroy(w.observer);
}
