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

void detach_all(void)
{
	VEC(int) links = {0};
	VEC(struct attached) events = {0};
	const struct dirent *entry;
	_cleanup_(closedirp) DIR *dir = opendir("/proc/self/fd");

	while (dir && (entry = readdir(dir))) {
		int fd = atoi(entry->d_name);
		char name[64];
		ssize_t n = readlinkat(dirfd(dir), entry->d_name, name, sizeof(name) - 1);

		name[n > 0 ? n : 0] = '\0';
		/* Without memory the descriptor is closed when the process ends. */
		if (is_link(name))
			(void)!vec_push(&links, fd);
		else if (is_event(name))
			(void)!vec_push(&events, ((struct attached){.fd = fd}));
	}
	/* Links first: the process that will close the events inherits open links, too,
	 * for a moment. */
	link_close_all(links.data, links.len);
	uprobe_events_close(events.data, events.len);
	vec_deinit(&links);
	vec_deinit(&events);
}
