// SPDX-License-Identifier: Apache-2.0
#include "symbol/debuginfod.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

/* The part of elfutils/debuginfod.h that is used; its soname is a promise. */
#define SONAME "libdebuginfod.so.1"

struct client;
typedef struct client *begin_function(void);
typedef void end_function(struct client *client);
typedef int find_function(struct client *client, const unsigned char *build_id,
			  int build_id_size, char **path);
typedef int progress_function(struct client *client, long a, long b);
typedef void set_progress_function(struct client *client, progress_function *function);
typedef void set_data_function(struct client *client, void *data);
typedef void *get_data_function(struct client *client);

static bool is_late(const struct debuginfod_wait *wait)
{
	return wait->is_late && wait->is_late(wait->arg);
}

/* Not 0: the client gives up. */
static int on_progress(struct client *client, long a, long b)
{
	void *library = dlopen(SONAME, RTLD_NOW | RTLD_NOLOAD);
	get_data_function *get =
		library ? (get_data_function *)dlsym(library, "debuginfod_get_user_data")
			: NULL;
	int ends = get && is_late(get(client));

	(void)a;
	(void)b;
	if (library)
		dlclose(library);
	return ends;
}

static void set_wait(void *library, struct client *client,
		     const struct debuginfod_wait *wait)
{
	set_progress_function *set_progress =
		(set_progress_function *)dlsym(library, "debuginfod_set_progressfn");
	set_data_function *set_data =
		(set_data_function *)dlsym(library, "debuginfod_set_user_data");

	if (!set_progress || !set_data)
		return;
	set_data(client, (void *)wait);
	set_progress(client, on_progress);
}

static int fetch(void *library, const struct build_id *id,
		 const struct debuginfod_wait *wait)
{
	begin_function *begin = (begin_function *)dlsym(library, "debuginfod_begin");
	end_function *end = (end_function *)dlsym(library, "debuginfod_end");
	find_function *find =
		(find_function *)dlsym(library, "debuginfod_find_debuginfo");
	struct client *client;
	char *path = NULL;
	int fd;

	if (!begin || !end || !find || !(client = begin()))
		return -1;
	set_wait(library, client, wait);
	fd = find(client, id->bytes, (int)id->size, &path);
	end(client);
	free(path);
	return fd < 0 ? -1 : fd;
}

int debuginfod_fetch(const struct build_id *id, const struct debuginfod_wait *wait)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	void *library;
	int fd;

	if (!urls || !*urls || is_late(wait))
		return -1;
	/* Kept loaded: libcurl does not like to be unloaded. */
	library = dlopen(SONAME, RTLD_NOW | RTLD_NODELETE);
	if (!library)
		return -1;
	fd = fetch(library, id, wait);
	dlclose(library);
	return fd;
}
