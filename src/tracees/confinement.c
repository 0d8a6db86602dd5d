// SPDX-License-Identifier: Apache-2.0
#include "tracees/confinement.h"

#include <errno.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/units.h"

#define THREADS_MAX 4096

/* Is `word` one of the words in the line of `status` that begins with `key`? */
static bool has_word(const char *status, const char *key, const char *word)
{
	const char *at = strstr(status, key);
	size_t len = strlen(word);

	/* The first line, the thread's name, is the target's choice: it has no newline.
	 */
	if (!at || at == status || at[-1] != '\n')
		return false;
	at += strlen(key);
	while (*at && *at != '\n') {
		size_t size;

		at += strspn(at, " \t");
		size = strcspn(at, " \t\n");
		if (size == len && !strncmp(at, word, len))
			return true;
		at += size;
	}
	return false;
}

struct confinement confinement_parse(const char *status)
{
	uint64_t mode;

	return (struct confinement){
		.has_seccomp =
			procfs_status_number(status, "Seccomp:", 10, &mode) && mode,
		.has_shadow_stack = has_word(status, "x86_Thread_features:", "shstk"),
	};
}

/* What the thread has. False when its status cannot be read though it has not ended. */
static bool add_thread(int pid, int tid, struct confinement *sum)
{
	_cleanup_(freep) char *status = NULL;
	struct confinement thread;
	char name[32];
	size_t size;
	int err;

	snprintf(name, sizeof(name), "task/%d/status", tid);
	err = procfs_read(pid, name, PROCFS_SMALL_BYTES, &status, &size);
	if (err)
		return err == ENOENT || err == ESRCH;
	thread = confinement_parse(status);
	sum->has_seccomp |= thread.has_seccomp;
	sum->has_shadow_stack |= thread.has_shadow_stack;
	return true;
}

struct confinement confinement_read(int pid)
{
	const struct confinement unknown = {true, true};
	struct confinement sum = {0};
	unsigned count = 0;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/task", pid);

	_cleanup_(closedirp) DIR *dir = opendir(path);

	if (!dir)
		return errno == ENOENT ? sum : unknown;
	for (struct dirent *entry; (entry = readdir(dir));) {
		uint64_t tid;

		if (!units_parse_integer(entry->d_name, 1, INT_MAX, &tid))
			continue;
		if (count++ == THREADS_MAX || !add_thread(pid, (int)tid, &sum))
			return unknown;
	}
	return sum;
}
