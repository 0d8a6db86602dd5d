// SPDX-License-Identifier: Apache-2.0
/* --listen on a real process: its numbers equal the reports', and it does not change the
 * reports. tests/unit/serve tests wrong, slow and many requests. */
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "http.h"
#include "live/files.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S 30

static struct live_process *oracle;

/* Wait until it listens. Returns the port. */
static unsigned port_of(struct live_process *memtrace)
{
	const char *said = "listening on http://127.0.0.1:";
	const char *at;

	REQUIRE(live_wait_stderr(memtrace, said, TIMEOUT_S));
	at = strstr(live_stderr(memtrace), said);
	return (unsigned)strtoul(at + strlen(said), NULL, 10);
}

/* The value of the first sample of a metric. */
static int64_t metric(const struct http_answer *a, const char *name)
{
	for (const char *line = a->body; line && *line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, name, strlen(name)) &&
		    strchr(" {", line[strlen(name)]))
			return strtoll(strrchr(strndupa(line, strcspn(line, "\n")), ' '),
				       NULL, 10);
	}
	CHECK_FAIL("missing metric %s", name);
	return -1;
}

static json_t *get_json(unsigned port, const char *path)
{
	struct http_answer a = http_get(port, path);
	json_t *json;

	REQUIRE(a.status == 200);
	json = json_loadb(a.body, a.body_len, 0, NULL);
	REQUIRE(json);
	http_free(&a);
	return json;
}

/* What `go tool pprof -top` says of the profile at this path: bytes in all. */
static int64_t pprof_bytes(unsigned port, const char *path, const char *index)
{
	char command[512], line[512];
	int64_t bytes = -1;
	FILE *out;

	snprintf(
		command, sizeof(command),
		"HOME=/nonexistent PPROF_TMPDIR=%s go tool pprof -symbolize=none -unit=B "
		"-nodecount=0 -sample_index=%s -top 'http://127.0.0.1:%u%s' 2>/dev/null",
		live_path("pprof"), index, port, path);
	out = popen(command, "re");
	REQUIRE(out);
	while (fgets(line, sizeof(line), out)) {
		const char *total = strstr(line, "% of ");

		if (strstr(line, "Showing nodes") && total)
			bytes = strtoll(total + 5, NULL, 10);
	}
	CHECK_INT(pclose(out), 0);
	return bytes;
}

static void numbers_are_the_reports(void)
{
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--listen 0 --traffic");
	unsigned port = port_of(memtrace);
	json_t *report, *served;
	struct http_answer a;

	oracle_do(oracle, "run mixed 2000 1");
	report = memtrace_report(memtrace);
	a = http_get(port, "/metrics");
	CHECK_INT(a.status, 200);
	CHECK_INT(metric(&a, "memtrace_live_bytes"), live_int(report, "heap.live_bytes"));
	CHECK_INT(metric(&a, "memtrace_live_blocks"),
		  live_int(report, "heap.live_blocks"));
	CHECK_INT(metric(&a, "memtrace_allocations_total"),
		  live_int(report, "heap.totals.allocations"));
	CHECK_INT(metric(&a, "memtrace_allocated_bytes_total"),
		  live_int(report, "heap.totals.allocated_bytes"));
	CHECK_INT(metric(&a, "memtrace_frees_total"),
		  live_int(report, "heap.totals.frees"));
	CHECK_INT(metric(&a, "memtrace_traced_processes"), 1);
	CHECK(metric(&a, "memtrace_resident_memory_bytes") > 0);
	CHECK(metric(&a, "memtrace_tracer_resident_memory_bytes") > 1 << 20);
	http_free(&a);

	json_t *truth = oracle_ask(oracle, "truth");

	served = get_json(port, "/report.json?top=10000");
	CHECK_INT(compare_heap(truth, served, false), 0);
	CHECK_INT(compare_losses(served, NULL), 0);
	CHECK_INT(pprof_bytes(port, "/debug/pprof/heap", "inuse_space"),
		  live_int(report, "heap.live_bytes"));
	CHECK_INT(pprof_bytes(port, "/debug/pprof/allocs", "alloc_space"),
		  live_int(report, "heap.totals.allocated_bytes"));
	json_decref(truth);
	json_decref(served);
	json_decref(report);
	json_decref(memtrace_stop(memtrace));
	/* The port is free again. */
	CHECK(http_connect(port) < 0);
}

/* Growth of reports counts from the report before, however many scrapes are between. */
static void reports_are_not_disturbed(void)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "--listen 0");
	unsigned port = port_of(memtrace);
	json_t *first = memtrace_report(memtrace), *second;
	int64_t growth;

	for (int i = 0; i < 3; i++) {
		struct http_answer a;

		oracle_do(oracle, "run mixed 500 1");
		a = http_get(port, "/metrics");
		CHECK_INT(a.status, 200);
		CHECK_INT(metric(&a, "memtrace_snapshots_total"), i + 1);
		http_free(&a);
		live_sleep(1.1);
	}
	second = memtrace_report(memtrace);
	CHECK_INT(live_int(second, "sequence"), live_int(first, "sequence") + 1);
	growth = live_int(json_array_get(live_get(second, "heap.processes"), 0),
			  "growth_bytes");
	CHECK_INT(growth, live_int(second, "heap.live_bytes") -
				  live_int(first, "heap.live_bytes"));
	CHECK(growth > 0);
	json_decref(first);
	json_decref(second);
	json_decref(memtrace_stop(memtrace));
}

/* ?seconds=N while the process allocates. */
static void changes_are_what_was_allocated(void)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "--listen 0");
	unsigned port = port_of(memtrace);
	json_t *before, *after;
	int fd = http_connect(port);
	static const char request[] =
		"GET /debug/pprof/heap?seconds=2&debug=0 HTTP/1.0\r\n"
		"Host: localhost\r\n\r\n";
	struct http_answer a;
	char *path = live_path("delta.pb.gz"), command[512];
	FILE *f;

	before = memtrace_report(memtrace);
	REQUIRE(fd >= 0 && http_send(fd, request, strlen(request)));
	live_sleep(0.7);
	oracle_do(oracle, "run mixed 1000 1");
	a = http_receive(fd, true, TIMEOUT_S);
	close(fd);
	after = memtrace_report(memtrace);
	REQUIRE(a.status == 200);
	f = fopen(path, "we");
	REQUIRE(f && fwrite(a.body, 1, a.body_len, f) == a.body_len && !fclose(f));
	snprintf(command, sizeof(command),
		 "HOME=/nonexistent go tool pprof -symbolize=none -unit=B "
		 "-sample_index=inuse_space -top %s 2>/dev/null | grep -q '%% of %" PRId64
		 "B total'",
		 path,
		 live_int(after, "heap.live_bytes") -
			 live_int(before, "heap.live_bytes"));
	CHECK_INT(system(command), 0);
	free(path);
	http_free(&a);
	json_decref(before);
	json_decref(after);
	json_decref(memtrace_stop(memtrace));
}

/* The child that reads requests. Returns its pid. */
static int server_of(struct live_process *memtrace)
{
	char command[128];
	FILE *out;
	int pid = 0;

	snprintf(command, sizeof(command), "pgrep -x -P %d memtrace-serve",
		 live_pid(memtrace));
	out = popen(command, "re");
	REQUIRE(out);
	CHECK_INT(fscanf(out, "%d", &pid), 1);
	pclose(out);
	return pid;
}

static void requests_are_read_without_privileges(void)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "--listen 0");
	unsigned port = port_of(memtrace);
	int server = server_of(memtrace);
	_cleanup_(freep) char *status = files_read("/proc/%d/status", server);
	struct http_answer a;

	CHECK_CONTAINS(status, "\nCapEff:\t0000000000000000\n");
	CHECK_CONTAINS(status, "\nCapPrm:\t0000000000000000\n");
	CHECK_CONTAINS(status, "\nNoNewPrivs:\t1\n");
	CHECK_CONTAINS(status, "\nSeccomp:\t2\n");
	CHECK(!strstr(status, "\nUid:\t0\t"));
	/* It is killed, as a hostile request might: the next one is answered. */
	REQUIRE(!kill(server, SIGKILL));
	a = http_get(port, "/metrics");
	CHECK_INT(a.status, 200);
	http_free(&a);
	CHECK(server_of(memtrace) != server);
	json_decref(memtrace_stop(memtrace));
}

/* A port that is taken: before the process is touched. */
static void a_taken_port_is_an_error(void)
{
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "--listen 0");
	unsigned port = port_of(memtrace);
	char options[64];
	struct live_process *second;
	struct probes *probes = probes_find();

	snprintf(options, sizeof(options), "--listen %u", port);
	second = memtrace_start_plain(live_pid(oracle), options);
	CHECK_INT(live_wait(second, TIMEOUT_S), 1);
	CHECK_INT(live_count(live_stderr(second), "\n"), 1);
	CHECK_CONTAINS(live_stderr(second), "choose another one");
	CHECK_INT(probes_new(probes), 0);
	probes_destroy(probes);
	live_destroy(second);
	json_decref(memtrace_stop(memtrace));
}

/* Scrapes each second while the process allocates without pause: nothing is lost. */
static void scrapes_under_load(void)
{
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--listen 0 --traffic");
	unsigned port = port_of(memtrace);
	json_t *report;

	live_send(oracle, "churn 5 2");
	for (int i = 0; i < 4; i++) {
		struct http_answer a = http_get(port, "/debug/pprof/allocs");

		CHECK_INT(a.status, 200);
		http_free(&a);
		live_sleep(1.1);
	}
	json_decref(live_read_json(oracle, TIMEOUT_S));
	report = memtrace_stop(memtrace);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(report);
}

/* Without --format and --output nothing is printed. */
static void reports_are_not_printed(void)
{
	struct live_process *memtrace =
		memtrace_start_plain(live_pid(oracle), "--listen 0 -i 200ms");
	unsigned port = port_of(memtrace);
	char *line;

	live_sleep(1);

	struct http_answer a = http_get(port, "/");

	CHECK_INT(a.status, 200);
	CHECK(strstr(a.body, "class=\"flame\""));
	http_free(&a);
	live_signal(memtrace, SIGTERM);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	line = live_read_line(memtrace, 1);
	CHECK(!line);
	free(line);
	live_destroy(memtrace);
}

int main(void)
{
	live_require_root();
	oracle = oracle_start();
	RUN(numbers_are_the_reports);
	RUN(reports_are_not_disturbed);
	RUN(changes_are_what_was_allocated);
	RUN(requests_are_read_without_privileges);
	RUN(a_taken_port_is_an_error);
	RUN(scrapes_under_load);
	RUN(reports_are_not_printed);
	live_destroy(oracle);
	return check_done();
}
