/* SPDX-License-Identifier: Apache-2.0 */
/* The packaged Python interpreter at work: its results stay right, its blocks are
 * counted, and no probe is left. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/trace.h"

/* The distribution's own interpreter; the first one in PATH may be another. */
#define PACKAGED "/usr/bin/python3"

static struct live_process *python;

/* Asks for a sum whose computation allocates. True if the answer is right. */
static bool computes(unsigned n)
{
	char want[32];

	snprintf(want, sizeof(want), "%llu", (unsigned long long)n * (n - 1) / 2);
	live_send(python, "print(sum([int(str(i)) for i in range(%u)]), flush=True)", n);
	char *line = live_read_line(python, 30);
	bool ok = line && !strcmp(line, want);
	free(line);
	return ok;
}

static void answers_while_traced(void)
{
	struct probes *before = probes_find();
	struct live_process *memtrace = memtrace_start(live_pid(python), "");
	double until_s = live_now_s() + 3;
	unsigned asked = 0, right = 0;

	/* Printed before the probes are attached. */
	CHECK(strstr(live_stderr(memtrace), "PYTHONMALLOC=malloc"));
	/* The interpreter takes blocks of 1 MiB from malloc. 16 of them stay. */
	live_send(python, "keep = [bytearray(1 << 20) for i in range(16)]");
	while (live_now_s() < until_s) {
		right += computes(10000 + asked);
		asked++;
	}
	CHECK(asked > 10);
	CHECK_INT(right, asked);
	json_t *report = memtrace_stop(memtrace);
	CHECK(probes_gone(before));
	probes_destroy(before);
	CHECK(live_int(report, "heap.live_bytes") >= 16 << 20);
	CHECK(live_int(report, "heap.totals.frees") > 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	printf("%u computations, %lld allocations\n", asked,
	       (long long)live_int(report, "heap.totals.allocations"));
	json_decref(report);
	CHECK(computes(1000));
}

/* Debian's interpreter comes without symbols: the note about that names its package, as
 * dpkg(1) does. */
static void package_of_stripped(void)
{
	const char *const argv[] = {PACKAGED, "-i", "-q", "-u", NULL};
	struct live_process *packaged = live_start(argv), *memtrace;
	FILE *dpkg =
		popen("dpkg -S $(readlink -f " PACKAGED ") | sed 's/[:,].*//'", "re");
	char package[128] = "", want[256];

	REQUIRE(dpkg && fgets(package, sizeof(package), dpkg));
	pclose(dpkg);
	package[strcspn(package, "\n")] = '\0';
	memtrace = memtrace_start(live_pid(packaged), "");
	live_send(packaged, "keep = [bytearray(1 << 20) for i in range(16)]; print(7)");
	free(live_read_line(packaged, 30));
	json_decref(memtrace_report(memtrace));
	snprintf(want, sizeof(want), "debug packages of %s (NAME-dbgsym", package);
	CHECK_CONTAINS(live_stderr(memtrace), want);
	json_decref(memtrace_stop(memtrace));
	live_destroy(packaged);
}

int main(void)
{
	const char *const argv[] = {"python3", "-i", "-q", "-u", NULL};

	live_require_root();
	if (system("command -v python3 >/dev/null"))
		check_skip("no python3");
	python = live_start(argv);
	REQUIRE(computes(100));
	RUN(answers_while_traced);
	live_destroy(python);
	if (access(PACKAGED, X_OK) || system("dpkg -S $(readlink -f " PACKAGED
					     ") >/dev/null && test -z \"$(nm $(readlink "
					     "-f " PACKAGED ") 2>/dev/null)\""))
		printf("no packaged python3 without symbols\n");
	else
		RUN(package_of_stripped);
	return check_done();
}
