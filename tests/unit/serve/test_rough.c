// SPDX-License-Identifier: Apache-2.0
/* Clients that are wrong, hostile, slow or many, at a port and at a unix socket. */
#include "served.h"

#include <dirent.h>
#include <fcntl.h>
#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "unit/random.h"

static double now_s(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The socket of this test; "": a port. */
static char path[64];

static void begin(struct served *s)
{
	static char address[sizeof(path) + 8];

	*s = (struct served){.port = 0};
	fixture_init(&s->fixture);
	fixture_fill(&s->fixture);
	fixture_fill_traffic(&s->fixture);
	snprintf(address, sizeof(address), "unix:%s", path);
	served_start(s, *path ? address : "0");
}

static int connect_to(const struct served *s)
{
	return *path ? http_connect_unix(path) : http_connect(s->port);
}

static struct http_answer ask(const struct served *s, const char *bytes, size_t len)
{
	return http_ask_on(connect_to(s), bytes, len);
}

static struct http_answer get(const struct served *s, const char *page)
{
	char request[256];

	snprintf(request, sizeof(request),
		 "GET %s HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n", page);
	return ask(s, request, strlen(request));
}

static void check_healthy(const struct served *s)
{
	struct http_answer a = get(s, "/healthz");

	CHECK_INT(a.status, 200);
	http_free(&a);
}

static int status_of(const struct served *s, const char *request)
{
	struct http_answer a = ask(s, request, strlen(request));
	int status = a.status;

	http_free(&a);
	return status;
}

static void wrong_requests_get_their_status(void)
{
	static const struct {
		const char *request;
		int status;
	} cases[] = {
		{"POST /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
		 405},
		{"PUT / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 3\r\n\r\nabc",
		 405},
		{"DELETE / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
		{"OPTIONS / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
		{"get / HTTP/1.1\r\nHost: localhost\r\n\r\n", 405},
		{"GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		{"GET /../../etc/passwd HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		{"GET /metrics/../healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		{"GET /%2e%2e/metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		{"GET //metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		{"GET metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 404},
		{"GET /metrics%00 HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
		{"GET /debug/pprof/heap?seconds=x HTTP/1.1\r\nHost: localhost\r\n\r\n",
		 400},
		{"GET /debug/pprof/heap?seconds=601 HTTP/1.1\r\nHost: localhost\r\n\r\n",
		 400},
		{"GET /report.json?top=0 HTTP/1.1\r\nHost: localhost\r\n\r\n", 400},
		{"GET /healthz HTTP/1.1\r\nHost: evil.example\r\n\r\n", 403},
		{"GET /healthz HTTP/1.1\r\nHost: localhost.evil.example:1\r\n\r\n", 403},
		{"GET /healthz HTTP/1.1\r\nHost: [::1]:9911\r\n\r\n", 200},
		/* RFC 9112, 3.2: which of them is meant? */
		{"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n",
		 400},
		{"GET /healthz HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n",
		 400},
		{"GET http://evil.example/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n",
		 404},
		{"GET /healthz HTTP/2.0\r\nHost: localhost\r\n\r\n", 505},
		{"GET /healthz\r\n\r\n", 400},
		{"GET /healthz HTTP/1.1\r\nHost: localhost\r\nbad\r\n\r\n", 400},
		{"GET /healthz HTTP/1.1\r\nHost : localhost\r\n\r\n", 400},
		{"GET /healthz HTTP/1.1\r\n Host: localhost\r\n\r\n", 400},
		{"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
		 400},
		{"GET /healthz HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
		 "Content-Length: 5\r\n\r\nabcde",
		 413},
		{"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
		 "Expect: 100-continue\r\nContent-Length: 5\r\n\r\n",
		 413},
		/* RFC 9112, 3.2 */
		{"GET /healthz HTTP/1.1\r\n\r\n", 400},
		{"GET /healthz HTTP/1.0\r\n\r\n", 200},
		{"HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
		{"HEAD /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n", 200},
		{"GET /metrics HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n\r\n"
		 "abcde",
		 413},
		{"GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
		 "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		 413},
	};
	struct served s;

	begin(&s);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int status = status_of(&s, cases[i].request);
		/* No web page can make a browser connect to a unix socket. */
		int expected = *path && cases[i].status == 403 ? 200 : cases[i].status;

		check_state.checks++;
		if (status != expected)
			CHECK_FAIL("%.50s: status %d, expected %d", cases[i].request,
				   status, expected);
	}

	struct http_answer a =
		ask(&s, "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n\r\n",
		    55);

	CHECK(http_header_is(&a, "Allow", "GET, HEAD"));
	http_free(&a);
	a = ask(&s, "HEAD /metrics HTTP/1.0\r\n\r\n", 26);
	CHECK_INT(a.status, 200);
	CHECK_INT(a.body_len, 0);
	CHECK(http_header(&a, "Content-Length"));
	http_free(&a);
	check_healthy(&s);
	served_end(&s);
}

/* A request line, a header, and many headers of more than the memory of a connection. */
static void requests_are_bounded(void)
{
	static char request[1 << 20];
	struct served s;
	struct http_answer a;
	size_t len;

	begin(&s);
	len = (size_t)sprintf(request, "GET /");
	memset(request + len, 'a', 100000);
	len += 100000;
	len += (size_t)sprintf(request + len, " HTTP/1.1\r\nHost: localhost\r\n\r\n");
	a = ask(&s, request, len);
	CHECK_INT(a.status, 414);
	http_free(&a);

	len = (size_t)sprintf(request, "GET / HTTP/1.1\r\nHost: localhost\r\nX: ");
	memset(request + len, 'a', 100000);
	len += 100000;
	len += (size_t)sprintf(request + len, "\r\n\r\n");
	a = ask(&s, request, len);
	CHECK_INT(a.status, 431);
	http_free(&a);

	len = (size_t)sprintf(request, "GET / HTTP/1.1\r\nHost: localhost\r\n");
	while (len < sizeof(request) - 64)
		len += (size_t)sprintf(request + len, "X-%zu: y\r\n", len);
	len += (size_t)sprintf(request + len, "\r\n");
	a = ask(&s, request, len);
	CHECK_INT(a.status, 431);
	http_free(&a);
	check_healthy(&s);
	served_end(&s);
}

static void pipelined_requests_are_all_answered(void)
{
	static const char requests[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
				       "GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n"
				       "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct served s;
	struct http_answer a;

	begin(&s);

	int fd = connect_to(&s);

	REQUIRE(fd >= 0 && http_send(fd, requests, strlen(requests)));
	shutdown(fd, SHUT_WR);
	/* Up to the end of the connection. */
	a = http_receive(fd, true, 1);
	while (a.bytes && !strstr(a.bytes, "404 Not Found")) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};
		ssize_t n;

		if (poll(&wait, 1, 5000) <= 0)
			break;
		a.bytes = realloc(a.bytes, a.len + 65537);
		REQUIRE(a.bytes);
		n = recv(fd, a.bytes + a.len, 65536, 0);
		if (n <= 0)
			break;
		a.len += (size_t)n;
		a.bytes[a.len] = '\0';
	}
	CHECK(a.bytes && strstr(a.bytes, "\r\n\r\nok\n"));
	CHECK(a.bytes && strstr(a.bytes, "\n# EOF\n"));
	CHECK(a.bytes && strstr(a.bytes, "404 Not Found"));
	http_free(&a);
	close(fd);
	check_healthy(&s);
	served_end(&s);
}

/* Has the other end closed? Waits for it. */
static bool is_closed(int fd, double timeout_s)
{
	double end_s = now_s() + timeout_s;
	char bytes[65536];

	while (now_s() < end_s) {
		struct pollfd wait = {.fd = fd, .events = POLLIN};

		if (poll(&wait, 1, 100) > 0 &&
		    recv(fd, bytes, sizeof(bytes), MSG_DONTWAIT) <= 0 && errno != EAGAIN)
			return true;
	}
	return false;
}

/* Clients that send a byte now and then, and some that send nothing. */
static void slow_clients_are_ended(void)
{
	static const char request[] = "GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ";
	struct served s;
	double begun_s = now_s();
	int fds[40];

	begin(&s);
	for (size_t i = 0; i < 40; i++) {
		fds[i] = connect_to(&s);
		REQUIRE(fds[i] >= 0);
		if (i % 2)
			REQUIRE(http_send(fds[i], request, strlen(request)));
	}
	/* Others are answered meanwhile. */
	while (now_s() < begun_s + 9) {
		double asked_s = now_s();

		for (size_t i = 1; i < 40; i += 2)
			(void)http_send(fds[i], "y", 1);
		check_healthy(&s);
		CHECK(now_s() - asked_s < 1);
		usleep(300 * 1000);
	}
	for (size_t i = 1; i < 40; i += 2)
		(void)http_send(fds[i], "y", 1);
	for (size_t i = 0; i < 40; i++) {
		CHECK(is_closed(fds[i], 10));
		close(fds[i]);
	}
	/* The limit is 10 s. */
	CHECK(now_s() - begun_s < 15);
	check_healthy(&s);
	served_end(&s);
}

/* A client that reads no answer does not delay other clients. */
static void a_client_may_take_nothing(void)
{
	static const char request[] = "GET / HTTP/1.1\r\nHost: localhost\r\n\r\n";
	struct served s;
	int fds[50];

	begin(&s);
	for (size_t i = 0; i < 50; i++) {
		fds[i] = connect_to(&s);
		REQUIRE(fds[i] >= 0);
		for (int k = 0; k < 20; k++)
			REQUIRE(http_send(fds[i], request, strlen(request)));
	}

	double begun_s = now_s();
	struct http_answer a = get(&s, "/metrics");

	CHECK_INT(a.status, 200);
	CHECK(now_s() - begun_s < 2);
	http_free(&a);
	for (size_t i = 0; i < 50; i++)
		close(fds[i]);
	check_healthy(&s);
	served_end(&s);
}

/* As many as can be connected send nothing: others get in after a moment. */
/* The process that reads the requests; 0: none. */
static int server_pid(void)
{
	DIR *tasks = opendir("/proc/self/task");
	const struct dirent *task;
	int pid = 0;

	REQUIRE(tasks);
	while (!pid && (task = readdir(tasks))) {
		char at[300], pids[64] = "";
		FILE *f;

		snprintf(at, sizeof(at), "/proc/self/task/%s/children", task->d_name);
		f = task->d_name[0] == '.' ? NULL : fopen(at, "re");
		if (!f)
			continue;
		(void)!fgets(pids, sizeof(pids), f);
		fclose(f);
		pid = atoi(pids);
	}
	closedir(tasks);
	return pid;
}

/* The number of its descriptors; 0 without the privilege to look. */
static unsigned descriptors_of(int pid)
{
	char at[64];
	unsigned count = 0;
	DIR *dir;

	snprintf(at, sizeof(at), "/proc/%d/fd", pid);
	dir = opendir(at);
	while (dir && readdir(dir))
		count++;
	if (dir)
		closedir(dir);
	return count;
}

/* 256 are served at one time, and the server has some other descriptors. */
static void check_crowd(int pid)
{
	unsigned most = 0;

	for (int i = 0; i < 30; i++) {
		unsigned count = descriptors_of(pid);

		most = count > most ? count : most;
		usleep(10 * 1000);
	}
	CHECK(!most || (most >= 256 && most < 290));
}

static void silent_clients_keep_nobody_out(void)
{
	struct served s;
	int fds[300];
	double begun_s;

	begin(&s);
	for (size_t i = 0; i < 300; i++) {
		fds[i] = connect_to(&s);
		REQUIRE(fds[i] >= 0);
	}
	check_crowd(server_pid());
	begun_s = now_s();
	check_healthy(&s);
	CHECK(now_s() - begun_s < 3);
	for (size_t i = 0; i < 300; i++)
		close(fds[i]);
	served_end(&s);
}

#define MANY 1000

/* More connections than are served at one time: all are answered. */
static void a_thousand_clients(void)
{
	static const char request[] = "GET /metrics HTTP/1.1\r\nHost: localhost\r\n"
				      "Connection: close\r\n\r\n";
	struct rlimit files;
	struct served s;
	static int fds[MANY];
	unsigned answered = 0;

	REQUIRE(!getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = files.rlim_max;
	REQUIRE(!setrlimit(RLIMIT_NOFILE, &files));
	if (files.rlim_cur < MANY + 100)
		check_skip("not enough descriptors");
	begin(&s);
	for (size_t i = 0; i < MANY; i++) {
		fds[i] = connect_to(&s);
		REQUIRE(fds[i] >= 0);
		REQUIRE(http_send(fds[i], request, strlen(request)));
	}
	for (size_t i = 0; i < MANY; i++) {
		struct http_answer a = http_receive(fds[i], true, 20);

		answered += a.status == 200 && strstr(a.body, "\n# EOF\n");
		http_free(&a);
		close(fds[i]);
	}
	CHECK_INT(answered, MANY);
	/* They shared a few snapshots. */
	CHECK(s.answers < 20);
	check_healthy(&s);
	served_end(&s);
}

/* Requests with bytes changed, cut off, doubled: the server goes on. The
 * sequence is the same on every run. */
static void any_bytes(void)
{
	static const char *const seeds[] = {
		"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n",
		"GET /debug/pprof/heap?seconds=0&debug=1&gc=1 HTTP/1.1\r\n"
		"Host: [::1]:80\r\nAccept: */*\r\nContent-Length: 0\r\n\r\n",
		"HEAD /%2e%2e/%00/report.json?top=%31&=&&x HTTP/1.0\r\n"
		"Connection: keep-alive\r\nCookie: a=b; c\r\n\r\n",
		"POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n"
		"Expect: 100-continue\r\n\r\n5\r\nabcde\r\n0\r\nX: y\r\n\r\n",
	};
	struct served s;
	unsigned statuses[6] = {0};

	begin(&s);
	for (unsigned n = 0; n < 800; n++) {
		const char *seed = seeds[n % 4];
		char request[512];
		size_t len = strlen(seed);
		int fd;

		memcpy(request, seed, len);
		for (unsigned k = random_below(3); k; k--) {
			size_t at = random_below((unsigned)len);

			switch (random_below(9) % 4) {
			case 0:
				request[at] = (char)random_below(256);
				break;
			case 1:
				request[at] = "\r\n :/?&=%\0"[random_below(10)];
				break;
			case 2:
				len = at + 1;
				break;
			default:
				if (len < sizeof(request)) {
					memmove(request + at + 1, request + at, len - at);
					len++;
				}
				break;
			}
		}
		fd = connect_to(&s);
		REQUIRE(fd >= 0);
		(void)http_send(fd, request, len);

		struct http_answer a =
			http_receive(fd, strncmp(request, "HEAD", 4) != 0, 0.03);

		statuses[a.status / 100 < 6 ? a.status / 100 : 0]++;
		http_free(&a);
		close(fd);
	}
	/* All kinds of answers occurred, but no failure of the server. */
	CHECK(statuses[2] > 50);
	CHECK(statuses[4] > 100);
	CHECK_INT(statuses[5], 0);
	check_healthy(&s);
	served_end(&s);
}

/* Kill the server, and wait until it has ended. Returns the pid of the server that
 * memtrace started in its place, or 0 if it started none. */
static int kill_server(int pid)
{
	int next = pid;

	REQUIRE(pid > 1 && !kill(pid, SIGKILL));
	for (int i = 0; i < 1000 && next == pid; i++) {
		usleep(10 * 1000);
		next = server_pid();
	}
	/* Between the end of one and the start of the next. */
	for (int i = 0; i < 200 && !next; i++) {
		usleep(10 * 1000);
		next = server_pid();
	}
	return next;
}

/* It is killed: another one takes over, on the same socket. But not without end: clients
 * may crash it as often as they like. */
static void the_server_is_started_again(void)
{
	struct served s;
	int pid;

	begin(&s);
	check_healthy(&s);
	pid = server_pid();
	REQUIRE(pid > 1);
	REQUIRE(!kill(pid, SIGKILL));
	/* The connection waits for the next server. */
	check_healthy(&s);

	struct http_answer a = get(&s, "/metrics");

	CHECK_INT(a.status, 200);
	http_free(&a);
	pid = server_pid();
	for (int restarts = 1; restarts < 16; restarts++) {
		pid = kill_server(pid);
		/* Do not kill it while it starts. */
		check_healthy(&s);
	}
	CHECK_INT(kill_server(pid), 0);
	served_end(&s);
}

static void run_all(void)
{
	RUN(wrong_requests_get_their_status);
	RUN(requests_are_bounded);
	RUN(pipelined_requests_are_all_answered);
	RUN(a_client_may_take_nothing);
	RUN(silent_clients_keep_nobody_out);
	RUN(a_thousand_clients);
	RUN(any_bytes);
	RUN(the_server_is_started_again);
	RUN(slow_clients_are_ended);
}

int main(void)
{
	run_all();
	snprintf(path, sizeof(path), "/tmp/memtrace-rough-%d", getpid());
	run_all();
	/* The socket was removed each time. */
	CHECK(access(path, F_OK) && errno == ENOENT);
	return check_done();
}
