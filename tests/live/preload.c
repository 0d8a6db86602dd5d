// SPDX-License-Identifier: Apache-2.0
#include "live/preload.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "check.h"
#include "library_path.h"

char *preload_find(const char *name)
{
	char *path = library_path(name);

	if (!path)
		CHECK_SKIP_PART("%s is not installed", name);
	return path;
}

char *preload_copy(const char *path)
{
	const char *slash = strrchr(path, '/');
	char *copy = live_path(slash ? slash + 1 : path), buffer[65536];
	FILE *in = fopen(path, "re"), *out = fopen(copy, "we");
	size_t n;

	if (!in || !out)
		live_fail("cannot copy %s to %s", path, copy);
	while ((n = fread(buffer, 1, sizeof(buffer), in)))
		if (fwrite(buffer, 1, n, out) != n)
			live_fail("cannot write %s", copy);
	if (fchmod(fileno(out), 0755) || fclose(out))
		live_fail("cannot write %s", copy);
	fclose(in);
	return copy;
}

struct live_process *preload_start(const char *library, const char *const argv[])
{
	struct live_process *process;

	if (library)
		setenv("LD_PRELOAD", library, 1);
	process = live_start(argv);
	unsetenv("LD_PRELOAD");
	return process;
}
