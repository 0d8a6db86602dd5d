// SPDX-License-Identifier: Apache-2.0
/*
 * Makes the kernel allocate memory and hold it. Commands are lines "KIND N"; "close"
 * closes all descriptors, which frees the memory.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

/* "close" keeps the descriptors below. */
#define FIRST_FD 3

static void answer(int is_done)
{
	printf("{\"%s\":true}\n", is_done ? "done" : "error");
	fflush(stdout);
}

static int pipes(int n)
{
	int fds[2];

	while (n && !pipe(fds))
		n--;
	return !n;
}

static int files(int n)
{
	while (n && open("/dev/null", O_RDONLY) >= 0)
		n--;
	return !n;
}

static int pages(int n)
{
	static const char page[4096];
	int fd = memfd_create("pages", 0);

	while (n && write(fd, page, sizeof(page)) == sizeof(page))
		n--;
	return !n;
}

/* Makes a BPF map, which is kernel memory. Its descriptor stays open. */
static int map(enum bpf_map_type type, unsigned elements, unsigned value_bytes)
{
	union bpf_attr attr;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = type;
	attr.key_size = 4;
	attr.value_size = value_bytes;
	attr.max_entries = elements;
	return syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr)) >= 0;
}

static int large_maps(int n)
{
	while (n && map(BPF_MAP_TYPE_ARRAY, 1, 256 * 1024))
		n--;
	return !n;
}

static void *volatile block;

__attribute__((noinline)) static void site_heap(void)
{
	block = malloc(100);
}

static int blocks(int n)
{
	while (n--)
		site_heap();
	return 1;
}

static int make(const char *kind, int n)
{
	if (!strcmp(kind, "pipes"))
		return pipes(n);
	if (!strcmp(kind, "files"))
		return files(n);
	if (!strcmp(kind, "pages"))
		return pages(n);
	/* Each element takes 24 bytes on each processor. */
	if (!strcmp(kind, "percpu"))
		return map(BPF_MAP_TYPE_PERCPU_ARRAY, (unsigned)n, 24);
	if (!strcmp(kind, "heap"))
		return blocks(n);
	if (!strcmp(kind, "vmalloc"))
		return large_maps(n);
	return 0;
}

int main(void)
{
	struct rlimit limit;
	char line[64], kind[16];
	int n;

	if (getrlimit(RLIMIT_NOFILE, &limit))
		return 98;
	limit.rlim_cur = limit.rlim_max;
	if (setrlimit(RLIMIT_NOFILE, &limit))
		return 97;
	printf("{\"ready\":\"kernel_holder\"}\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		if (!strcmp(line, "close\n")) {
			int last = dup(0);

			for (int fd = FIRST_FD; fd <= last; fd++)
				close(fd);
			answer(1);
		} else if (sscanf(line, "%15s %d", kind, &n) == 2) {
			answer(make(kind, n));
		} else {
			break;
		}
	}
	return 0;
}
