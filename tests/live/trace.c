/* SPDX-License-Identifier: Apache-2.0 */
#include "live/trace.h"

#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "live/preload.h"

#define START_TIMEOUT_S  60
#define ANSWER_TIMEOUT_S 120

const char *const memtrace_path = MEMTRACE_BINARY, *const oracle_path = ORACLE_BINARY;

struct live_process *target_start_with(const char *library, const char *path)
{
	const char *const argv[] = {path, NULL};
	struct live_process *target = preload_start(library, argv);
	json_t *ready = live_read_json(target, START_TIMEOUT_S);

	if (!ready || !json_object_get(ready, "ready"))
		live_fail("%s did not start: %s", path, live_stderr(target));
	json_decref(ready);
	return target;
}

struct live_process *target_start(const char *path)
{
	return target_start_with(NULL, path);
}

struct live_process *oracle_start(void)
{
	return target_start(oracle_path);
}

static json_t *ask(struct live_process *oracle, const char *format, va_list args)
{
	char line[256];

	vsnprintf(line, sizeof(line), format, args);
	live_send(oracle, "%s", line);
	json_t *answer = live_read_json(oracle, ANSWER_TIMEOUT_S);
	if (!answer || json_object_get(answer, "error"))
		live_fail("the target %s \"%s\": %s",
			  live_is_running(oracle) ? "did not do" : "ended in", line,
			  live_stderr(oracle));
	return answer;
}

json_t *oracle_ask(struct live_process *oracle, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_t *answer = ask(oracle, format, args);
	va_end(args);
	return answer;
}

void oracle_do(struct live_process *oracle, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	json_decref(ask(oracle, format, args));
	va_end(args);
}

static struct live_process *start(const char *const fixed[], pid_t pid,
				  const char *options)
{
	const char *argv[64] = {memtrace_path, "--pid"};
	char pid_text[16], words[512], *save = NULL;
	size_t n = 3;

	snprintf(pid_text, sizeof(pid_text), "%d", (int)pid);
	argv[2] = pid_text;
	for (size_t i = 0; fixed[i]; i++)
		argv[n++] = fixed[i];
	if ((size_t)snprintf(words, sizeof(words), "%s", options) >= sizeof(words))
		live_fail("too many options");
	for (char *word = strtok_r(words, " ", &save); word && n < 63;
	     word = strtok_r(NULL, " ", &save))
		argv[n++] = word;
	return live_start(argv);
}

struct live_process *memtrace_start_plain(pid_t pid, const char *options)
{
	return start((const char *const[]){NULL}, pid, options);
}

struct live_process *memtrace_start(pid_t pid, const char *options)
{
	const char *const fixed[] = {"--format", "json", "--top", "0", "--older",
				     "0",        "-i",   "3600",  NULL};
	struct live_process *memtrace = start(fixed, pid, options);
	char standing[64];

	snprintf(standing, sizeof(standing), "tracing pid %d", (int)pid);
	if (!live_wait_stderr(memtrace, standing, START_TIMEOUT_S))
		live_fail("memtrace %s did not begin to trace (status %d): %s", options,
			  live_wait(memtrace, 0.1), live_stderr(memtrace));
	return memtrace;
}

json_t *memtrace_report(struct live_process *memtrace)
{
	live_signal(memtrace, SIGUSR1);
	json_t *report = live_read_json(memtrace, ANSWER_TIMEOUT_S);
	if (!report)
		live_fail("no report on SIGUSR1 (%s): %s",
			  live_is_running(memtrace) ? "still at work" : "it has ended",
			  live_stderr(memtrace));
	return report;
}

json_t *memtrace_report_of(struct live_process *memtrace, const char *cause,
			   unsigned *before)
{
	for (;;) {
		json_t *report = live_read_json(memtrace, ANSWER_TIMEOUT_S);

		REQUIRE(report);
		if (!strcmp(json_string_value(live_get(report, "cause")), cause))
			return report;
		json_decref(report);
		if (before)
			++*before;
	}
}

json_t *memtrace_stop(struct live_process *memtrace)
{
	live_signal(memtrace, SIGINT);
	json_t *report = live_read_json(memtrace, ANSWER_TIMEOUT_S);
	if (!report)
		live_fail("no final report: %s", live_stderr(memtrace));
	int status = live_wait(memtrace, START_TIMEOUT_S);
	if (status != 0)
		live_fail("exit status %d after Ctrl-C: %s", status,
			  live_stderr(memtrace));
	live_destroy(memtrace);
	return report;
}

void trace_mixed(struct live_process *oracle, const char *options, const char *said)
{
	char all[1024];
	struct live_process *memtrace;
	json_t *report, *truth;

	snprintf(all, sizeof(all), "-v %s", options);
	memtrace = memtrace_start(live_pid(oracle), all);
	CHECK(live_wait_stderr(memtrace, said, 30));
	oracle_do(oracle, "run mixed 1000 1");
	report = memtrace_report(memtrace);
	truth = oracle_ask(oracle, "truth");
	CHECK_INT(compare_heap(truth, report, true), 0);
	CHECK_INT(compare_losses(report, NULL), 0);
	json_decref(truth);
	json_decref(report);
	oracle_do(oracle, "run release 1 1");
	json_decref(memtrace_stop(memtrace));
}
