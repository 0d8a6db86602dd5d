// SPDX-License-Identifier: Apache-2.0
#include "serve/serve.h"

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "confined/confined.h"
#include "observe/feed.h"
#include "serve/http.h"
#include "serve/listener.h"
#include "serve/server.h"
#include "util/cleanup.h"
#include "util/say_error.h"
#include "util/say_note.h"

#define RESTARTS_MAX 16

struct serve {
	struct server_options options;
	struct listener listener;
	struct confined *child; /* NULL: it has ended, and is not started again */
	unsigned restarts;
	pid_t owner;  /* the process that started the child */
	bool is_lost; /* in another process: the child has ended */
};

static void run(void *arg, int socket, int kept)
{
	const struct server_options *options = arg;

	server_run(options, socket, kept);
}

static struct error *start(struct serve *serve)
{
	const struct confined_options child = {
		.kind = CONFINED_SERVER,
		.name = "memtrace-serve",
		.run = run,
		.run_arg = &serve->options,
		.kept = serve->listener.fd,
	};
	_cleanup_(error_destroyp) struct error *why = NULL;
	struct error *err = confined_start(&child, &serve->child, &why);

	if (!err && why)
		say_error("--listen: clients are answered without a seccomp filter: ",
			  why, "");
	return err;
}

struct error *serve_start(const struct options *options, const struct report_setup *setup,
			  struct serve **ret)
{
	struct listen_address address;
	struct serve *serve;
	struct error *err;

	*ret = NULL;
	if (!options->listen)
		return NULL;
	err = listen_address_parse(options->listen, &address);
	if (!err)
		err = http_load();
	if (err)
		return error_prefix(err, "--listen");
	serve = calloc(1, sizeof(*serve));
	if (!serve)
		return error_no_memory();
	serve->owner = getpid();
	serve->options = (struct server_options){
		.options = options, .setup = setup, .checks_host = address.is_loopback};
	err = listener_open(&address, &serve->listener);
	if (!err)
		err = start(serve);
	if (err)
		serve_stop(serve);
	else
		*ret = serve;
	return err;
}

bool serve_is_alive(const struct serve *serve)
{
	siginfo_t info = {.si_pid = 0};

	return serve->child && (waitid(P_PID, (id_t)confined_pid(serve->child), &info,
				       WEXITED | WNOHANG | WNOWAIT) ||
				!info.si_pid);
}

void serve_stop(struct serve *serve)
{
	if (!serve)
		return;
	confined_destroy(serve->child);
	listener_close(&serve->listener);
	free(serve);
}

int serve_fd(const struct serve *serve)
{
	return serve && serve->child && !serve->is_lost ? confined_socket(serve->child)
							: -1;
}

/* The child has ended, or does not keep to the protocol. */
static void start_again(struct serve *serve)
{
	_cleanup_(error_destroyp) struct error *err = NULL;

	if (getpid() != serve->owner) {
		serve->is_lost = true;
		return;
	}
	confined_destroy(take(serve->child));
	err = serve->restarts++ < RESTARTS_MAX
		      ? start(serve)
		      : error_create(ERROR_GONE,
				     "the process memtrace-serve ended too often");
	if (!err)
		return;
	serve->child = NULL;
	say_error("--listen: the server has ended: ", err, "");
}

bool serve_is_asked(struct serve *serve, bool *wants_blocks)
{
	bool gone = false, asked;

	if (!serve || !serve->child || serve->is_lost)
		return false;
	asked = feed_is_asked(confined_socket(serve->child), &gone, wants_blocks);
	if (gone)
		start_again(serve);
	return asked && !gone;
}

void serve_answer(struct serve *serve, const struct snapshot *snap, bool has_blocks,
		  uint64_t taken_ns)
{
	bool sent = false;
	struct error *err = feed_send(confined_socket(serve->child), snap, has_blocks,
				      taken_ns, &sent);

	if (err) {
		serve_refuse(serve, err->message);
		error_destroy(err);
	} else if (!sent) {
		start_again(serve);
	}
}

void serve_refuse(struct serve *serve, const char *why)
{
	if (!feed_refuse(confined_socket(serve->child), why))
		start_again(serve);
}

const struct listen_address *serve_address(const struct serve *serve)
{
	return &serve->listener.address;
}

void serve_say(const struct serve *serve)
{
	char text[LISTEN_ADDRESS_TEXT];

	if (!serve)
		return;
	listen_address_format(&serve->listener.address, text, sizeof(text));
	say_note("listening on %s%s", serve->listener.address.path ? "" : "http://",
		 text);
}
