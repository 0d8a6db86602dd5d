// SPDX-License-Identifier: Apache-2.0
#include "live/breakpoints.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

#include "check.h"

/* Counts the bytes of an executable mapping that differ from the mapped file. */
static size_t count_changed(int memory, uint64_t start, uint64_t end, uint64_t offset,
			    const char *path)
{
	static unsigned char is[1 << 16], was[1 << 16];
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t changed = 0;

	REQUIRE(file >= 0);
	for (uint64_t at = start; at < end; at += sizeof(is)) {
		size_t size = end - at < sizeof(is) ? (size_t)(end - at) : sizeof(is);
		ssize_t n = pread(memory, is, size, (off_t)at);
		ssize_t m = pread(file, was, size, (off_t)(offset + (at - start)));

		REQUIRE(n == (ssize_t)size && m >= 0);
		for (ssize_t i = 0; i < m; i++)
			changed += is[i] != was[i];
	}
	close(file);
	return changed;
}

size_t breakpoints_count(pid_t pid)
{
	char path[64], line[512], name[400];
	uint64_t start, end, offset;
	size_t changed = 0, mappings = 0;
	FILE *maps;
	int memory;

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory = open(path, O_RDONLY | O_CLOEXEC);
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	maps = fopen(path, "re");
	REQUIRE(memory >= 0 && maps);
	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " r-xp %" SCNx64 " %*s %*s %399s",
			   &start, &end, &offset, name) != 4 ||
		    name[0] != '/')
			continue;
		mappings++;
		changed += count_changed(memory, start, end, offset, name);
	}
	/* A static program has one executable mapping with a file: its own. */
	CHECK(mappings >= 1);
	fclose(maps);
	close(memory);
	return changed;
}
