// SPDX-License-Identifier: Apache-2.0
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* The used part of elfutils/debuginfod.h. The soname guarantees the interface. */
#define SONAME "libdebuginfod.so.1"

struct client;
typedef struct client *begin_function(void);
typedef void end_function(struct client *client);
typedef int find_function(struct client *client, const unsigned char *build_id,
			  int build_id_size, char **path);
static int fetch(void *library, const struct build_id *id)
{
	begin_function *begin = (begin_function *)dlsym(library, "debuginfod_begin");
	end_function *end = (end_function *)dlsym(library, "debuginfod_end");
	find_function *find =
		(find_function *)dlsym(library, "debuginfod_find_debuginfo");
	struct client *client;
	char *path = NULL;
	int fd;

	if (!begin || !end || !find || !(client = begin()))
		return -ENOENT;
	fd = find(client, id->bytes, (int)id->size, &path);
	end(client);
	free(path);
	return fd;
}

int debuginfod_fetch(const struct build_id *id)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *library;
	int fd;

	if (!urls || !*urls)
		return -ENOENT;
	/* RTLD_NODELETE: libcurl does not support unloading. */
	library = dlopen(SONAME, RTLD_NOW | RTLD_NODELETE);
	if (!library)
		return -ENOENT;
	fd = fetch(library, id);
	dlclose(library);
	return fd;
}
