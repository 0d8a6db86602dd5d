// SPDX-License-Identifier: Apache-2.0
#include "attach/detach_all.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attach/attach_events.h"
#include "bpf/link.h"
#include "util/cleanup.h"

/* The link targets in /proc/self/fd, as named by bpf_link_prime() and bpf_link_new_fd()
 * of kernel/bpf/syscall.c, and perf_event_open() of kernel/events/core.c. */
static bool is_link(const char *name)
{
	return !strcmp(name, "anon_inode:bpf_link") ||
	       !strcmp(name, "anon_inode:bpf-link");
}

static bool is_event(const char *name)
{
	return !strcmp(name, "anon_inode:[perf_event]");
}

struct open_probes {
	VEC(int) links;
	VEC(struct attached) events;
};

/* Collect the open links and events. Without memory some are missing. */
static void find(struct open_probes *ret)
{
	const struct dirent *entry;
	_cleanup_(closedirp) DIR *dir = opendir("/proc/self/fd");

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		char name[64];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);

		name[n > 0 ? n : 0] = '\0';
		if (is_link(name))
			(void)!vec_push(&ret->links, fd);
		else if (is_event(name))
			(void)!vec_push(&ret->events, ((struct attached){.fd = fd}));
	}
}

static void open_probes_deinit(struct open_probes *probes)
{
	vec_deinit(&probes->links);
	vec_deinit(&probes->events);
}

void detach_all(void)
{
	_cleanup_(open_probes_deinit) struct open_probes probes = {.links = {0}};

	/* What is not found is closed when the process ends. */
	find(&probes);
	/* Links first: the process that will close the events inherits open links, too,
	 * for a moment. */
	link_close_all(probes.links.data, probes.links.len);
	uprobe_events_close(probes.events.data, probes.events.len);
}

void detach_close_copies(void)
{
	_cleanup_(open_probes_deinit) struct open_probes probes = {.links = {0}};

	find(&probes);
	vec_foreach (fd, &probes.links)
		close(*fd);
	vec_foreach (event, &probes.events)
		close(event->fd);
}
