// SPDX-License-Identifier: Apache-2.0
/*
 * Makes as many mappings as the kernel allows, of a file whose path has tens of thousands
 * of characters. Commands, one on each line:
 *
 *    map N         map the file N times
 *    files N       map N other files
 *    itself N      map this program N times
 *    library PATH  map the second page of a file
 *    allocate N    allocate N blocks of 64 bytes and keep them
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define FOLDERS 200

static void *volatile last;

__attribute__((noinline)) static void site_allocate(int count)
{
	while (count--)
		last = malloc(64);
}

/* Makes a file below FOLDERS nested folders, and removes the file and the folders. The
 * kernel still shows the path. */
static int deep_file(const char *top)
{
	char folder[251];
	int fd;

	memset(folder, 'd', sizeof(folder) - 1);
	folder[sizeof(folder) - 1] = '\0';
	if (chdir(top))
		return -1;
	for (int i = 0; i < FOLDERS; i++)
		if (mkdir(folder, 0700) || chdir(folder))
			return -1;
	fd = open("file", O_CREAT | O_RDWR | O_CLOEXEC, 0700);
	if (fd < 0 || ftruncate(fd, 8192) || unlink("file"))
		return -1;
	for (int i = 0; i < FOLDERS; i++)
		if (chdir("..") || rmdir(folder))
			return -1;
	return chdir("/") || rmdir(top) ? -1 : fd;
}

/* No two neighbours are contiguous in the file, so that they do not merge. */
static void map(int fd, int count)
{
	for (int i = 0; i < count; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			 i & 1 ? 4096 : 0) == MAP_FAILED)
			return;
}

static void map_itself(int count)
{
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	/* No two neighbours are contiguous in the file, so that they do not merge. */
	for (int i = 0; i < count; i++)
		if (mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			 i & 1 ? 8192 : 0) == MAP_FAILED)
			break;
	close(fd);
}

static void map_library(const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 ||
	    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 4096) == MAP_FAILED)
		_exit(97);
	close(fd);
}

/* Each mapping has its own file, unlinked at once. */
static void map_files(int count)
{
	char path[64];

	snprintf(path, sizeof(path), "/tmp/memtrace-many-%d", (int)getpid());
	for (int i = 0; i < count; i++) {
		int fd = open(path, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0700);

		if (fd < 0 || ftruncate(fd, 4096) || unlink(path) ||
		    mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0) ==
			    MAP_FAILED)
			return;
		close(fd);
	}
}

int main(int argc, char *argv[])
{
	char line[128], path[64];
	int fd = argc == 2 ? deep_file(argv[1]) : -1, count;

	if (fd < 0)
		return 98;
	setvbuf(stdout, NULL, _IOLBF, 0);
	printf("{\"ready\":\"many_maps\"}\n");
	while (fgets(line, sizeof(line), stdin)) {
		if (sscanf(line, "map %d", &count) == 1)
			map(fd, count);
		else if (sscanf(line, "files %d", &count) == 1)
			map_files(count);
		else if (sscanf(line, "itself %d", &count) == 1)
			map_itself(count);
		else if (sscanf(line, "library %63s", path) == 1)
			map_library(path);
		else if (sscanf(line, "allocate %d", &count) == 1)
			site_allocate(count);
		printf("{\"done\":true}\n");
	}
	return 0;
}
