/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The packaged redis-server under load: it answers all the time, and no probe is left.
 * Traced once in libc, and once in the allocator that it uses.
 */
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

#define TIMEOUT_S 30

static struct live_process *redis, *load;
static char *socket_path;

static int connect_redis(void)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", socket_path);
	if (fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof(address))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* Sends PING on a new connection. True if PONG comes within a second. */
static bool ping(void)
{
	const struct timeval second = {.tv_sec = 1};
	char answer[8] = "";
	int fd = connect_redis();

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof(second));
	bool ok = write(fd, "PING\r\n", 6) == 6 && read(fd, answer, 7) == 7 &&
		  !strcmp(answer, "+PONG\r\n");
	close(fd);
	return ok;
}

static void start_redis(void)
{
	socket_path = live_path("redis.sock");
	const char *const server[] = {"redis-server", "--port", "0", "--unixsocket",
				      socket_path,    "--save", "",  "--appendonly",
				      "no",           NULL};
	const char *const bench[] = {"redis-benchmark",
				     "-s",
				     socket_path,
				     "-q",
				     "-l",
				     "-t",
				     "set,lpush,lpop",
				     "-r",
				     "100000",
				     "-n",
				     "100000",
				     "-d",
				     "300",
				     "-c",
				     "8",
				     NULL};

	redis = live_start(server);
	double until_s = live_now_s() + TIMEOUT_S;
	while (!ping()) {
		if (!live_is_running(redis) || live_now_s() > until_s)
			live_fail("redis-server did not start: %s", live_stderr(redis));
		live_sleep(0.05);
	}
	load = live_start(bench);
	live_sleep(0.3);
	REQUIRE(live_is_running(load));
}

static bool redis_maps(const char *name)
{
	char path[64], line[512];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)live_pid(redis));
	FILE *file = fopen(path, "re");
	REQUIRE(file);
	while (fgets(line, sizeof(line), file))
		found = found || strstr(line, name);
	fclose(file);
	return found;
}

/* Traces for three seconds under load, with a PING from time to time. Returns the final
 * report, owned. */
static json_t *traced_for_3_s(const char *options)
{
	struct probes *before = probes_find();
	struct live_process *memtrace = memtrace_start(live_pid(redis), options);
	double until_s = live_now_s() + 3;
	unsigned pings = 0, answered = 0;

	while (live_now_s() < until_s) {
		answered += ping();
		pings++;
		live_sleep(0.02);
	}
	CHECK(pings > 10);
	CHECK_INT(answered, pings);
	json_t *report = memtrace_stop(memtrace);
	CHECK(probes_gone(before));
	probes_destroy(before);
	CHECK(ping());
	CHECK(live_is_running(redis));
	CHECK(live_is_running(load));
	return report;
}

static void traced_in_libc(void)
{
	json_t *report = traced_for_3_s("");

	CHECK_STR(json_string_value(live_get(report, "target.command")), "redis-server");
	CHECK(live_int(report, "target.vm_rss_bytes") > 0);
	json_decref(report);
}

static void traced_in_jemalloc(void)
{
	if (!redis_maps("libjemalloc.so.2")) {
		CHECK_LEAVE_OUT_PART("this redis-server does not use libjemalloc.so.2");
		return;
	}
	json_t *report = traced_for_3_s("--lib libjemalloc.so.2");

	CHECK(live_int(report, "heap.totals.allocations") > 1000);
	CHECK(live_int(report, "heap.totals.frees") > 100);
	CHECK(live_int(report, "heap.live_bytes") > 0);
	CHECK(json_array_size(live_get(report, "heap.stacks")) > 0);
	printf("%lld allocations of redis in 3 s\n",
	       (long long)live_int(report, "heap.totals.allocations"));
	json_decref(report);
}

int main(void)
{
	live_require_root();
	if (system("command -v redis-server redis-benchmark >/dev/null"))
		check_skip("no redis-server and redis-benchmark (packages redis-server, "
			   "redis-tools)");
	start_redis();
	RUN(traced_in_libc);
	RUN(traced_in_jemalloc);
	live_destroy(load);
	live_destroy(redis);
	free(socket_path);
	return check_done();
}
