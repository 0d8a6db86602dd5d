// SPDX-License-Identifier: Apache-2.0
/* Prometheus scrapes /metrics as examples/fleet/prometheus.yml says, and answers a query
 * with the number that memtrace has. What is served is made up: tracing is not needed. */
#include "unit/serve/served.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include <jansson.h>

#define HEAP_BYTES (2 * 1024 * 1024 + 3100 + 64 + 7)
#define TRIES      100
#define PAUSE_US   200000

/* Copy the example with our port, and with an interval of a second. */
static void write_config(const char *path, unsigned port)
{
	FILE *in = fopen(SOURCE_DIR "/examples/fleet/prometheus.yml", "re");
	FILE *out = fopen(path, "we");
	char line[256];
	unsigned ports = 0;

	REQUIRE(in && out);
	while (fgets(line, sizeof(line), in)) {
		if (strstr(line, "'127.0.0.1:9911'"))
			ports += fprintf(out, "      - targets: ['127.0.0.1:%u']\n",
					 port) > 0;
		else if (strstr(line, "scrape_interval:"))
			fputs("    scrape_interval: 1s\n", out);
		else
			fputs(line, out);
	}
	CHECK_INT(ports, 1);
	fclose(in);
	REQUIRE(!fclose(out));
}

static pid_t start_prometheus(const char *folder, unsigned port)
{
	char config[128], storage[128], listen[64];
	pid_t pid;

	snprintf(config, sizeof(config), "--config.file=%s/prometheus.yml", folder);
	snprintf(storage, sizeof(storage), "--storage.tsdb.path=%s/data", folder);
	snprintf(listen, sizeof(listen), "--web.listen-address=127.0.0.1:%u", port);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		int log = open("/dev/null", O_WRONLY);

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(log, 1);
		dup2(log, 2);
		execl(PROMETHEUS, "prometheus", config, storage, listen, (char *)NULL);
		_exit(127);
	}
	return pid;
}

/* The value of the query's first series; -1: it has none yet. */
static long long query(unsigned port, const char *expression)
{
	char path[256];
	struct http_answer a;
	json_t *answer;
	const char *value;
	long long n;
	int fd = http_connect(port);

	if (fd < 0)
		return -1;
	close(fd);
	snprintf(path, sizeof(path), "/api/v1/query?query=%s", expression);
	a = http_get(port, path);
	answer = a.status == 200
			 ? json_loadb(a.body, a.body_len, JSON_DISABLE_EOF_CHECK, NULL)
			 : NULL;
	value = json_string_value(json_array_get(
		json_object_get(
			json_array_get(json_object_get(json_object_get(answer, "data"),
						       "result"),
				       0),
			"value"),
		1));
	n = value ? strtoll(value, NULL, 10) : -1;
	json_decref(answer);
	http_free(&a);
	return n;
}

static void queries_have_our_numbers(void)
{
	char folder[] = "/tmp/memtrace-fleet-XXXXXX", path[128], command[128];
	unsigned port = 21000 + (unsigned)getpid() % 20000;
	long long bytes = -1;
	struct served s;
	pid_t prometheus;

	REQUIRE(mkdtemp(folder));
	served_begin(&s);
	snprintf(path, sizeof(path), "%s/prometheus.yml", folder);
	write_config(path, s.port);
	prometheus = start_prometheus(folder, port);
	for (int i = 0; i < TRIES && bytes < 0; i++) {
		usleep(PAUSE_US);
		bytes = query(port, "memtrace_live_bytes");
	}
	CHECK_INT(bytes, HEAP_BYTES);
	CHECK_INT(query(port, "memtrace_live_bytes{process=\"leaky\",pid=\"4321\"}"),
		  HEAP_BYTES);
	CHECK_INT(query(port, "memtrace_live_blocks"), 7);
	CHECK_INT(query(port, "sum(memtrace_losses_total)"), 0);
	CHECK_INT(query(port, "count(memtrace_losses_total)"), LOSS_COUNT);
	CHECK_INT(query(port, "up"), 1);
	kill(prometheus, SIGKILL);
	waitpid(prometheus, NULL, 0);
	served_end(&s);
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	CHECK_INT(system(command), 0);
}

int main(void)
{
	RUN(queries_have_our_numbers);
	return check_done();
}
