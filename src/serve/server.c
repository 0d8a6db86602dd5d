// SPDX-License-Identifier: Apache-2.0
#include "serve/server.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "serve/guard.h"
#include "serve/host.h"
#include "serve/http.h"
#include "serve/jobs.h"
#include "serve/responses.h"
#include "serve/worker.h"
#include "util/heap.h"
#include "util/cleanup.h"

#define NS_PER_S UINT64_C(1000000000)

/* Connections at one time. More wait until they are accepted. */
#define CONNECTIONS_MAX 256
/* Memory of a connection: its request line, headers and response headers, bytes. */
#define CONNECTION_BYTES ((size_t)16 * 1024)
/* A connection without any data is closed after this time, seconds. */
#define IDLE_S 30
/* How long a client may take to send a request, from the connection or the response
 * before on. */
#define REQUEST_NS (10 * NS_PER_S)
/* The same, when many are connected. */
#define CROWDED_NS (NS_PER_S / 2)
/* How long the response may take, to be made and to be taken by the client. */
#define RESPONSE_NS (60 * NS_PER_S)

struct server {
	const struct server_options *options;
	struct jobs *jobs;
	struct guard *guard;
};

/* --- requests ----------------------------------------------------------------------- */

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned status,
			      const char *why)
{
	struct MHD_Response *response = response_text("%s\n", why);
	enum MHD_Result result;

	if (!response)
		return MHD_NO;
	if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
		http.add_response_header(response, "Allow", "GET, HEAD");
	result = http.queue_response(connection, status, response);
	http.destroy_response(response);
	return result;
}

struct reading {
	struct query query;
	const char *wrong; /* NULL: nothing */
};

static enum MHD_Result take_argument(void *arg, enum MHD_ValueKind kind, const char *key,
				     const char *value)
{
	struct reading *reading = arg;
	const char *wrong = query_take(&reading->query, key, value);

	(void)kind;
	if (!reading->wrong)
		reading->wrong = wrong;
	return MHD_YES;
}

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return http.lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

/* Headers may come several times, and a proxy before us may have taken another one. */
struct headers {
	unsigned hosts;
	bool has_body;
};

static enum MHD_Result look_at_header(void *arg, enum MHD_ValueKind kind, const char *key,
				      const char *value)
{
	struct headers *headers = arg;

	(void)kind;
	headers->hosts += !strcasecmp(key, "Host");
	headers->has_body |= !strcasecmp(key, "Transfer-Encoding");
	headers->has_body |= !strcasecmp(key, "Content-Length") && value &&
			     strspn(value, "0") != strlen(value);
	return MHD_YES;
}

/* Why the request is refused; NULL: it is not. */
static const char *check(const struct server *server, struct MHD_Connection *connection,
			 const char *method, unsigned *status)
{
	const char *host = header(connection, "Host");
	struct headers headers = {.hosts = 0};

	http.get_connection_values(connection, MHD_HEADER_KIND, look_at_header, &headers);
	if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0) {
		*status = MHD_HTTP_METHOD_NOT_ALLOWED;
		return "only GET and HEAD are served";
	}
	if (headers.has_body) {
		*status = MHD_HTTP_CONTENT_TOO_LARGE;
		return "a request must have no body";
	}
	/* RFC 9112, 3.2. */
	if (headers.hosts > 1) {
		*status = MHD_HTTP_BAD_REQUEST;
		return "a request must have one Host header";
	}
	if (server->options->checks_host && host && !host_is_local(host)) {
		*status = MHD_HTTP_FORBIDDEN;
		return "the Host header must be localhost or an address in numbers";
	}
	return NULL;
}

static struct guarded *guarded_of(struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		http.get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);

	return info ? info->socket_context : NULL;
}

/* Let the main thread render the page. */
static enum MHD_Result begin(struct server *server, struct job *job)
{
	uint64_t wait_s = job->route->takes_seconds ? job->query.seconds : 0;

	guard_response(server->guard, guarded_of(job->connection),
		       RESPONSE_NS + wait_s * NS_PER_S);
	http.suspend_connection(job->connection);
	jobs_put(server->jobs, job);
	return MHD_YES;
}

static enum MHD_Result finish(struct job *job)
{
	enum MHD_Result result =
		http.queue_response(job->connection, job->status, job->response);

	http.destroy_response(take(job->response));
	return result;
}

/* The request is whole: answer it, now or later. */
static enum MHD_Result route_request(struct server *server, struct job *job,
				     const char *url)
{
	struct reading reading = {.wrong = NULL};

	job->route = route_find(url);
	if (!job->route)
		return refuse(job->connection, MHD_HTTP_NOT_FOUND,
			      "no such page; /debug/pprof/ lists them");
	http.get_connection_values(job->connection, MHD_GET_ARGUMENT_KIND, take_argument,
				   &reading);
	if (reading.wrong)
		return refuse(job->connection, MHD_HTTP_BAD_REQUEST, reading.wrong);
	job->query = reading.query;
	if (job->route->render)
		return begin(server, job);
	job->status = MHD_HTTP_OK;
	job->response = response_text("%s", job->route->fixed);
	return job->response ? finish(job) : MHD_NO;
}

/* libmicrohttpd calls this when the headers are there, when the request is whole, and
 * after each suspension. */
static enum MHD_Result handle(void *arg, struct MHD_Connection *connection,
			      const char *url, const char *method, const char *version,
			      const char *upload, size_t *upload_size, void **context)
{
	struct server *server = arg;
	unsigned status = MHD_HTTP_BAD_REQUEST;
	struct job *job = *context;
	const char *why;

	(void)version;
	(void)upload;
	(void)upload_size;
	if (job && job->response)
		return finish(job);
	/* After an answer that could not be made. */
	if (job && job->route)
		return MHD_NO;
	if (job)
		return route_request(server, job, url);
	/* An answer now ends the connection, because what follows on it may be the
	 * request's body. */
	why = check(server, connection, method, &status);
	if (why)
		return refuse(connection, status, why);
	job = calloc(1, sizeof(*job));
	if (!job)
		return MHD_NO;
	job->connection = connection;
	*context = job;
	return MHD_YES;
}

static void completed(void *arg, struct MHD_Connection *connection, void **context,
		      enum MHD_RequestTerminationCode code)
{
	struct server *server = arg;
	struct job *job = *context;

	(void)code;
	guard_request(server->guard, guarded_of(connection));
	if (job && job->response)
		http.destroy_response(job->response);
	free(job);
	*context = NULL;
}

static void connected(void *arg, struct MHD_Connection *connection, void **context,
		      enum MHD_ConnectionNotificationCode code)
{
	struct server *server = arg;
	const union MHD_ConnectionInfo *info =
		http.get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

	if (code == MHD_CONNECTION_NOTIFY_STARTED && info) {
		*context = guard_add(server->guard, info->connect_fd);
	} else if (code == MHD_CONNECTION_NOTIFY_CLOSED) {
		guard_remove(server->guard, *context);
		*context = NULL;
	}
}

/* --- the process -------------------------------------------------------------------- */

void server_run(const struct server_options *options, int feed, int listener)
{
	struct server server = {.options = options, .jobs = jobs_create()};
	const struct guard_limits limits = {
		.request_ns = REQUEST_NS,
		.crowd = CONNECTIONS_MAX / 2,
		.crowded_ns = CROWDED_NS,
	};
	struct MHD_Daemon *daemon;

	signal(SIGPIPE, SIG_IGN);
	/* The worker returns it when no clients come. */
	heap_keep_all();
	server.guard = guard_start(&limits);
	if (!server.jobs || !server.guard)
		return;
	daemon = http.start_daemon(
		MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, NULL, NULL,
		handle, &server, MHD_OPTION_LISTEN_SOCKET, listener,
		MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS_MAX,
		MHD_OPTION_CONNECTION_MEMORY_LIMIT, CONNECTION_BYTES,
		MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)IDLE_S,
		MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_COMPLETED, completed,
		&server, MHD_OPTION_NOTIFY_CONNECTION, connected, &server,
		MHD_OPTION_END);
	if (daemon)
		worker_run(options->options, options->setup, feed, server.jobs);
	/* Its connections end with the process. */
}
