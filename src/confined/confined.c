// SPDX-License-Identifier: Apache-2.0
#include "confined/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "confined/refusal.h"
#include "confined/serve.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* A child hangs if it opens nothing and sends nothing for this long. */
#define SILENCE_NS (UINT64_C(60) * 1000000000)
/* Bound on one answer, even if the child sends messages. The work for an answer is
 * bounded; the slowest machines take a fraction of this time. */
#define ANSWER_NS (UINT64_C(300) * 1000000000)
#define LOOK_MS   1000
/* Bound on sending or receiving one message. A child that was taken over may send a byte
 * now and then, or questions without reading the replies. */
#define MESSAGE_NS (UINT64_C(5) * 1000000000)
/* Once the run is late: processor time that a reader may use without a message. A
 * reader of a large file sends messages all the time. */
#define LATE_CPU_NS (UINT64_C(4) * 1000000000)

/* A child that waits for a server cannot be killed: do not wait for its exit forever. */
#define END_TRIES   500
#define END_WAIT_US 1000

#define GIVEN_UP    "was ended: the wait was given up"

/* State of one wait for an answer. */
struct patience {
	uint64_t begin_ns,
		heard_ns; /* start of the wait, and last message, CLOCK_MONOTONIC ns */
	uint64_t ours_ns; /* time that this process took to answer, which counts apart */
	uint64_t cpu_ns;  /* the child's processor time at the last check, ns */
	uint64_t silent_cpu_ns; /* the child's processor time at its last message, ns */
};

struct confined {
	struct confined_options options;
	pthread_mutex_t lock;
	pid_t pid; /* 0: it has exited and was waited for */
	int pidfd, socket;
	struct broker broker;
	char end[80]; /* how it ended; "": it runs */
};

int confined_pid(const struct confined *confined)
{
	return confined->pid;
}

int confined_socket(const struct confined *confined)
{
	return confined->socket;
}

/* --- start and end ----------------------------------------------------------------- */

static void describe_end(struct confined *c, int status)
{
	if (c->end[0])
		return;
	if (WIFSIGNALED(status))
		snprintf(c->end, sizeof(c->end), "was ended by signal %d",
			 WTERMSIG(status));
	else
		snprintf(c->end, sizeof(c->end), "ended with status %d",
			 WEXITSTATUS(status));
}

/* Kill the child if it still runs. A child that is blocked on a file system exits
 * later. It holds no descriptor that another process waits for. */
static void end_child(struct confined *c)
{
	int status = 0;
	pid_t ended = 0;

	if (!c->pid)
		return;
	/* A writer cleans up when the socket is closed, and this process may not be
	 * permitted to kill it. Any other child may be in a loop. */
	shutdown(c->socket, SHUT_RDWR);
	if (c->options.kind != CONFINED_WRITER)
		kill(c->pid, SIGKILL);
	for (int i = 0; i < END_TRIES && !ended; i++) {
		ended = waitpid(c->pid, &status, WNOHANG);
		if (!ended)
			usleep(END_WAIT_US);
	}
	if (!ended && !c->end[0])
		snprintf(c->end, sizeof(c->end), "waits for a file system");
	describe_end(c, status);
	c->pid = 0;
}

void confined_destroy(struct confined *c)
{
	if (!c)
		return;
	end_child(c);
	broker_deinit(&c->broker);
	closep(&c->pidfd);
	closep(&c->socket);
	pthread_mutex_destroy(&c->lock);
	free(c);
}

DEFINE_CLEANUP(struct confined *, confined_destroy);

static struct error *open_process(struct confined *c)
{
	char path[32];

	c->broker.pid = c->pid;
	snprintf(path, sizeof(path), "/proc/%d/mem", c->pid);
	c->pidfd = (int)syscall(SYS_pidfd_open, c->pid, 0);
	if (c->pidfd < 0)
		return error_errno(
			refusal_code(errno), errno,
			"cannot watch the process that reads files for memtrace");
	c->broker.process = c->pidfd;
	c->broker.memory = open(path, O_RDWR | O_CLOEXEC);
	if (c->broker.memory < 0)
		return error_errno(
			refusal_code(errno), errno,
			"cannot watch the process that reads files for memtrace");
	return NULL;
}

static struct error *start_child(struct confined *c, bool is_confined)
{
	pid_t parent = getpid();
	int pair[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair))
		return error_errno(ERROR_IO, errno, "cannot make a socket pair");
	c->pid = fork();
	if (c->pid == 0)
		confined_serve(&c->options, is_confined, pair[1], parent);
	close(pair[1]);
	c->socket = pair[0];
	if (c->pid < 0) {
		c->pid = 0;
		return error_errno(ERROR_IO, errno, "cannot fork");
	}
	return NULL;
}

/* Wait until the child is confined or reports that it cannot be. */
static struct error *await_start(struct confined *c)
{
	_cleanup_(strbuf_deinit) struct strbuf payload = {0};
	struct message_head head;
	const struct message_limit limit = {.most_ns = SILENCE_NS};
	int err = message_get(c->socket, &limit, &head, &payload, &c->broker.listener);

	if (!err && head.kind == MESSAGE_READY)
		return c->broker.listener < 0 ? NULL : open_process(c);
	if (!err && head.kind == MESSAGE_OPEN)
		return error_get(&payload);
	end_child(c);
	return error_create(ERROR_IO, "the process %s %s", c->options.name, c->end);
}

static struct error *start(const struct confined_options *options, bool is_confined,
			   struct confined **ret)
{
	_cleanup_(confined_destroyp) struct confined *c = calloc(1, sizeof(*c));
	struct error *err;

	if (!c)
		return error_no_memory();
	pthread_mutex_init(&c->lock, NULL);
	c->options = *options;
	c->pidfd = c->socket = c->broker.memory = c->broker.listener = -1;
	err = start_child(c, is_confined);
	/* The child's alone. */
	c->options.services = NULL;
	if (!err)
		err = await_start(c);
	if (err)
		return err;
	*ret = take(c);
	return NULL;
}

struct error *confined_start(const struct confined_options *options,
			     struct confined **ret, struct error **ret_why)
{
	struct error *err = start(options, true, ret);

	*ret_why = NULL;
	if (!err || err->code != ERROR_UNSUPPORTED || options->needs_filter)
		return err;
	*ret_why = err;
	return start(options, false, ret);
}

/* --- requests ---------------------------------------------------------------------- */

static struct error *is_gone(const struct confined *c)
{
	return error_create(ERROR_GONE, "the process %s %s", c->options.name, c->end);
}

static struct error *give_up(struct confined *c, const char *why)
{
	snprintf(c->end, sizeof(c->end), "%s", why);
	end_child(c);
	return is_gone(c);
}

static uint64_t stopping_ns(const struct confined *c)
{
	const struct confined_options *o = &c->options;

	return o->stopping_ns ? o->stopping_ns(o->stopping_arg) : 0;
}

/* Has the child time left since a signal asked for the end of the run? */
static bool goes_on(void *arg)
{
	const struct confined *c = arg;

	return stopping_ns(c) <
	       (c->options.kind == CONFINED_CLIENT ? CONFINED_LATE_NS : CONFINED_END_NS);
}

static struct message_limit limit_of(struct confined *c)
{
	return (struct message_limit){MESSAGE_NS, goes_on, c};
}

static int put(struct confined *c, enum message_kind kind, uint32_t number,
	       const struct strbuf *payload, int fd)
{
	const struct message_limit limit = limit_of(c);

	return message_put(c->socket, &limit, kind, number, payload, fd);
}

/* The child had too little time for `why`. */
static struct error *time_is_up(struct confined *c, const char *why)
{
	return give_up(c, goes_on(c) ? why : GIVEN_UP);
}

static void pass_progress(const struct confined *c, const struct strbuf *payload)
{
	struct wire in = wire_read(payload);
	const char *phase = wire_get_text(&in);

	if (phase && c->options.progress)
		c->options.progress(c->options.progress_arg, phase);
}

/* False: the child does not take the reply. */
static bool answer_question(struct confined *c, const struct strbuf *payload,
			    struct patience *patience)
{
	struct wire in = wire_read(payload);
	uint64_t begin_ns = clock_now_ns();
	_cleanup_(closep) int fd =
		c->options.question ? c->options.question(c->options.question_arg, &in)
				    : -1;

	patience->ours_ns += clock_now_ns() - begin_ns;
	return !put(c, MESSAGE_REPLY, 0, NULL, fd);
}

/* The child has a limit of memory, which what it reads may exhaust: that ends the child,
 * not the run. */
static struct error *ends_for_memory(struct confined *c, struct error *err)
{
	if (err->code != ERROR_NO_MEMORY || c->options.kind == CONFINED_WRITER)
		return err;
	error_destroy(err);
	return give_up(c, "was ended: it has no memory left");
}

/* Read a message from the child. True: it is the answer, or *err is set. */
static bool read_message(struct confined *c, struct patience *patience,
			 struct strbuf *out, int *ret_fd, struct error **err)
{
	_cleanup_(strbuf_deinit) struct strbuf payload = {0};
	_cleanup_(closep) int fd = -1;
	struct message_head head;
	const struct message_limit limit = limit_of(c);
	int errnum = message_get(c->socket, &limit, &head, &payload, &fd);

	if (errnum == ENOMEM) {
		*err = give_up(c, "was ended: its answer is too long");
		return true;
	}
	if (errnum == ETIMEDOUT) {
		*err = time_is_up(c, "was ended: it did not finish a message");
		return true;
	}
	if (errnum) {
		end_child(c);
		*err = is_gone(c);
		return true;
	}
	switch (head.kind) {
	case MESSAGE_SAY:
		pass_progress(c, &payload);
		return false;
	case MESSAGE_QUESTION:
		if (answer_question(c, &payload, patience))
			return false;
		*err = time_is_up(c, "was ended: it did not take a reply");
		return true;
	case MESSAGE_ANSWER:
		*out = payload;
		payload = (struct strbuf){0};
		if (ret_fd) {
			*ret_fd = fd;
			fd = -1;
		}
		return true;
	case MESSAGE_REFUSED:
		*err = ends_for_memory(c, error_get(&payload));
		return true;
	default:
		*err = give_up(c, "was ended: it does not keep to the protocol");
		return true;
	}
}

/* Does the child take too long? Clients wait for other hosts, so they have a limit of
 * their own. */
static bool is_stuck(const struct confined *c, const struct patience *patience)
{
	uint64_t now_ns = clock_now_ns();

	if (c->options.kind == CONFINED_CLIENT)
		return c->options.answer_ns &&
		       now_ns - patience->begin_ns > c->options.answer_ns;
	return c->options.kind != CONFINED_WRITER &&
	       (now_ns - patience->heard_ns > SILENCE_NS ||
		now_ns - patience->begin_ns - patience->ours_ns > ANSWER_NS ||
		patience->ours_ns > ANSWER_NS);
}

/* The child's processor time, ns; 0: unknown. */
static uint64_t cpu_of(const struct confined *c)
{
	struct timespec t;
	clockid_t clock;

	if (clock_getcpuclockid(c->pid, &clock) || clock_gettime(clock, &t))
		return 0;
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Update the child's processor time, once in LOOK_MS. True: it has used none since the
 * last call. */
static bool look_at_work(const struct confined *c, struct patience *patience)
{
	uint64_t before_ns = patience->cpu_ns;

	patience->cpu_ns = cpu_of(c);
	if (!patience->silent_cpu_ns)
		patience->silent_cpu_ns = patience->cpu_ns;
	return patience->cpu_ns == before_ns;
}

/* Must the child be killed because the run is ending (confined_options.stopping_ns)? */
static bool is_given_up(struct confined *c, struct patience *patience, bool is_quiet)
{
	bool is_idle = is_quiet && look_at_work(c, patience);

	if (!is_quiet)
		patience->silent_cpu_ns = 0;
	if (stopping_ns(c) < CONFINED_LATE_NS)
		return false;
	return !goes_on(c) || is_idle ||
	       (is_quiet && patience->cpu_ns - patience->silent_cpu_ns > LATE_CPU_NS);
}

/* Handle the child's messages and system calls until it has answered. */
static struct error *await_answer(struct confined *c, struct strbuf *out, int *ret_fd)
{
	const struct confined_options *o = &c->options;
	uint64_t now_ns = clock_now_ns();
	struct patience patience = {.begin_ns = now_ns, .heard_ns = now_ns};
	struct error *err = NULL;

	for (;;) {
		struct pollfd fds[] = {
			{.fd = c->socket, .events = POLLIN},
			{.fd = c->broker.listener, .events = POLLIN},
		};
		int n = poll(fds, 2, LOOK_MS);

		now_ns = clock_now_ns();
		if (n > 0 && fds[1].revents & POLLIN)
			broker_answer(&c->broker, &o->policy);
		else if (n > 0 && fds[0].revents &&
			 read_message(c, &patience, out, ret_fd, &err))
			return err;
		if (n > 0)
			patience.heard_ns = clock_now_ns();
		if (n > 0 && fds[1].revents & POLLIN)
			patience.ours_ns += patience.heard_ns - now_ns;
		if (is_stuck(c, &patience))
			return give_up(c, "was ended: it gave no answer");
		if (is_given_up(c, &patience, !n))
			return give_up(c, GIVEN_UP);
	}
}

static struct error *call(struct confined *c, uint32_t number, const struct strbuf *in,
			  int fd, struct strbuf *out, int *ret_fd)
{
	int err;

	if (!c->pid)
		return is_gone(c);
	if (in && in->failed)
		return error_no_memory();
	err = put(c, MESSAGE_ASK, number, in, fd);
	if (err == ETIMEDOUT)
		return time_is_up(c, "was ended: it did not take a request");
	if (err) {
		end_child(c);
		return is_gone(c);
	}
	return await_answer(c, out, ret_fd);
}

struct error *confined_call(struct confined *c, uint32_t number, const struct strbuf *in,
			    int fd, struct strbuf *out, int *ret_fd)
{
	struct error *err;

	if (ret_fd)
		*ret_fd = -1;
	pthread_mutex_lock(&c->lock);
	err = call(c, number, in, fd, out, ret_fd);
	pthread_mutex_unlock(&c->lock);
	return err;
}
