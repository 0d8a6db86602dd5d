// SPDX-License-Identifier: Apache-2.0
#include "target/proc.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "target/elf.h"
#include "target/maps.h"
#include "target/procfs.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct proc *, proc_close);

static struct error *no_such_process(int pid)
{
	return error_create(ERROR_NOT_FOUND, "no process has the pid %d", pid);
}

static struct error *gone(const struct proc *proc)
{
	return error_create(ERROR_GONE, "process %d (%s) has exited", proc->pid,
			    proc->command);
}

/* /proc/PID/<name> could not be read: say why in terms of the process. */
static struct error *access_error(const struct proc *proc, const char *name, int err)
{
	if (err == ENOMEM)
		return error_no_memory();
	if (err == ESRCH || proc_has_exited(proc))
		return gone(proc);
	if (err == EACCES || err == EPERM) {
		struct stat st;
		char path[32];

		snprintf(path, sizeof(path), "/proc/%d", proc->pid);
		if (stat(path, &st) == 0 && st.st_uid != geteuid())
			return error_create(ERROR_PERMISSION,
					    "process %d (%s) belongs to uid %u: run as "
					    "root or with CAP_SYS_PTRACE",
					    proc->pid, proc->command,
					    (unsigned)st.st_uid);
		return error_create(
			ERROR_PERMISSION,
			"process %d (%s) does not let /proc/%d/%s be read: run as %s "
			"or with CAP_SYS_PTRACE",
			proc->pid, proc->command, proc->pid, name,
			geteuid() ? "root" : "root outside of this container");
	}
	/* The process is there and its directory is not. */
	if (err == ENOENT)
		return error_create(
			ERROR_PERMISSION,
			"process %d has no visible /proc/%d/%s (/proc mounted "
			"with hidepid?): run as root or with CAP_SYS_PTRACE",
			proc->pid, proc->pid, name);
	return error_errno(ERROR_IO, err, "cannot read /proc/%d/%s", proc->pid, name);
}

static struct error *open_pidfd(struct proc *proc)
{
	proc->pidfd = (int)syscall(SYS_pidfd_open, proc->pid, 0);
	if (proc->pidfd >= 0)
		return NULL;

	_cleanup_(freep) char *status = NULL;
	int err = errno;
	uint64_t tgid;
	size_t size;

	switch (err) {
	case ESRCH:
		return no_such_process(proc->pid);
	case EINVAL: /* a thread that does not lead its process; since 6.15 ENOENT */
	case ENOENT:
		if (procfs_read(proc->pid, "status", PROCFS_SMALL_BYTES, &status,
				&size) ||
		    !procfs_status_number(status, "Tgid:", 10, &tgid))
			return no_such_process(proc->pid);
		return error_create(ERROR_UNSUPPORTED,
				    "%d is a thread of process %" PRIu64
				    ": trace the process with --pid %" PRIu64,
				    proc->pid, tgid, tgid);
	case ENOSYS:
		return error_create(
			ERROR_UNSUPPORTED,
			"this kernel has no pidfd_open(2), or a sandbox hides "
			"it: Linux 5.3 or newer is needed");
	default:
		return error_errno(ERROR_IO, err, "pidfd_open for process %d", proc->pid);
	}
}

static struct error *read_command(struct proc *proc)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;
	int err = procfs_read(proc->pid, "comm", PROCFS_SMALL_BYTES, &text, &size);

	if (err)
		return access_error(proc, "comm", err);
	/* One newline is the kernel's; a task may put others into its name. */
	if (size && text[size - 1] == '\n')
		text[size - 1] = '\0';
	snprintf(proc->command, sizeof(proc->command), "%s", text);
	return NULL;
}

static struct error *read_namespace_pid(struct proc *proc)
{
	_cleanup_(freep) char *text = NULL;
	size_t size;
	int err = procfs_read(proc->pid, "status", PROCFS_SMALL_BYTES, &text, &size);

	if (err)
		return access_error(proc, "status", err);
	proc->namespace_pid = procfs_namespace_pid(text);
	return NULL;
}

/* Refuse tasks that are no running program. */
static struct error *check_kind(const struct proc *proc)
{
	_cleanup_(freep) char *text = NULL;
	struct procfs_stat st;
	size_t size;
	int err = procfs_read(proc->pid, "stat", PROCFS_SMALL_BYTES, &text, &size);

	if (err)
		return access_error(proc, "stat", err);
	if (!procfs_parse_stat(text, &st))
		return error_create(ERROR_MALFORMED, "/proc/%d/stat is malformed",
				    proc->pid);
	if (st.flags & PROCFS_PF_KTHREAD)
		return error_create(
			ERROR_UNSUPPORTED,
			"%d (%s) is a kernel thread: it has no user memory to "
			"trace",
			proc->pid, proc->command);
	if (st.state != 'Z' && st.state != 'X')
		return NULL;
	if (st.thread_count > 1)
		return error_create(ERROR_UNSUPPORTED,
				    "the main thread of process %d (%s) has exited while "
				    "others run on: such a process cannot be traced",
				    proc->pid, proc->command);
	return error_create(ERROR_GONE,
			    "process %d (%s) is a zombie: it has exited and waits to be "
			    "reaped by its parent",
			    proc->pid, proc->command);
}

static struct error *read_executable(struct proc *proc)
{
	char link[32], target[PATH_MAX];

	snprintf(link, sizeof(link), "/proc/%d/exe", proc->pid);

	ssize_t len = readlink(link, target, sizeof(target));
	if (len < 0) {
		/* The path of a file may be longer than readlink() can give. */
		if (errno == ENAMETOOLONG)
			return NULL;
		return access_error(proc, "exe", errno);
	}
	proc->executable = strndup(target, (size_t)len);
	return proc->executable ? NULL : error_no_memory();
}

/* Refuse programs of another word size or machine. */
static struct error *check_executable(const struct proc *proc)
{
	_cleanup_(error_destroyp) struct error *err = NULL;
	struct elf_file *file = NULL;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", proc->pid);
	err = elf_file_open(path, &file);
	elf_file_close(file);
	if (!err)
		return NULL;
	if (err->saved_errno)
		return access_error(proc, "exe", err->saved_errno);
	if (err->code == ERROR_NO_MEMORY)
		return take(err);
	return error_create(err->code, "process %d (%s) cannot be traced: %s", proc->pid,
			    proc->command, err->message);
}

struct error *proc_open(int pid, struct proc **ret)
{
	if (pid <= 0)
		return no_such_process(pid);
	if (pid == getpid())
		return error_create(ERROR_UNSUPPORTED,
				    "%d is memtrace itself: name another process", pid);

	_cleanup_(proc_closep) struct proc *proc = calloc(1, sizeof(*proc));
	if (!proc)
		return error_no_memory();
	proc->pid = pid;
	proc->pidfd = -1;

	/* First, so that everything read after it is of this process or it has exited. */
	struct error *err = open_pidfd(proc);
	if (!err)
		err = read_command(proc);
	if (!err)
		err = check_kind(proc);
	if (!err)
		err = read_namespace_pid(proc);
	if (!err)
		err = read_executable(proc);
	if (!err)
		err = check_executable(proc);
	if (!err && proc_has_exited(proc))
		err = gone(proc);
	if (err)
		return err;
	*ret = take(proc);
	return NULL;
}

void proc_close(struct proc *proc)
{
	if (!proc)
		return;
	closep(&proc->pidfd);
	free(proc->executable);
	free(proc);
}

void proc_let_go(struct proc *proc)
{
	closep(&proc->pidfd);
	proc->pidfd = -1;
}

static bool exits_within(const struct proc *proc, int timeout_ms)
{
	struct pollfd fd = {.fd = proc->pidfd, .events = POLLIN};

	return proc->pidfd < 0 || poll(&fd, 1, timeout_ms) > 0;
}

bool proc_has_exited(const struct proc *proc)
{
	return exits_within(proc, 0);
}

/* So long it may take from the loss of its files to its exit. */
#define EXIT_MS 100

bool proc_exits(const struct proc *proc)
{
	char path[32], root[1];

	snprintf(path, sizeof(path), "/proc/%d/root", proc->pid);
	return readlink(path, root, sizeof(root)) < 0 ? exits_within(proc, EXIT_MS)
						      : proc_has_exited(proc);
}

struct error *proc_read_maps(const struct proc *proc, struct proc_maps *ret)
{
	_cleanup_(freep) char *text = NULL;
	struct proc_maps maps = {0};
	char root[32];
	size_t size;

	int errnum = procfs_read(proc->pid, "maps", PROCFS_MAPS_BYTES, &text, &size);
	if (errnum)
		return access_error(proc, "maps", errnum);
	/* An exiting process has no memory left. */
	if (!size || proc_has_exited(proc))
		return gone(proc);

	snprintf(root, sizeof(root), "/proc/%d/root", proc->pid);
	struct error *err = maps_parse(text, size, &maps);
	if (!err)
		err = maps_settle_names(root, &maps);
	if (err) {
		proc_maps_deinit(&maps);
		return error_prefix(err, "process %d (%s)", proc->pid, proc->command);
	}
	*ret = maps;
	return NULL;
}

struct error *proc_read_memory(const struct proc *proc, struct proc_memory *ret)
{
	_cleanup_(freep) char *text = NULL;
	struct proc_memory memory = {0};
	const struct {
		const char *key;
		uint64_t *bytes;
	} rows[] = {
		{"VmSize:", &memory.vm_size_bytes},
		{"VmRSS:", &memory.vm_rss_bytes},
		{"VmData:", &memory.vm_data_bytes},
		{"VmHWM:", &memory.vm_hwm_bytes},
	};
	size_t size;

	int err = procfs_read(proc->pid, "status", PROCFS_SMALL_BYTES, &text, &size);
	if (err)
		return access_error(proc, "status", err);
	/* A zombie's status has none of the lines. */
	if (proc_has_exited(proc))
		return gone(proc);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t kib;

		if (procfs_status_number(text, rows[i].key, 10, &kib) &&
		    kib <= UINT64_MAX / 1024)
			*rows[i].bytes = kib * 1024;
	}
	*ret = memory;
	return NULL;
}

uint64_t proc_image(const struct proc *proc)
{
	unsigned char auxv[1024];
	char path[64];
	struct stat st;
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	snprintf(path, sizeof(path), "/proc/%d/exe", proc->pid);
	if (stat(path, &st))
		return 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", proc->pid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));

	if (n <= 0)
		return 0;
	for (ssize_t i = 0; i < n; i++)
		hash = (hash ^ auxv[i]) * 0x100000001b3;
	hash = (hash ^ st.st_dev) * 0x100000001b3;
	hash = (hash ^ st.st_ino) * 0x100000001b3;
	return hash ? hash : 1;
}

bool proc_has_thread(int pid, uint32_t tid)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32, pid, tid);
	return access(path, F_OK) == 0;
}

bool proc_thread_name(int pid, uint32_t tid, char ret[PROC_COMM_SIZE])
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%" PRIu32 "/comm", pid, tid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size;

	memset(ret, 0, PROC_COMM_SIZE);
	size = fd < 0 ? -1 : read(fd, ret, PROC_COMM_SIZE);
	if (size <= 0)
		return false;
	/* The newline that the kernel adds, and nothing else. */
	ret[size - 1] = 0;
	return true;
}

struct error *proc_mapping_path(const struct proc *proc,
				const struct proc_mapping *mapping, char **ret)
{
	_cleanup_(freep) char *by_name = NULL;
	_cleanup_(freep) char *by_range = NULL;
	struct stat st;
	char root[32];

	if (mapping->path[0] != '/')
		return error_create(ERROR_NOT_FOUND,
				    "process %d (%s) has no file mapped at 0x%" PRIx64,
				    proc->pid, proc->command, mapping->start);

	snprintf(root, sizeof(root), "/proc/%d/root", proc->pid);
	if (asprintf(&by_name, "%s%s", root, mapping->path) < 0) {
		by_name = NULL;
		return error_no_memory();
	}
	if (!mapping->deleted && maps_same_file(root, mapping->path, mapping)) {
		*ret = take(by_name);
		return NULL;
	}

	if (asprintf(&by_range, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, proc->pid,
		     mapping->start, mapping->end) < 0) {
		by_range = NULL;
		return error_no_memory();
	}
	if (stat(by_range, &st) == 0) {
		*ret = take(by_range);
		return NULL;
	}

	int err = errno;

	if (proc_has_exited(proc))
		return gone(proc);
	if (err == ENOENT)
		return error_create(ERROR_NOT_FOUND,
				    "process %d (%s) no longer maps %s at 0x%" PRIx64,
				    proc->pid, proc->command, mapping->path,
				    mapping->start);
	if (err == EPERM)
		return error_create(
			ERROR_PERMISSION,
			"%s, mapped by process %d (%s), was deleted or replaced "
			"and can be opened through /proc/%d/map_files only: run "
			"as root or with CAP_SYS_ADMIN and CAP_SYS_PTRACE",
			mapping->path, proc->pid, proc->command, proc->pid);
	return access_error(proc, "map_files", err);
}
