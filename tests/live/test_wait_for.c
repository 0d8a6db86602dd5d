// SPDX-License-Identifier: Apache-2.0
/* --wait-for: a process that is started, ends, and is started again. */
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "http.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S 30
#define RESTARTS  5
#define URGENT    (-15)

static unsigned port_of(struct live_process *memtrace)
{
	const char *said = "listening on http://127.0.0.1:";

	REQUIRE(live_wait_stderr(memtrace, said, TIMEOUT_S));
	return (unsigned)strtoul(strstr(live_stderr(memtrace), said) + strlen(said), NULL,
				 10);
}

static struct live_process *start(const char *name)
{
	const char *const argv[] = {memtrace_path, "--wait-for", name,
				    "--listen",    "0",          NULL};

	return live_start(argv);
}

/* How long this process, and no other, is traced, by /metrics. Below 0: it is not. */
static double traced_s(unsigned port, pid_t pid)
{
	static const char name[] = "\nmemtrace_traced_seconds ";
	struct http_answer a = http_get(port, "/metrics");
	const char *at = a.body ? strstr(a.body, name) : NULL;
	char label[32];
	double s = -1;

	snprintf(label, sizeof(label), "pid=\"%d\"", pid);
	if (a.status == 200 && at && strstr(a.body, label))
		s = strtod(at + strlen(name), NULL);
	http_free(&a);
	return s;
}

/* Wait until it is traced. Returns since when, as live_now_s(); below 0: it is not. */
static double wait_traced_since(unsigned port, pid_t pid, double timeout_s)
{
	double end_s = live_now_s() + timeout_s;

	while (live_now_s() < end_s) {
		double s = traced_s(port, pid);

		if (s >= 0)
			return live_now_s() - s;
		live_sleep(0.05);
	}
	return -1;
}

static bool wait_traced(unsigned port, pid_t pid, double timeout_s)
{
	return wait_traced_since(port, pid, timeout_s) >= 0;
}

/* Do other programs keep the processors busy? */
static bool is_busy(void)
{
	double load;

	return getloadavg(&load, 1) == 1 && load > (double)sysconf(_SC_NPROCESSORS_ONLN);
}

/* Also while the process that is killed keeps two threads busy. This test and its
 * children go before other programs, which is not enough for a second if these are many.
 */
static void it_is_traced_again(void)
{
	struct probes *before = probes_find();
	int raised = setpriority(PRIO_PROCESS, 0, URGENT);
	bool was_busy = is_busy();
	struct live_process *memtrace = start(oracle_path), *oracle, *old;
	unsigned port = port_of(memtrace);
	struct http_answer a = http_get(port, "/debug/pprof/heap");
	double least_s = TIMEOUT_S;

	CHECK_INT(raised, 0);
	CHECK_INT(a.status, 503);
	CHECK_CONTAINS(a.body, "waiting for one");
	http_free(&a);
	a = http_get(port, "/metrics");
	CHECK_INT(a.status, 200);
	CHECK_CONTAINS(a.body, "memtrace_traced_processes 0\n");
	http_free(&a);
	/* The first time it may have to compile. */
	oracle = oracle_start();
	CHECK(wait_traced(port, live_pid(oracle), TIMEOUT_S));
	for (int i = 0; i < RESTARTS; i++) {
		double begun_s, since_s;

		/* It is killed while it allocates without pause. */
		live_send(oracle, "churn 60 2");
		live_sleep(0.5);
		old = oracle;
		live_signal(old, SIGKILL);
		/* The old one is not waited for yet, and has a lower pid. */
		oracle = oracle_start();
		begun_s = live_now_s();
		since_s = wait_traced_since(port, live_pid(oracle), TIMEOUT_S);
		CHECK(since_s >= 0);
		fprintf(stderr, "traced again after %.2f s, seen after %.2f s\n",
			since_s - begun_s, live_now_s() - begun_s);
		if (since_s - begun_s < least_s)
			least_s = since_s - begun_s;
		CHECK_INT(live_wait(old, TIMEOUT_S), 128 + SIGKILL);
		live_destroy(old);
	}
	/* The least: the machine may stand still for a moment. */
	CHECK(least_s < (was_busy ? 3 : 1));
	REQUIRE(!setpriority(PRIO_PROCESS, 0, 0));
	live_signal(memtrace, SIGTERM);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(oracle);
	CHECK(probes_gone(before));
	probes_destroy(before);
}

/* The server is killed while a process is traced: another run and another server. */
static void the_server_is_started_again(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = start("oracle");
	unsigned port = port_of(memtrace);
	char command[64];

	CHECK(wait_traced(port, live_pid(oracle), TIMEOUT_S));
	snprintf(command, sizeof(command), "pkill -KILL -x -P %d memtrace-serve",
		 live_pid(memtrace));
	CHECK_INT(system(command), 0);
	CHECK(wait_traced(port, live_pid(oracle), TIMEOUT_S));
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(oracle);
}

/* memtrace notifies a service manager as sd_notify(3) does. */
static void the_service_manager_is_notified(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	_cleanup_(freep) char *path = live_path("notify");
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct live_process *memtrace;
	char state[256] = "", all[1024] = "";
	ssize_t n;

	REQUIRE(fd >= 0 && strlen(path) < sizeof(at.sun_path));
	strcpy(at.sun_path, path);
	REQUIRE(!bind(fd, (const struct sockaddr *)&at, sizeof(at)));
	setenv("NOTIFY_SOCKET", path, 1);
	memtrace = start("no-such-process");
	port_of(memtrace);
	REQUIRE(live_wait_stderr(memtrace, "waiting for no-such-process", TIMEOUT_S));
	live_signal(memtrace, SIGTERM);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	unsetenv("NOTIFY_SOCKET");
	while ((n = recv(fd, state, sizeof(state) - 1, MSG_DONTWAIT)) > 0) {
		state[n] = '\0';
		strcat(strcat(all, state), "|");
	}
	CHECK_STR(all, "READY=1|STATUS=waiting for no-such-process|STOPPING=1|");
	close(fd);
	live_destroy(memtrace);
}

/* The capabilities of examples/service, by setpriv(1). */
static void three_capabilities_are_enough(void)
{
	const char *const argv[] = {"setpriv",
				    "--bounding-set",
				    "-all,+bpf,+perfmon,+sys_ptrace",
				    memtrace_path,
				    "--wait-for",
				    oracle_path,
				    "--listen",
				    "0",
				    NULL};
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = live_start(argv);
	unsigned port = port_of(memtrace);

	CHECK(wait_traced(port, live_pid(oracle), TIMEOUT_S));
	live_signal(memtrace, SIGTERM);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(oracle);
}

int main(void)
{
	live_require_root();
	RUN(the_service_manager_is_notified);
	RUN(it_is_traced_again);
	RUN(three_capabilities_are_enough);
	RUN(the_server_is_started_again);
	return check_done();
}
