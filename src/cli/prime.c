// SPDX-License-Identifier: Apache-2.0
#include "cli/prime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/cache.h"

#define ARGUMENTS_MAX 8

/* Which code a run needs depends on these options, and on nothing that the traced program
 * does. */
static const struct {
	const char *what; /* for people */
	const char *options[ARGUMENTS_MAX];
} kinds[] = {
	{"one process", {NULL}},
	{"a process and its children", {"--follow-forks"}},
	{"one process, with mappings", {"--mappings"}},
	{"one process, one allocation in 100", {"--sample-every", "100"}},
	{"one process, a sample by bytes", {"--sample-bytes", "512K"}},
	{"one process, with traffic", {"--traffic"}},
};

/* In the child of a fork. */
_Noreturn static void trace_nothing(const char *const options[])
{
	const char *arguments[ARGUMENTS_MAX + 8] = {"memtrace"};
	size_t count = 1;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; options[i]; i++)
		arguments[count++] = options[i];
	arguments[count++] = "--";
	arguments[count++] = "/bin/true";
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		_exit(127);
	/* Its own messages say what is wrong with a run. */
	execv("/proc/self/exe", (char *const *)arguments);
	_exit(127);
}

static bool trace_ok(const char *const options[])
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (pid == 0)
		trace_nothing(options);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

struct error *prime_run(void)
{
	struct cache cache;
	struct error *err = cache_open(&cache);
	size_t failed = 0;

	cache_close(&cache);
	for (size_t i = 0; !err && i < sizeof(kinds) / sizeof(*kinds); i++) {
		bool ok = trace_ok(kinds[i].options);

		failed += !ok;
		fprintf(stderr, "memtrace: %s: %s\n", kinds[i].what,
			ok ? "compiled and kept" : "failed");
	}
	if (!err && failed)
		err = error_create(ERROR_IO, "%zu of %zu kinds of runs failed", failed,
				   sizeof(kinds) / sizeof(*kinds));
	return err;
}
