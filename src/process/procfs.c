// SPDX-License-Identifier: Apache-2.0
#include "process/procfs.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util/cleanup.h"

int procfs_read(int pid, const char *name, size_t limit_bytes, char **ret,
		size_t *ret_size)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/%s", pid, name);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno;

	size_t len = 0, cap = 4096;
	_cleanup_(freep) char *text = malloc(cap);
	if (!text)
		return ENOMEM;

	for (;;) {
		/* Keep one byte for the NUL. */
		if (cap - len < 2) {
			char *grown = realloc(text, cap * 2);

			if (!grown)
				return ENOMEM;
			text = grown;
			cap *= 2;
		}

		ssize_t n = read(fd, text + len, cap - len - 1);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return errno;
		if (n == 0)
			break;
		len += (size_t)n;
		if (len > limit_bytes)
			return EFBIG;
	}
	text[len] = '\0';
	*ret = take(text);
	*ret_size = len;
	return 0;
}

bool procfs_parse_stat(const char *text, struct procfs_stat *ret)
{
	/* Later fields cannot contain a parenthesis, so the last one ends the command. */
	const char *p = strrchr(text, ')');
	char state;
	long parent = 0, flags = 0, thread_count = 0;

	if (!p || p[1] != ' ' || !isalpha((unsigned char)p[2]) || p[3] != ' ')
		return false;
	state = p[2];
	p += 4;
	for (int field = 4; field <= 20; field++) {
		char *end;

		errno = 0;
		long value = strtol(p, &end, 10);
		if (end == p)
			return false;
		/* Some counters are unsigned and may pass LONG_MAX; ours may not. */
		if (errno && (field == 4 || field == 9 || field == 20))
			return false;
		if (field == 4)
			parent = value;
		if (field == 9)
			flags = value;
		if (field == 20)
			thread_count = value;
		p = end;
	}
	if (flags < 0 || flags > UINT32_MAX || parent < 0 || parent > INT_MAX)
		return false;
	*ret = (struct procfs_stat){
		.state = state,
		.parent = (int)parent,
		.flags = (uint32_t)flags,
		.thread_count = thread_count,
	};
	return true;
}

bool procfs_status_number(const char *text, const char *key, int base, uint64_t *ret)
{
	size_t key_len = strlen(key);

	for (const char *line = text; line; line = strchr(line, '\n')) {
		if (*line == '\n')
			line++;
		if (strncmp(line, key, key_len))
			continue;
		line += key_len;
		line += strspn(line, " \t");
		/* strtoull() would accept a sign and skip newlines. */
		if (!isxdigit((unsigned char)*line))
			return false;

		char *end;

		errno = 0;
		unsigned long long value = strtoull(line, &end, base);
		if (errno || end == line)
			return false;
		*ret = value;
		return true;
	}
	return false;
}

int procfs_namespace_pid(const char *text)
{
	static const char key[] = "\nNSpid:";
	const char *at = strstr(text, key);
	long pid = 0;

	if (!at)
		return 0;
	at += sizeof(key) - 1;
	for (;;) {
		at += strspn(at, " \t");
		/* strtol() would accept a sign and skip the newline. */
		if (!isdigit((unsigned char)*at))
			break;

		char *end;

		errno = 0;
		pid = strtol(at, &end, 10);
		if (errno || pid > INT_MAX)
			return 0;
		at = end;
	}
	return *at == '\n' || !*at ? (int)pid : 0;
}
