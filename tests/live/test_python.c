/* SPDX-License-Identifier: Apache-2.0 */
/* The packaged Python interpreter at work: its results stay right, its blocks are
 * counted, and no probe is left. */
#include <signal.h>

#include "check.h"
#include "live/trace.h"

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
	return check_done();
}
