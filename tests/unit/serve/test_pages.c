// SPDX-License-Identifier: Apache-2.0
/* The pages, and the answers while no snapshot is available. */
#include "served.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "profile.h"
#include "serve/listener.h"
#include "snapshot/file.h"

/* One for each loss, and 13 more. */
#define SERIES_OF_MACHINE (LOSS_COUNT + 13)
#define HEAP_BYTES        (2 * 1024 * 1024 + 3100 + 64 + 7)

/* The value of a sample in /metrics, by the beginning of its line. -1: not there. */
static long long metric(const struct http_answer *a, const char *sample)
{
	char line[256];
	const char *at;

	snprintf(line, sizeof(line), "\n%s ", sample);
	at = strstr(a->body, line);
	return at ? strtoll(at + strlen(line), NULL, 10) : -1;
}

/* What a browser must not do with any of the pages. */
static void check_policy(const struct http_answer *a)
{
	const char *policy = http_header(a, "Content-Security-Policy");

	CHECK(http_header_is(a, "X-Content-Type-Options", "nosniff"));
	CHECK(http_header_is(a, "Cache-Control", "no-store"));
	CHECK(http_header_is(a, "X-Frame-Options", "DENY"));
	CHECK(http_header_is(a, "Cross-Origin-Resource-Policy", "same-origin"));
	CHECK(policy && strstr(policy, "default-src 'none';") &&
	      strstr(policy, "frame-ancestors 'none'"));
}

static void pages_have_their_types(void)
{
	static const struct {
		const char *path, *type, *begin;
	} pages[] = {
		{"/", "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"/metrics", "application/openmetrics-text; version=1.0.0; charset=utf-8",
		 "# TYPE "},
		{"/healthz", "text/plain; charset=utf-8", "ok\n"},
		{"/report.json", "application/json", "{\"schema"},
		{"/flame.svg", "image/svg+xml", "<?xml"},
		{"/snapshot.mts", "application/octet-stream", "\x8fmts"},
		{"/debug/pprof/", "text/html; charset=utf-8", "<!DOCTYPE html>"},
		{"/debug/pprof/heap", "application/octet-stream", "\x1f\x8b"},
		{"/debug/pprof/allocs", "application/octet-stream", "\x1f\x8b"},
		{"/debug/pprof/heap?gc=1", "application/octet-stream", "\x1f\x8b"},
		{"/debug/pprof/heap?debug=1", "text/plain; charset=utf-8", "memtrace"},
	};
	struct served s;

	served_begin(&s);
	for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++) {
		struct http_answer a = http_get(s.port, pages[i].path);

		CHECK_INT(a.status, 200);
		if (!http_header_is(&a, "Content-Type", pages[i].type))
			CHECK_FAIL("%s: not of type %s", pages[i].path, pages[i].type);
		if (!a.body || strncmp(a.body + strspn(a.body, "\n"), pages[i].begin,
				       strlen(pages[i].begin)) != 0)
			CHECK_FAIL("%s begins with %.40s", pages[i].path,
				   a.body ? a.body : "nothing");
		check_policy(&a);
		CHECK(!strcmp(pages[i].path, "/") ==
		      (http_header(&a, "Refresh") != NULL));
		http_free(&a);
	}
	served_end(&s);
}

static void numbers_are_the_reports(void)
{
	struct served s;
	unsigned series = 0;

	served_begin(&s);

	struct http_answer a = http_get(s.port, "/metrics");

	CHECK_INT(a.status, 200);
	CHECK_INT(metric(&a, "memtrace_live_bytes{process=\"leaky\",pid=\"4321\"}"),
		  HEAP_BYTES);
	CHECK_INT(metric(&a, "memtrace_live_blocks{process=\"leaky\",pid=\"4321\"}"), 7);
	CHECK_INT(metric(&a, "memtrace_traced_processes") +
			  !strncmp(a.body, "# TYPE memtrace_traced_processes", 32),
		  2);
	CHECK_INT(metric(&a, "memtrace_losses_total{kind=\"blocks_full\"}"), 0);
	/* docs/fleet.md says how many series there are. */
	for (const char *line = a.body; *line; line = strchr(line, '\n') + 1)
		series += *line != '#';
	CHECK_INT(series, 9 + SERIES_OF_MACHINE);
	CHECK(strstr(a.body, "\n# EOF\n") &&
	      !strcmp(strstr(a.body, "\n# EOF\n"), "\n# EOF\n"));
	http_free(&a);

	a = http_get(s.port, "/debug/pprof/allocs");

	Pprof__Profile *p = profile_of(&a, NULL);

	CHECK_INT(profile_sum(p, "inuse_space"), HEAP_BYTES);
	CHECK_INT(profile_sum(p, "inuse_objects"), 7);
	CHECK_STR(p->string_table[p->default_sample_type], "alloc_space");
	for (size_t i = 0; i < p->n_sample; i++)
		CHECK_INT(p->sample[i]->n_label, 0);
	pprof__profile__free_unpacked(p, NULL);
	http_free(&a);

	a = http_get(s.port, "/report.json?top=1");
	CHECK_INT(a.status, 200);
	CHECK_INT(strstr(a.body, "main_loop") != NULL, 1);
	http_free(&a);
	served_end(&s);
}

/* The part of a page that is the same each time. */
static size_t lasting(const char *path, const struct http_answer *a)
{
	const char *at = !strcmp(path, "/metrics")
				 ? strstr(a->body, "# TYPE memtrace_build")
				 : NULL;

	return at ? (size_t)(at - a->body) : a->body_len;
}

/* Pages that are made from sums only are the same as those that are made from blocks. */
static void sums_are_those_of_the_blocks(void)
{
	static const char *const paths[] = {"/metrics", "/flame.svg", "/debug/pprof/heap",
					    "/debug/pprof/allocs"};
	static const struct sampling samplings[] = {
		{.every = 1}, {1, 4096}, {.every = 7}};

	for (size_t k = 0; k < sizeof(samplings) / sizeof(*samplings); k++) {
		struct http_answer sums[4], blocks;
		struct served s = {.port = 0};

		fixture_init(&s.fixture);
		fixture_fill(&s.fixture);
		fixture_fill_traffic(&s.fixture);
		s.fixture.snap->sampling = samplings[k];
		fixture_block(&s.fixture, BLOCK_HEAP, 77, 5, SNAPSHOT_NO_STACK);
		s.fixture.snap->mappings_traced = true;
		fixture_block(&s.fixture, BLOCK_MAPPING, 8192, 5, 0);
		served_start(&s, "0");
		for (size_t i = 0; i < 4; i++)
			sums[i] = http_get(s.port, paths[i]);
		CHECK_INT(s.answers, 1);
		CHECK_INT(s.with_blocks, 0);
		/* A page that needs blocks asks for them, and other pages within a second
		 * share them. */
		blocks = http_get(s.port, "/report.json");
		CHECK_INT(blocks.status, 200);
		http_free(&blocks);
		CHECK_INT(s.answers, 2);
		CHECK_INT(s.with_blocks, 1);
		for (size_t i = 0; i < 4; i++) {
			struct http_answer a = http_get(s.port, paths[i]);
			size_t size = lasting(paths[i], &a);

			CHECK(size > 100);
			CHECK_INT(lasting(paths[i], &sums[i]), size);
			if (memcmp(a.body, sums[i].body, size) != 0)
				CHECK_FAIL("%s differs", paths[i]);
			http_free(&a);
			http_free(&sums[i]);
		}
		CHECK_INT(s.answers, 2);
		served_end(&s);
	}
}

static void the_snapshot_can_be_replayed(void)
{
	struct served s;
	struct snapshot *snap = NULL;
	FILE *in;

	served_begin(&s);

	struct http_answer a = http_get(s.port, "/snapshot.mts");

	REQUIRE(a.status == 200);
	in = fmemopen(a.body, a.body_len, "r");
	REQUIRE(in && !snapshot_read(in, a.body_len, &snap));
	CHECK_INT(snap->blocks[BLOCK_HEAP].len, 7);
	CHECK_INT(snap->time_ns, s.fixture.snap->time_ns);
	fclose(in);
	snapshot_destroy(snap);
	http_free(&a);
	served_end(&s);
}

static void clients_share_a_snapshot(void)
{
	struct served s;
	int fds[20];

	served_begin(&s);
	s.delay_ms = 300;
	for (size_t i = 0; i < 20; i++) {
		static const char request[] =
			"GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n";

		fds[i] = http_connect(s.port);
		REQUIRE(fds[i] >= 0 && http_send(fds[i], request, strlen(request)));
	}
	for (size_t i = 0; i < 20; i++) {
		struct http_answer a = http_receive(fds[i], true, 10);

		CHECK_INT(a.status, 200);
		CHECK_INT(metric(&a, "memtrace_snapshots_total"), 1);
		http_free(&a);
		close(fds[i]);
	}
	CHECK_INT(s.answers, 1);
	s.delay_ms = 0;
	usleep(1100 * 1000);
	for (size_t i = 0; i < 2; i++) {
		struct http_answer a = http_get(s.port, "/metrics");

		CHECK_INT(metric(&a, "memtrace_snapshots_total"), 2);
		http_free(&a);
	}
	CHECK_INT(s.answers, 2);
	served_end(&s);
}

/* The first of these takes a second: others are not held up. */
static void changes_are_counted_meanwhile(void)
{
	static const char request[] = "GET /debug/pprof/heap?seconds=2 HTTP/1.1\r\n"
				      "Host: localhost\r\n\r\n";
	struct served s;
	struct timespec begun, ended;

	served_begin(&s);
	s.grows = true;
	clock_gettime(CLOCK_MONOTONIC, &begun);

	int fd = http_connect(s.port);

	REQUIRE(fd >= 0 && http_send(fd, request, strlen(request)));
	usleep(200 * 1000);

	struct http_answer now = http_get(s.port, "/healthz");
	struct http_answer metrics = http_get(s.port, "/metrics");

	clock_gettime(CLOCK_MONOTONIC, &ended);
	CHECK_INT(now.status, 200);
	CHECK_INT(metrics.status, 200);
	CHECK((double)(ended.tv_sec - begun.tv_sec) +
		      (double)(ended.tv_nsec - begun.tv_nsec) / 1e9 <
	      1.5);

	struct http_answer a = http_receive(fd, true, 10);
	Pprof__Profile *p;

	clock_gettime(CLOCK_MONOTONIC, &ended);
	CHECK((double)(ended.tv_sec - begun.tv_sec) +
		      (double)(ended.tv_nsec - begun.tv_nsec) / 1e9 >
	      1.9);
	REQUIRE(a.status == 200);
	p = profile_of(&a, NULL);
	/* The fixture's first block grows by 100 bytes with each snapshot. Base and end
	 * are two, and a third may have been for /metrics. */
	CHECK(profile_sum(p, "inuse_space") >= 100 &&
	      profile_sum(p, "inuse_space") <= 200);
	CHECK_INT(profile_sum(p, "inuse_objects"), 0);
	CHECK(p->duration_nanos >= (int64_t)FIXTURE_NS);
	pprof__profile__free_unpacked(p, NULL);
	close(fd);
	http_free(&a);
	http_free(&now);
	http_free(&metrics);
	served_end(&s);
}

/* Each of them needs a snapshot of its own at its end, and they share the first one. */
static void few_wait_for_changes(void)
{
	static const char request[] = "GET /debug/pprof/heap?seconds=2 HTTP/1.1\r\n"
				      "Host: localhost\r\n\r\n";
	enum {
		CLIENTS = 40,
		WAIT_MAX = 32
	};
	int fds[CLIENTS], served = 0, refused = 0;
	struct served s;

	served_begin(&s);
	for (size_t i = 0; i < CLIENTS; i++) {
		fds[i] = http_connect(s.port);
		REQUIRE(fds[i] >= 0 && http_send(fds[i], request, strlen(request)));
	}
	for (size_t i = 0; i < CLIENTS; i++) {
		struct http_answer a = http_receive(fds[i], true, 20);

		served += a.status == 200;
		refused += a.status == 503 && http_header(&a, "Retry-After");
		http_free(&a);
		close(fds[i]);
	}
	CHECK_INT(served, WAIT_MAX);
	CHECK_INT(refused, CLIENTS - WAIT_MAX);
	CHECK(s.answers >= WAIT_MAX && s.answers < WAIT_MAX + 16);
	served_end(&s);
}

static void without_a_snapshot_there_is_a_reason(void)
{
	struct served s;

	served_begin(&s);
	s.refuses = true;

	struct http_answer a = http_get(s.port, "/debug/pprof/heap");

	CHECK_INT(a.status, 503);
	CHECK(http_header(&a, "Retry-After"));
	CHECK(a.body && !strcmp(a.body, "no process: waiting\\x0afor one\n"));
	http_free(&a);
	/* A scraper sees that memtrace runs without a process. */
	a = http_get(s.port, "/metrics");
	CHECK_INT(a.status, 200);
	CHECK_INT(metric(&a, "memtrace_traced_processes"), 0);
	CHECK_INT(metric(&a, "memtrace_live_bytes{process=\"leaky\",pid=\"4321\"}"), -1);
	http_free(&a);
	s.refuses = false;
	a = http_get(s.port, "/debug/pprof/heap");
	CHECK_INT(a.status, 200);
	http_free(&a);
	served_end(&s);
}

static void a_unix_socket_is_for_root_alone(void)
{
	char folder[] = "/tmp/memtrace-served-XXXXXX", listen[80], *path;
	struct served s = {.port = 0};
	struct options taken = {.listen = listen};
	struct serve *other = NULL;
	struct error *err;
	struct stat st;

	REQUIRE(mkdtemp(folder));
	snprintf(listen, sizeof(listen), "unix:%s/socket", folder);
	path = listen + 5;
	fixture_init(&s.fixture);
	fixture_fill(&s.fixture);
	served_start(&s, listen);
	REQUIRE(!lstat(path, &st));
	CHECK(S_ISSOCK(st.st_mode));
	CHECK_INT(st.st_mode & 07777, 0600);

	int fd = http_connect_unix(path);
	static const char request[] = "GET /healthz HTTP/1.0\r\n\r\n";

	REQUIRE(fd >= 0 && http_send(fd, request, strlen(request)));

	struct http_answer a = http_receive(fd, true, 10);

	CHECK_INT(a.status, 200);
	http_free(&a);
	close(fd);
	/* What exists is not replaced. */
	err = serve_start(&taken, &s.setup, &other);
	CHECK(err && err->code == ERROR_IO && strstr(err->message, "the path exists"));
	error_destroy(err);
	served_end(&s);
	CHECK(lstat(path, &st));
	/* A dangling link is not followed. */
	REQUIRE(!symlink("nowhere", path));
	err = serve_start(&taken, NULL, &other);
	CHECK(err && strstr(err->message, "the path exists"));
	error_destroy(err);
	CHECK(!lstat(path, &st) && S_ISLNK(st.st_mode));
	unlink(path);
	rmdir(folder);
}

static void put_file(const char *path)
{
	FILE *f;

	REQUIRE(!unlink(path));
	f = fopen(path, "we");
	REQUIRE(f && !fclose(f));
}

/* Of another server. */
static void put_socket(const char *path)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	REQUIRE(!unlink(path));
	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	REQUIRE(fd >= 0 && !bind(fd, (const struct sockaddr *)&address, sizeof(address)));
	close(fd);
}

/* A link to the server's own socket. */
static void put_link(const char *path)
{
	REQUIRE(!rename(path, "moved") && !symlink("moved", path));
}

static void check_left_alone(void (*put)(const char *path))
{
	char folder[] = "/tmp/memtrace-served-XXXXXX", listen[80];
	const char *path = listen + 5;
	struct served s = {.port = 0};
	struct stat st;

	REQUIRE(mkdtemp(folder));
	REQUIRE(!chdir(folder));
	snprintf(listen, sizeof(listen), "unix:%s/socket", folder);
	fixture_init(&s.fixture);
	fixture_fill(&s.fixture);
	served_start(&s, listen);
	put(path);
	served_end(&s);
	CHECK(!lstat(path, &st));
	unlink(path);
	unlink("moved");
	REQUIRE(!chdir("/"));
	rmdir(folder);
}

/* What was put in its place is left alone. */
static void another_file_is_not_removed(void)
{
	check_left_alone(put_file);
	check_left_alone(put_socket);
	check_left_alone(put_link);
}

/* Does this process map a library with this name? */
static bool maps(const char *name)
{
	FILE *file = fopen("/proc/self/maps", "re");
	char line[512];
	bool found = false;

	REQUIRE(file);
	while (!found && fgets(line, sizeof(line), file))
		found = strstr(line, name);
	fclose(file);
	return found;
}

/* Runs without --listen need no memory for libmicrohttpd and the libraries it loads. */
static void the_library_is_loaded_when_needed(void)
{
	const struct options without = {.listen = NULL};
	struct serve *none = NULL;
	struct served s;

	CHECK(!serve_start(&without, NULL, &none) && !none);
	CHECK(!maps("libmicrohttpd"));
	served_begin(&s);
	CHECK(maps("libmicrohttpd"));
	served_end(&s);
}

static void a_taken_port_is_said(void)
{
	struct served s;
	struct options taken;
	struct serve *other = NULL;
	char port[16];

	served_begin(&s);
	snprintf(port, sizeof(port), "%u", s.port);
	taken = (struct options){.listen = port};

	struct error *err = serve_start(&taken, &s.setup, &other);

	CHECK(err && err->code == ERROR_IO && strstr(err->message, "choose another one"));
	CHECK(!other);
	error_destroy(err);
	served_end(&s);
}

/* A child that has been killed may have the listening socket for a moment longer. */
static void a_port_is_free_at_once(void)
{
	struct listen_address address;
	struct listener listener, again;
	int copy;

	REQUIRE(!listen_address_parse("0", &address));
	REQUIRE(!listener_open(&address, &listener));
	address = listener.address;
	copy = dup(listener.fd);
	REQUIRE(copy >= 0);
	listener_close(&listener);

	struct error *err = listener_open(&address, &again);

	CHECK(!err);
	error_destroy(err);
	listener_close(&again);
	close(copy);
}

int main(void)
{
	/* First: it stays loaded. */
	RUN(the_library_is_loaded_when_needed);
	RUN(pages_have_their_types);
	RUN(numbers_are_the_reports);
	RUN(sums_are_those_of_the_blocks);
	RUN(the_snapshot_can_be_replayed);
	RUN(clients_share_a_snapshot);
	RUN(changes_are_counted_meanwhile);
	RUN(few_wait_for_changes);
	RUN(without_a_snapshot_there_is_a_reason);
	RUN(a_unix_socket_is_for_root_alone);
	RUN(another_file_is_not_removed);
	RUN(a_taken_port_is_said);
	RUN(a_port_is_free_at_once);
	return check_done();
}
