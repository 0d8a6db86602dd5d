// SPDX-License-Identifier: Apache-2.0
#include "cli/prime.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bpf/cache.h"
#include "util/cleanup.h"
#include "util/escape.h"
#include "util/say_note.h"
#include "util/strbuf.h"

#define ARGUMENTS_MAX 8
#define MESSAGES_MAX  65536 /* bytes; further output of the run is dropped */

/* About as large as an entry of compiled code. */
#define ENTRY_BYTES (256u << 10)

/* Kinds of runs. Only these options determine which code a run needs, not what the traced
 * program does. */
static const struct {
	const char *what; /* for messages */
	const char *options[ARGUMENTS_MAX];
} kinds[] = {
	{"one process", {NULL}},
	{"a process and its children", {"--follow-forks"}},
	{"one process, with mappings", {"--mappings"}},
	{"one process, one allocation in 100", {"--sample-every", "100"}},
	{"one process, a sample by bytes", {"--sample-bytes", "512K"}},
	{"one process, with traffic", {"--traffic"}},
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

/* Runs in the forked child. Its standard error goes to `messages`. */
_Noreturn static void trace_nothing(const char *const options[], int messages)
{
	const char *arguments[ARGUMENTS_MAX + 8] = {"memtrace", "--quiet"};
	size_t count = 2;
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (size_t i = 0; options[i]; i++)
		arguments[count++] = options[i];
	arguments[count++] = "--";
	arguments[count++] = "/bin/true";
	if (null < 0 || dup2(null, STDOUT_FILENO) < 0 ||
	    dup2(messages, STDERR_FILENO) < 0)
		_exit(127);
	execv("/proc/self/exe", (char *const *)arguments);
	_exit(127);
}

/* Read everything that the run writes, until it ends. */
static void read_messages(int from, struct strbuf *ret)
{
	char part[512];
	ssize_t n;

	while ((n = read(from, part, sizeof(part))) > 0 || (n < 0 && errno == EINTR))
		if (n > 0 && ret->len < MESSAGES_MAX)
			strbuf_append_bytes(ret, part, (size_t)n);
}

/* Returns false if the run failed; its output is then in `messages`. */
static bool trace_ok(const char *const options[], struct strbuf *messages)
{
	int status = 0, ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC))
		return false;
	pid = fork();
	if (pid == 0)
		trace_nothing(options, ends[1]);
	close(ends[1]);
	read_messages(ends[0], messages);
	close(ends[0]);
	while (pid > 0 && waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return pid > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* The last line says why a run failed. */
static const char *last_line(struct strbuf *messages)
{
	static const char name[] = "memtrace: ";
	char *before;
	const char *line;

	if (!messages->len)
		return "it has ended without a message";
	if (messages->data[messages->len - 1] == '\n')
		messages->data[--messages->len] = '\0';
	before = strrchr(messages->data, '\n');
	line = before ? before + 1 : messages->data;
	return strncmp(line, name, strlen(name)) ? line : line + strlen(name);
}

/* Can further entries be stored? */
static struct error *check_room(struct cache *cache)
{
	_cleanup_(freep) char *entry = calloc(1, ENTRY_BYTES);
	const struct cache_key key = {{0}};
	struct error *err;

	if (!entry)
		return error_no_memory();
	cache_put(cache, &key, entry, ENTRY_BYTES);
	cache_drop(cache, &key);
	err = cache->unstored;
	cache->unstored = NULL;
	return error_prefix(err, "--prime-cache");
}

static struct error *prime(struct cache *cache, const char *path)
{
	size_t failed = 0;
	struct error *err = check_room(cache);

	if (err)
		return err;
	for (size_t i = 0; i < KINDS; i++) {
		_cleanup_(strbuf_deinit) struct strbuf messages = {0};

		if (trace_ok(kinds[i].options, &messages))
			continue;
		if (!failed++)
			err = error_create(ERROR_IO, "%s: %s", kinds[i].what,
					   last_line(&messages));
	}
	err = error_prefix(err, "--prime-cache: %zu of %zu kinds of runs failed", failed,
			   KINDS);
	/* The runs do not fail if they cannot store what they compile. */
	if (!err)
		err = check_room(cache);
	if (!err)
		say_note("code for %zu kinds of runs is kept in %s", KINDS, path);
	return err;
}

struct error *prime_run(void)
{
	struct cache cache;
	struct error *err = cache_open(&cache);
	_cleanup_(freep) char *path = err ? NULL : escape_dup(cache.path);

	if (!err)
		err = prime(&cache, path ? path : "?");
	cache_close(&cache);
	return err;
}
