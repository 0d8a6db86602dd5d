// SPDX-License-Identifier: Apache-2.0
#include "live/trampoline.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "check.h"
#include "live/live.h"

#define STOP_TIMEOUT_S 30
/* Bytes of stack that are searched. The targets use less. */
#define STACK_MAX_BYTES (1 << 20)

/* Finds the mapping with this name. `name` NULL: the mapping that contains `address`. */
static bool find_mapping(pid_t pid, const char *name, uint64_t address, uint64_t *start,
			 uint64_t *end)
{
	char path[64], line[4352];
	bool found = false;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);

	FILE *file = fopen(path, "re");

	while (file && !found && fgets(line, sizeof(line), file)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "%" SCNx64 "-%" SCNx64, start, end) != 2)
			continue;

		size_t length = strlen(line), name_length = name ? strlen(name) : 0;

		found = name ? length > name_length &&
					!strcmp(line + length - name_length, name)
			     : *start <= address && address < *end;
	}
	if (file)
		fclose(file);
	return found;
}

/* Reads one line of /proc/PID/task/TID/NAME. False if the thread has ended. */
static bool read_task(pid_t pid, const char *tid, const char *name, char *line,
		      size_t size)
{
	char path[300];

	snprintf(path, sizeof(path), "/proc/%d/task/%s/%s", (int)pid, tid, name);

	FILE *file = fopen(path, "re");
	bool is_read = file && fgets(line, (int)size, file);

	if (file)
		fclose(file);
	return is_read;
}

static bool is_stopped(pid_t pid, const char *tid)
{
	char line[512];

	if (!read_task(pid, tid, "stat", line, sizeof(line)))
		return true;

	const char *state = strrchr(line, ')');

	return state && strchr("TtZX", state[2]);
}

/* Reads the stack pointer of a stopped thread: the last word but one of "syscall"
 * (proc_pid_syscall(5)). */
static bool read_sp(pid_t pid, const char *tid, uint64_t *sp)
{
	char line[512], *space;

	if (!read_task(pid, tid, "syscall", line, sizeof(line)))
		return false;
	line[strcspn(line, "\n")] = '\0';
	space = strrchr(line, ' ');
	if (!space)
		return false;
	*space = '\0';
	space = strrchr(line, ' ');
	return space && sscanf(space, " %" SCNx64, sp) == 1;
}

static unsigned count_words(pid_t pid, uint64_t from, uint64_t to, uint64_t word)
{
	static uint64_t words[STACK_MAX_BYTES / sizeof(uint64_t)];
	size_t size = to - from < sizeof(words) ? to - from : sizeof(words);
	unsigned found = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);

	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : pread(fd, words, size, (off_t)from);

	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i < n / (ssize_t)sizeof(*words); i++)
		found += words[i] == word;
	return found;
}

static unsigned count_in_thread(pid_t pid, const char *tid, uint64_t trampoline)
{
	uint64_t sp, start, end;

	if (!read_sp(pid, tid, &sp) || !find_mapping(pid, NULL, sp, &start, &end))
		return 0;
	return count_words(pid, (sp + 7) & ~(uint64_t)7, end, trampoline);
}

/* Calls `visit` for each thread and returns the sum of its results. */
static unsigned sum_threads(pid_t pid,
			    unsigned (*visit)(pid_t pid, const char *tid, uint64_t value),
			    uint64_t value)
{
	char path[64];
	unsigned sum = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);

	DIR *folder = opendir(path);
	const struct dirent *entry;

	while (folder && (entry = readdir(folder)))
		if (entry->d_name[0] != '.')
			sum += visit(pid, entry->d_name, value);
	if (folder)
		closedir(folder);
	return sum;
}

static unsigned runs(pid_t pid, const char *tid, uint64_t unused)
{
	(void)unused;
	return !is_stopped(pid, tid);
}

static void await_stop(pid_t pid)
{
	double until_s = live_now_s() + STOP_TIMEOUT_S;

	while (sum_threads(pid, runs, 0)) {
		if (live_now_s() > until_s)
			live_fail("process %d does not stop", (int)pid);
		live_sleep(0.0002);
	}
}

unsigned trampoline_found(pid_t pid)
{
	uint64_t start, end;
	unsigned found = 0;

	if (kill(pid, SIGSTOP))
		return 0;
	await_stop(pid);
	if (find_mapping(pid, "[uprobes]", 0, &start, &end))
		found = sum_threads(pid, count_in_thread, start);
	kill(pid, SIGCONT);
	return found;
}

int trampoline_open(pid_t tid)
{
	FILE *file =
		fopen("/sys/kernel/tracing/events/syscalls/sys_enter_uretprobe/id", "re");
	struct perf_event_attr attr = {
		.type = PERF_TYPE_TRACEPOINT, .size = sizeof(attr), .inherit = 1};
	unsigned long id = 0;

	if (!file || fscanf(file, "%lu", &id) != 1) {
		CHECK_NOT_FOR_KERNEL("returns through the trampoline are not counted");
		if (file)
			fclose(file);
		return -1;
	}
	fclose(file);
	attr.config = id;

	int fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1,
			      PERF_FLAG_FD_CLOEXEC);

	/* Not memtrace's own processes: memtrace tests the kernel's trampoline with a
	 * child. */
	if (fd < 0 || ioctl(fd, PERF_EVENT_IOC_SET_FILTER, "comm != \"memtrace\""))
		live_fail("cannot count system calls: %s", strerror(errno));
	return fd;
}

uint64_t trampoline_returns(int fd)
{
	uint64_t count;

	if (read(fd, &count, sizeof(count)) != sizeof(count))
		live_fail("cannot read the count of system calls");
	return count;
}

static bool has_return_probe(const char *path)
{
	char line[256];
	bool found = false;
	FILE *file = fopen(path, "re");

	while (file && !found && fgets(line, sizeof(line), file))
		found = strstr(line, "uretprobe_multi") != NULL;
	if (file)
		fclose(file);
	return found;
}

unsigned trampoline_links(pid_t pid)
{
	char path[320];
	unsigned links = 0;

	snprintf(path, sizeof(path), "/proc/%d/fdinfo", (int)pid);

	DIR *dir = opendir(path);

	if (!dir)
		live_fail("cannot list %s", path);
	for (const struct dirent *entry; (entry = readdir(dir));) {
		snprintf(path, sizeof(path), "/proc/%d/fdinfo/%s", (int)pid,
			 entry->d_name);
		links += entry->d_name[0] != '.' && has_return_probe(path);
	}
	closedir(dir);
	return links;
}
