/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the probes that the kernel holds. */
#include <bpf/bpf.h>
#include <ctype.h>
#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "live/trace.h"

#define IDS_MAX 4096

struct probes {
	__u32 programs[IDS_MAX], links[IDS_MAX];
	size_t program_count, link_count;
	unsigned events; /* lines of uprobe_events */
};

static bool is_uprobe_program(__u32 id)
{
	struct bpf_prog_info info = {0};
	__u32 length = sizeof(info);
	int fd = bpf_prog_get_fd_by_id(id);

	if (fd < 0)
		return false;
	bool is = !bpf_obj_get_info_by_fd(fd, &info, &length) &&
		  info.type == BPF_PROG_TYPE_KPROBE;
	close(fd);
	return is;
}

static bool is_uprobe_link(__u32 id)
{
	/* BPF_LINK_TYPE_PERF_EVENT and BPF_LINK_TYPE_UPROBE_MULTI of linux/bpf.h. Older
	 * headers lack the second. */
	enum {
		perf_event = 7,
		uprobe_multi = 12
	};
	struct bpf_link_info info = {0};
	__u32 length = sizeof(info);
	int fd = bpf_link_get_fd_by_id(id);

	if (fd < 0)
		return false;
	bool is = !bpf_obj_get_info_by_fd(fd, &info, &length) &&
		  (info.type == perf_event || info.type == uprobe_multi);
	close(fd);
	return is;
}

unsigned probes_verified(const char *program)
{
	unsigned most = 0;
	__u32 id = 0;

	while (!bpf_prog_get_next_id(id, &id)) {
		/* verified_insns came with Linux 5.16. Older headers lack it. */
		enum {
			at = offsetof(struct bpf_prog_info, recursion_misses) + 8
		};
		union {
			struct bpf_prog_info info;
			__u32 words[sizeof(struct bpf_prog_info) / 4 + 2];
		} u = {.words = {0}};
		__u32 length = sizeof(u);
		int fd = bpf_prog_get_fd_by_id(id);

		if (fd < 0)
			continue;
		if (!bpf_obj_get_info_by_fd(fd, &u.info, &length) && length >= at + 4 &&
		    !strcmp(u.info.name, program) && u.words[at / 4] > most)
			most = u.words[at / 4];
		close(fd);
	}
	return most;
}

static unsigned count_events(void)
{
	FILE *file = fopen("/sys/kernel/tracing/uprobe_events", "re");
	unsigned lines = 0;
	int c;

	if (!file)
		return 0;
	while ((c = getc(file)) != EOF)
		lines += c == '\n';
	fclose(file);
	return lines;
}

struct probes *probes_find(void)
{
	struct probes *probes = calloc(1, sizeof(*probes));
	__u32 id = 0;

	if (!probes)
		live_fail("out of memory");
	while (probes->program_count < IDS_MAX && !bpf_prog_get_next_id(id, &id))
		if (is_uprobe_program(id))
			probes->programs[probes->program_count++] = id;
	id = 0;
	while (probes->link_count < IDS_MAX && !bpf_link_get_next_id(id, &id))
		if (is_uprobe_link(id))
			probes->links[probes->link_count++] = id;
	probes->events = count_events();
	return probes;
}

void probes_destroy(struct probes *probes)
{
	free(probes);
}

static unsigned count_new(const __u32 *now, size_t now_count, const __u32 *before,
			  size_t before_count)
{
	unsigned fresh = 0;

	for (size_t i = 0; i < now_count; i++) {
		size_t k = 0;

		while (k < before_count && before[k] != now[i])
			k++;
		fresh += k == before_count;
	}
	return fresh;
}

unsigned probes_new(const struct probes *before)
{
	struct probes *now = probes_find();
	unsigned fresh = count_new(now->programs, now->program_count, before->programs,
				   before->program_count);

	probes_destroy(now);
	return fresh;
}

/* Counts the processes that memtrace --attach perf leaves behind. After memtrace has
 * ended, they close its perf events, which removes the breakpoints. The BPF programs go
 * earlier. */
static unsigned count_detachers(void)
{
	static const char detacher[] = "(memtrace-detach) ";
	DIR *dir = opendir("/proc");
	unsigned found = 0;

	if (!dir)
		live_fail("cannot list /proc");
	for (const struct dirent *entry; (entry = readdir(dir));) {
		char path[300], line[64];
		const char *name;
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%s/stat", entry->d_name);
		if (!isdigit((unsigned char)entry->d_name[0]) ||
		    !(file = fopen(path, "re")))
			continue;
		/* A zombie has closed its perf events: their breakpoints are gone. */
		found += fgets(line, sizeof(line), file) && (name = strchr(line, '(')) &&
			 !strncmp(name, detacher, strlen(detacher)) &&
			 name[strlen(detacher)] != 'Z';
		fclose(file);
	}
	closedir(dir);
	return found;
}

/* The kernel takes 0.1 s for each probe of a perf event, and longer on a busy machine. */
#define GRACE_S 30

bool probes_gone(const struct probes *before)
{
	double until_s = live_now_s() + GRACE_S;

	for (;;) {
		struct probes *now = probes_find();
		unsigned programs = count_new(now->programs, now->program_count,
					      before->programs, before->program_count);
		unsigned links = count_new(now->links, now->link_count, before->links,
					   before->link_count);
		unsigned events = now->events;
		unsigned detachers = count_detachers();

		probes_destroy(now);
		if (!programs && !links && !detachers && events <= before->events)
			return true;
		if (live_now_s() > until_s) {
			fprintf(stderr,
				"left behind: %u programs, %u links, %u processes; "
				"uprobe_events has %u lines, before %u\n",
				programs, links, detachers, events, before->events);
			return false;
		}
		live_sleep(0.05);
	}
}
