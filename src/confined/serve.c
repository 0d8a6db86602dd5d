// SPDX-License-Identifier: Apache-2.0
#include "confined/serve.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined/filter.h"
#include "confined/shed.h"
#include "util/cleanup.h"
#include "util/fd_table.h"
#include "util/open_helper.h"
#include "util/sanitized.h"
#include "util/stack_limit.h"
#include "util/whole_io.h"

#define SOCKET 3
#define RULES  4 /* Landlock ruleset; closed if not given */
#define KEPT   4 /* what a server keeps; it has no rules */

/* Limit on the child's memory: symbol tables of the largest programs, and decompressed
 * debug sections (debug_elf_max_bytes()). */
#define DATA_BYTES (UINT64_C(6) << 30)

void confined_say(struct confined_server *server, const char *phase)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};

	wire_put_text(&text, phase);
	(void)message_put(server->socket, NULL, MESSAGE_SAY, 0, &text, -1);
}

int confined_ask(struct confined_server *server, const struct strbuf *question)
{
	_cleanup_(strbuf_deinit) struct strbuf nothing = {0};
	struct message_head head;
	int fd;

	if (message_put(server->socket, NULL, MESSAGE_QUESTION, 0, question, -1) ||
	    message_get(server->socket, NULL, &head, &nothing, &fd))
		_exit(1); /* the parent has exited */
	return fd;
}

static void limit(int resource, rlim_t want)
{
	struct rlimit limits;

	if (getrlimit(resource, &limits))
		return;
	/* The child must not be able to raise it. */
	if (want < limits.rlim_max)
		limits.rlim_max = want;
	limits.rlim_cur = limits.rlim_max;
	(void)setrlimit(resource, &limits);
}

/* What a target gives to read can take memory. If the machine has little, this process
 * has less, and the kernel ends it before all others (proc_pid_oom_score_adj(5)): the
 * rest of the run goes on without. */
static void give_way(void)
{
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

	/* On failure the kernel chooses as it does for others. */
	if (fd >= 0)
		(void)whole_write(fd, "1000", 4);
	closep(&fd);
}

static uint64_t data_bytes(void)
{
	uint64_t half =
		(uint64_t)sysconf(_SC_PHYS_PAGES) / 2 * (uint64_t)sysconf(_SC_PAGESIZE);

	return half < DATA_BYTES ? half : DATA_BYTES;
}

/* Close all descriptors except the socket and the rules, or what a server keeps (-1:
 * none). Standard input and output become /dev/null, because libraries may write to
 * them. */
static void keep_only(int socket, int rules)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = 0; fd <= 2; fd++)
		dup2(null, fd);
	/* Their numbers may be those that dup2() overwrites. */
	socket = fcntl(socket, F_DUPFD, RULES + 1);
	if (rules >= 0)
		rules = fcntl(rules, F_DUPFD, RULES + 1);
	dup2(socket, SOCKET);
	if (rules < 0 || dup2(rules, RULES) < 0)
		close(RULES);
	syscall(SYS_close_range, RULES + 1, ~0U, 0);
	fcntl(SOCKET, F_SETFD, FD_CLOEXEC);
}

static void settle(const struct confined_options *options, int socket, int parent)
{
	sigset_t none;

	open_helper_remove();
	fd_table_cut_off();
	/* A writer notices the end of the socket, and cleans up. */
	if (options->kind != CONFINED_WRITER)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* the parent has exited already */
	prctl(PR_SET_NAME, options->name);
	/* Ctrl-C signals the whole process group; the parent decides when the child
	 * exits. */
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	/* So does Ctrl-Z. A stopped scanner could not let go on what it has stopped. */
	signal(SIGTSTP, SIG_IGN);
	signal(SIGTTIN, SIG_IGN);
	signal(SIGTTOU, SIG_IGN);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (options->kind != CONFINED_WRITER && chdir("/"))
		_exit(1);
	if (options->kind != CONFINED_WRITER)
		give_way();
	if (options->kind == CONFINED_SERVER)
		keep_only(socket, options->kept);
	else
		keep_only(socket, options->files ? landlock_prepare(options->files) : -1);
	limit(RLIMIT_CORE, 0);
	stack_limit_raise();
	limit(RLIMIT_NOFILE, RLIM_INFINITY);
	/* A write beyond the limit fails. */
	signal(SIGXFSZ, SIG_IGN);
	if (options->kind == CONFINED_CLIENT && options->file_bytes)
		limit(RLIMIT_FSIZE, options->file_bytes);
	if (options->kind == CONFINED_READER || options->kind == CONFINED_SERVER) {
		limit(RLIMIT_FSIZE, 0);
		if (!IS_SANITIZED)
			limit(RLIMIT_DATA, data_bytes());
	}
}

/* Open only the files of the rules from now on. Without Landlock: what the user may
 * open. */
static void enter_rules(const struct confined_options *options)
{
	if (!options->files)
		return;
	(void)landlock_enter(RULES);
	close(RULES);
}

/* Confine this process. *ret_listener is owned by the caller: the listener for a
 * reader's calls, if it has a policy. */
static struct error *confine(const struct confined_options *options, int *ret_listener)
{
	struct error *err;

	if (options->kind == CONFINED_WRITER)
		return shed_for_writing();
	if (options->kind == CONFINED_SCANNER) {
		err = shed_for_reading();
		return err ? err : filter_load_scanner();
	}
	err = shed_root(0);
	if (err)
		return err;
	enter_rules(options);
	if (options->kind == CONFINED_CLIENT)
		return filter_load_client();
	if (options->kind == CONFINED_SERVER)
		return filter_load_server();
	return filter_load_reader(options->policy.find ? ret_listener : NULL);
}

_Noreturn static void refuse(const struct error *err)
{
	_cleanup_(strbuf_deinit) struct strbuf why = {0};

	error_put(&why, err);
	(void)message_put(SOCKET, NULL, MESSAGE_OPEN, 0, &why, -1);
	_exit(1);
}

/* Confine this process, and tell the parent the result. */
static void confine_and_tell(const struct confined_options *options)
{
	int listener = -1;
	struct error *err = confine(options, &listener);

	if (err)
		refuse(err);
	if (message_put(SOCKET, NULL, MESSAGE_READY, 0, NULL, listener))
		_exit(1);
	/* A process with the listener could answer in the parent's place. libseccomp
	 * also has one. */
	syscall(SYS_close_range, options->kind == CONFINED_SERVER ? KEPT + 1 : SOCKET + 1,
		~0U, 0);
}

/* Without a filter: give up what can be given up, and tell the parent. */
static void report_unfiltered(const struct confined_options *options)
{
	/* No parent answers requests of this process, so a reader opens files itself. */
	bool opens_files = (options->kind == CONFINED_READER && options->policy.find) ||
			   options->kind == CONFINED_SCANNER;

	struct error *err;

	/* The filter of a writer fails again, after its capabilities are gone. */
	if (options->kind == CONFINED_WRITER)
		err = shed_for_writing();
	else
		err = opens_files ? shed_for_reading() : shed_root(0);
	enter_rules(options);
	if (err && err->code != ERROR_UNSUPPORTED)
		refuse(err);
	error_destroy(err);
	if (message_put(SOCKET, NULL, MESSAGE_READY, 0, NULL, -1))
		_exit(1);
}

static struct error *dispatch(const struct confined_options *options,
			      struct confined_request *request)
{
	for (size_t i = 0; i < options->service_count; i++) {
		const struct confined_service *service = &options->services[i];

		if (request->number - service->first < service->count)
			return service->answer(service->state, request);
	}
	return error_create(ERROR_UNSUPPORTED, "no service answers request %u",
			    request->number);
}

/* Answer one request. False: the parent has closed the socket. */
static bool serve_one(const struct confined_options *options,
		      struct confined_server *server)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	_cleanup_(closep) int fd = -1, ret_fd = -1;
	struct message_head head;
	struct error *err;

	if (message_get(server->socket, NULL, &head, &in, &fd) ||
	    head.kind != MESSAGE_ASK)
		return false;

	struct confined_request request = {
		.number = head.number,
		.in = wire_read(&in),
		.fd = fd,
		.out = &out,
		.ret_fd = &ret_fd,
		.server = server,
	};

	err = dispatch(options, &request);
	/* The service may have taken ownership of it. */
	fd = request.fd;
	if (!err && out.failed)
		err = error_no_memory();
	if (!err)
		return !message_put(server->socket, NULL, MESSAGE_ANSWER, 0, &out,
				    ret_fd);
	strbuf_deinit(&out);
	error_put(&out, err);
	error_destroy(err);
	return !message_put(server->socket, NULL, MESSAGE_REFUSED, 0, &out, -1);
}

_Noreturn void confined_serve(const struct confined_options *options, bool is_confined,
			      int socket, int parent)
{
	struct confined_server server = {SOCKET};

	settle(options, socket, parent);
	if (is_confined)
		confine_and_tell(options);
	else
		report_unfiltered(options);
	if (options->kind == CONFINED_SERVER)
		options->run(options->run_arg, SOCKET, KEPT);
	else
		while (serve_one(options, &server))
			;
	if (options->ends)
		options->ends(options->ends_arg);
	/* Without running destructors: they are the parent's. */
	_exit(0);
}
