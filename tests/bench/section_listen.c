// SPDX-License-Identifier: Apache-2.0
/* --listen: how long a scrape takes, and what it costs the process. */
#include "bench.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "http.h"
#include "tool.h"

#define SCRAPES 5
/* Scrapes within a second share a snapshot. */
#define APART_MS 1100
#define PAIRS    3000000
#define RUNS     5

static unsigned port;

static double scrape_ms(const char *path)
{
	uint64_t start_ns = now_ns();
	struct http_answer a = http_get(port, path);
	double ms = (double)(now_ns() - start_ns) / 1e6;

	if (a.status != 200)
		die("%s: status %d", path, a.status);
	http_free(&a);
	return ms;
}

static double median_ms(const char *path)
{
	double ms[SCRAPES];

	for (unsigned i = 0; i < SCRAPES; i++) {
		sleep_ms(APART_MS);
		ms[i] = scrape_ms(path);
	}
	return median(ms, SCRAPES);
}

/* The part of a scrape that memtrace itself takes, ms. */
static double snapshot_ms(void)
{
	struct http_answer a = http_get(port, "/metrics");
	const char *at = a.body ? strstr(a.body, "\nmemtrace_snapshot_seconds ") : NULL;
	double s = at ? strtod(at + 27, NULL) : NAN;

	http_free(&a);
	return s * 1e3;
}

static void scrapes(unsigned stacks, unsigned blocks)
{
	char port_text[16];
	const char *const options[] = {"--listen", port_text, NULL};
	struct target target = target_start();
	struct tracing tracing;
	double first_ms, metrics_ms, profile_ms, page_ms;

	snprintf(port_text, sizeof(port_text), "%u", port);
	tracing = tool_start(TOOL_MEMTRACE, &target, options);
	target_fill(&target, blocks, stacks);
	first_ms = scrape_ms("/metrics");
	metrics_ms = median_ms("/metrics");
	profile_ms = median_ms("/debug/pprof/allocs");
	page_ms = median_ms("/");
	printf("%-10u %10u %10.0f %10.0f %10.0f %10.0f %10.0f\n", stacks, blocks,
	       first_ms, metrics_ms, profile_ms, page_ms, snapshot_ms());
	fflush(stdout);
	tool_stop(&tracing);
	target_stop(&target);
}

/* Scrapes once a second, until it is killed. */
static pid_t start_scraping(void)
{
	pid_t pid = fork();

	if (pid < 0)
		die("cannot fork");
	if (pid)
		return pid;
	for (;;) {
		scrape_ms("/debug/pprof/allocs");
		sleep_ms(1000);
	}
}

/* ns of a pair, over the whole time. */
static double pairs_ns(struct target *target)
{
	uint64_t start_ns = now_ns();

	target_pairs(target, PAIRS, 6);
	return (double)(now_ns() - start_ns) / PAIRS;
}

static void costs(void)
{
	char port_text[16];
	const char *const options[] = {"--listen", port_text, NULL};
	struct target target = target_start();
	double alone[RUNS], scraped[RUNS];
	struct tracing tracing;

	snprintf(port_text, sizeof(port_text), "%u", port);
	tracing = tool_start(TOOL_MEMTRACE, &target, options);
	target_fill(&target, 100000, 10000);
	/* In turn, because the machine's speed changes. */
	for (unsigned i = 0; i < RUNS; i++) {
		pid_t client;

		alone[i] = pairs_ns(&target);
		client = start_scraping();
		scraped[i] = pairs_ns(&target);
		kill(client, SIGKILL);
		waitpid(client, NULL, 0);
	}
	printf("a pair of malloc and free: %.0f ns, with a scrape a second %.0f ns\n",
	       median(alone, RUNS), median(scraped, RUNS));
	tool_stop(&tracing);
	target_stop(&target);
}

void section_listen(void)
{
	port = 20000 + (unsigned)getpid() % 20000;
	printf("\nScrapes, ms\n%-10s %10s %10s %10s %10s %10s %10s\n", "stacks", "blocks",
	       "first", "/metrics", "allocs", "/", "snapshot");
	scrapes(10000, 10000);
	scrapes(10000, 100000);
	scrapes(10000, 1000000);
	scrapes(100000, 1000000);
	costs();
}
