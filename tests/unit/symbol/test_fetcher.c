// SPDX-License-Identifier: Apache-2.0
/*
 * Debug files from servers that do not answer, send a byte now and then, or send without
 * end. Each file and each report takes a bounded time, and the disk stays free.
 */
#include "check.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process_state.h"
#include "symbol/fetcher.h"
#include "util/cleanup.h"
#include "util/clock.h"

/* What a server does with a request. */
enum conduct {
	ANSWERS,
	SILENT,
	DRIPS,   /* a byte every 0.1 s */
	ENDLESS, /* does not say how large the file is */
	LARGE,   /* says that the file is large */
};

#define FILE_S   1 /* DEBUGINFOD_MAXTIME */
#define LIMIT    (1u << 20)
#define BUILD_ID "0123456789abcdef0123456789abcdef0123"

struct server {
	pid_t pid;
	unsigned port;
};

static void send_text(int fd, const char *text)
{
	(void)!write(fd, text, strlen(text));
}

static void serve_one(int fd, enum conduct conduct)
{
	static const char many[65536];
	char request[4096];

	(void)!read(fd, request, sizeof(request));
	if (conduct == SILENT)
		pause();
	send_text(fd, "HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n");
	if (conduct == ANSWERS)
		send_text(fd, "Content-Length: 4\r\n\r\nfile");
	if (conduct == LARGE)
		send_text(fd, "Content-Length: 99999999999\r\n");
	if (conduct != ANSWERS)
		send_text(fd, "Connection: close\r\n\r\n");
	while (conduct == DRIPS && write(fd, "a", 1) == 1)
		usleep(100000);
	while ((conduct == ENDLESS || conduct == LARGE) &&
	       write(fd, many, sizeof(many)) > 0)
		;
	close(fd);
}

/* Every request has a process of its own. */
static struct server start_server(enum conduct conduct)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr = {htonl(INADDR_LOOPBACK)}};
	socklen_t length = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct server server;

	REQUIRE(fd >= 0 &&
		!bind(fd, (const struct sockaddr *)&address, sizeof(address)) &&
		!listen(fd, 16) &&
		!getsockname(fd, (struct sockaddr *)&address, &length));
	server.port = ntohs(address.sin_port);
	fflush(stdout);
	server.pid = fork();
	REQUIRE(server.pid >= 0);
	if (!server.pid) {
		setpgid(0, 0);
		signal(SIGPIPE, SIG_IGN);
		for (;;) {
			int request = accept(fd, NULL, NULL);

			if (!fork()) {
				serve_one(request, conduct);
				_exit(0);
			}
			close(request);
		}
	}
	setpgid(server.pid, server.pid);
	close(fd);
	return server;
}

static void stop_server(const struct server *server)
{
	kill(-server->pid, SIGKILL);
	REQUIRE(waitpid(server->pid, NULL, 0) == server->pid);
}

static char cache[] = "/tmp/memtrace-fetcher-XXXXXX";
static int cache_fd = -1;

/* The bytes of all files below the cache. */
static uint64_t cached_bytes(void)
{
	char command[128];
	unsigned long bytes = 0;
	FILE *pipe;

	snprintf(command, sizeof(command), "du -sb --exclude=cache_clean* %s", cache);
	pipe = popen(command, "re");
	REQUIRE(pipe && fscanf(pipe, "%lu", &bytes) == 1);
	pclose(pipe);
	return bytes;
}

static struct fetcher *start_from(const char *urls)
{
	const struct fetcher_options options = {.cache = cache_fd, .file_bytes = LIMIT};
	struct fetcher *fetcher;
	char text[16];

	setenv("DEBUGINFOD_URLS", urls, 1);
	setenv("DEBUGINFOD_CACHE_PATH", cache, 1);
	setenv("DEBUGINFOD_TIMEOUT", "600", 1);
	snprintf(text, sizeof(text), "%d", FILE_S);
	setenv("DEBUGINFOD_MAXTIME", text, 1);
	REQUIRE(!fetcher_create(&options, &fetcher));
	return fetcher;
}

static struct fetcher *start(const struct server *server)
{
	char text[64];

	snprintf(text, sizeof(text), "http://localhost:%u", server->port);
	return start_from(text);
}

/* Fetches another file. */
static int fetch(struct fetcher *fetcher)
{
	static unsigned count;
	char id[64];

	snprintf(id, sizeof(id), BUILD_ID "%04x", count++);
	return fetcher_fetch(fetcher, id);
}

static double seconds_since(uint64_t begin_ns)
{
	return (double)(clock_now_ns() - begin_ns) * 1e-9;
}

static void check_lost(struct fetcher *fetcher, unsigned count, const char *want)
{
	const char *why;

	CHECK_INT(fetcher_lost(fetcher, &why), count);
	CHECK_CONTAINS(why, want);
	CHECK_INT(fetcher_lost(fetcher, &why), 0);
}

static void a_file(void)
{
	struct server server = start_server(ANSWERS);
	struct fetcher *fetcher = start(&server);
	int fd = fetch(fetcher);
	char text[8] = "";

	REQUIRE(fd >= 0);
	CHECK_INT(pread(fd, text, sizeof(text), 0), 4);
	CHECK_STR(text, "file");
	close(fd);
	check_lost(fetcher, 0, "");
	fetcher_destroy(fetcher);
	stop_server(&server);
}

/* In a directory that is a server, put a file with this build-id at `path`. */
static void put(const char *top, const char *id, char path[static 160])
{
	snprintf(path, 160, "%s/buildid", top);
	(void)mkdir(path, 0755);
	snprintf(path, 160, "%s/buildid/%s", top, id);
	REQUIRE(!mkdir(path, 0755));
	snprintf(path, 160, "%s/buildid/%s/debuginfo", top, id);
}

static void write_text(const char *path)
{
	FILE *file = fopen(path, "we");

	REQUIRE(file && fputs("file", file) >= 0 && !fclose(file));
}

/* A server may be a directory. The child may open no file outside of it: here its library
 * follows a link. Root's child alone is so confined, and only by Landlock. */
static void files_outside(void)
{
	static const char inside_id[] = BUILD_ID "fffe", outside_id[] = BUILD_ID "fffd";
	char top[] = "/tmp/memtrace-server-XXXXXX", path[160], outside[64], text[64];
	bool is_confined = !geteuid() && syscall(444, NULL, 0, 1) > 0;
	struct fetcher *fetcher;
	int inside_fd, outside_fd;

	REQUIRE(mkdtemp(top) && !chmod(top, 0755));
	snprintf(outside, sizeof(outside), "%s-outside", top);
	write_text(outside);
	put(top, inside_id, path);
	write_text(path);
	put(top, outside_id, path);
	REQUIRE(!symlink(outside, path));

	snprintf(text, sizeof(text), "file://%s", top);
	fetcher = start_from(text);
	inside_fd = fetcher_fetch(fetcher, inside_id);
	outside_fd = fetcher_fetch(fetcher, outside_id);
	if (inside_fd < 0)
		printf("     libdebuginfod reads no directory\n");
	CHECK(inside_fd < 0 || !is_confined || outside_fd < 0);
	CHECK(inside_fd < 0 || is_confined || outside_fd >= 0);
	closep(&inside_fd);
	closep(&outside_fd);
	fetcher_destroy(fetcher);
	unlink(outside);
	snprintf(path, sizeof(path), "rm -r %s", top);
	CHECK(!system(path));
}

static void a_slow_server(enum conduct conduct)
{
	struct server server = start_server(conduct);
	struct fetcher *fetcher = start(&server);
	uint64_t begin_ns = clock_now_ns();

	CHECK(fetch(fetcher) < 0);
	CHECK(seconds_since(begin_ns) < 4 * FILE_S);
	/* One report: then the time is used up, and nothing more is asked. */
	for (int i = 0; i < 8; i++)
		CHECK(fetch(fetcher) < 0);
	CHECK(seconds_since(begin_ns) < 6 * FILE_S);
	check_lost(fetcher, 9, "too long for this report");
	/* The next ones: a third file in vain is the last. */
	for (int i = 0; i < 8; i++) {
		fetcher_begin_report(fetcher);
		CHECK(fetch(fetcher) < 0);
	}
	CHECK(seconds_since(begin_ns) < 12 * FILE_S);
	check_lost(fetcher, 8, "too long for three files");
	fetcher_destroy(fetcher);
	stop_server(&server);
}

static void slow_servers(void)
{
	a_slow_server(SILENT);
	a_slow_server(DRIPS);
}

static void a_large_file(enum conduct conduct)
{
	struct server server = start_server(conduct);
	struct fetcher *fetcher = start(&server);
	uint64_t begin_ns = clock_now_ns(), before = cached_bytes();

	CHECK(fetch(fetcher) < 0);
	CHECK(seconds_since(begin_ns) < 4 * FILE_S);
	/* The library may say after a retry that the file does not exist: then it is not
	 * counted as lost. */
	CHECK(cached_bytes() < before + LIMIT);
	fetcher_destroy(fetcher);
	stop_server(&server);
}

static void large_files(void)
{
	a_large_file(LARGE);
	a_large_file(ENDLESS);
}

/* Many files of 4 GiB would fill the disk. The library takes the first one from its cache
 * when it is asked again, and the test has made it large by a hole. */
static void many_large_files(void)
{
	static const char id[] = BUILD_ID "ffff";
	struct server server = start_server(ANSWERS);
	struct fetcher *fetcher = start(&server);
	int fd = fetcher_fetch(fetcher, id);
	char path[64];

	REQUIRE(fd >= 0);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	REQUIRE(!truncate(path, (off_t)FETCHER_RUN_BYTES));
	close(fd);
	fd = fetcher_fetch(fetcher, id);
	REQUIRE(fd >= 0);
	close(fd);
	check_lost(fetcher, 0, "");
	CHECK(fetch(fetcher) < 0);
	check_lost(fetcher, 1, "16 GiB were fetched");
	fetcher_destroy(fetcher);
	stop_server(&server);
}

/* The library does not keep to its time, as if it were taken over. */
static void a_child_that_hangs(void)
{
	struct server server = start_server(ANSWERS);
	struct fetcher *fetcher = start(&server);
	uint64_t begin_ns = clock_now_ns();
	char path[64];
	FILE *file;
	int child;

	snprintf(path, sizeof(path), "/proc/self/task/%d/children", getpid());
	file = fopen(path, "re");
	/* The server came first. */
	REQUIRE(file && fscanf(file, "%*d %d", &child) == 1);
	fclose(file);
	/* It could not write a larger file either. */
	CHECK(strtoul(process_limit(child, "Max file size").hard, NULL, 10) == LIMIT);
	REQUIRE(!kill(child, SIGSTOP));
	CHECK(fetch(fetcher) < 0);
	CHECK(seconds_since(begin_ns) < FILE_S + 8);
	check_lost(fetcher, 1, "memtrace-fetch was ended");
	CHECK(fetch(fetcher) < 0);
	check_lost(fetcher, 1, "has ended");
	fetcher_destroy(fetcher);
	stop_server(&server);
}

int main(void)
{
	char command[64];

	REQUIRE(mkdtemp(cache) && !chmod(cache, 0777));
	/* Root's child gets the directory, and may open few other files. */
	if (!geteuid())
		cache_fd = open(cache, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	RUN(a_file);
	RUN(files_outside);
	RUN(slow_servers);
	RUN(large_files);
	RUN(many_large_files);
	RUN(a_child_that_hangs);
	snprintf(command, sizeof(command), "rm -r %s", cache);
	CHECK(!system(command));
	return check_done();
}
