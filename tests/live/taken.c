// SPDX-License-Identifier: Apache-2.0
#include "live/taken.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"

struct taken taken_by(const struct live_process *process)
{
	char *status = files_read("/proc/%d/status", live_pid(process));
	const char *line = strstr(status, "VmRSS:");
	struct taken taken = {.rss_kib = line ? strtoll(line + 6, NULL, 10) : -1};
	char path[512], target[64];
	struct dirent *entry;
	DIR *folder;

	free(status);
	snprintf(path, sizeof(path), "/proc/%d/fd", live_pid(process));
	folder = opendir(path);
	REQUIRE(folder);
	while ((entry = readdir(folder))) {
		ssize_t size;

		snprintf(path, sizeof(path), "/proc/%d/fd/%s", live_pid(process),
			 entry->d_name);
		size = readlink(path, target, sizeof(target) - 1);
		if (size < 0)
			continue;
		target[size] = 0;
		taken.files++;
		taken.links += strstr(target, "bpf_link") || strstr(target, "bpf-link") ||
			       strstr(target, "perf_event");
	}
	closedir(folder);
	printf("     %u descriptors, %u of them of probes, %ld KiB\n", taken.files,
	       taken.links, (long)taken.rss_kib);
	return taken;
}
