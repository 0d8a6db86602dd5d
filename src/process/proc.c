// SPDX-License-Identifier: Apache-2.0
#include "process/proc.h"

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
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "elf/elf.h"
#include "process/live_thread.h"
#include "process/maps_files.h"
#include "process/procfs.h"
#include "process/stand_in.h"
#include "process/timed_read.h"
#include "util/cleanup.h"
#include "util/units.h"

DEFINE_CLEANUP(struct proc *, proc_close);

/* A descriptor of the root directory. It stays valid when the thread exits through
 * which it was opened. */
struct proc_root {
	int fd; /* of the root directory; -1: not opened yet */
};

static struct error *no_such_process(int pid)
{
	return error_create(ERROR_NOT_FOUND, "no process has the pid %d", pid);
}

struct error *proc_gone(const struct proc *proc)
{
	return error_create(ERROR_GONE, "process %d (%s) has exited", proc->pid,
			    proc->command);
}

static bool is_without_memory(int pid)
{
	char path[32];
	struct stat st;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	return stat(path, &st) == 0 && live_thread_stat(pid, "exe", &st) < 0 &&
	       errno == ENOENT;
}

struct error *proc_access_error(const struct proc *proc, const char *name, int err)
{
	if (err == ENOMEM)
		return error_no_memory();
	if (err == ESRCH || proc_has_exited(proc))
		return proc_gone(proc);
	if (err == ETIMEDOUT)
		return error_errno(ERROR_IO, err,
				   "process %d (%s) holds the lock of its address space, "
				   "as in mmap() of a file whose server does not answer",
				   proc->pid, proc->command);
	if (err == EACCES || err == EPERM) {
		struct error *missing = proc_check_privileges();
		struct stat st;
		char path[32];

		/* That says everything that is missing, not only what /proc needs. */
		if (missing)
			return missing;

		snprintf(path, sizeof(path), "/proc/%d", proc->pid);
		if (stat(path, &st) == 0 && st.st_uid != geteuid())
			return error_create(ERROR_PERMISSION,
					    "process %d (%s) belongs to uid %u: run as "
					    "root or with CAP_SYS_PTRACE",
					    proc->pid, proc->command,
					    (unsigned)st.st_uid);
		return error_create(ERROR_PERMISSION,
				    "process %d (%s): permission to read /proc/%d/%s is "
				    "missing: run as %s or with CAP_SYS_PTRACE",
				    proc->pid, proc->command, proc->pid, name,
				    geteuid() ? "root"
					      : "root outside of this container");
	}
	/* Only a process without memory has a directory without an executable. */
	if (err == ENOENT && is_without_memory(proc->pid))
		return proc_gone(proc);
	/* The process exists, but its directory is hidden. */
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
	case EINVAL: /* not a thread group leader; ENOENT since 6.15 */
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
		return proc_access_error(proc, "comm", err);
	/* The kernel adds one newline; the name itself may contain more. */
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
		return proc_access_error(proc, "status", err);
	proc->namespace_pid = procfs_namespace_pid(text);
	return NULL;
}

/* Refuse kernel threads and zombies. */
static struct error *check_kind(const struct proc *proc)
{
	_cleanup_(freep) char *text = NULL;
	struct procfs_stat st;
	size_t size;
	int err = procfs_read(proc->pid, "stat", PROCFS_SMALL_BYTES, &text, &size);

	if (err)
		return proc_access_error(proc, "stat", err);
	if (!procfs_parse_stat(text, &st))
		return error_create(ERROR_MALFORMED, "/proc/%d/stat is malformed",
				    proc->pid);
	if (st.flags & PROCFS_PF_KTHREAD)
		return error_create(
			ERROR_UNSUPPORTED,
			"%d (%s) is a kernel thread: it has no user memory to "
			"trace",
			proc->pid, proc->command);
	/* If the main thread is a zombie but others run, their files and memory are
	 * used. */
	if ((st.state != 'Z' && st.state != 'X') || st.thread_count > 1)
		return NULL;
	return error_create(ERROR_GONE,
			    "process %d (%s) is a zombie: it has exited and waits to be "
			    "reaped by its parent",
			    proc->pid, proc->command);
}

static struct error *read_executable(struct proc *proc)
{
	char target[PATH_MAX];
	ssize_t len = live_thread_readlink(proc->pid, "exe", target, sizeof(target));

	if (len < 0) {
		/* The path may be longer than readlink() can return. */
		if (errno == ENAMETOOLONG)
			return NULL;
		return proc_access_error(proc, "exe", errno);
	}
	proc->executable = strndup(target, (size_t)len);
	return proc->executable ? NULL : error_no_memory();
}

/* Refuse programs for another word size or machine. */
static struct error *check_executable(const struct proc *proc)
{
	_cleanup_(error_destroyp) struct error *err = NULL;
	struct live_thread live = live_thread_begin(proc->pid);
	struct elf_file *file = NULL;
	char path[32];

	do {
		error_destroy(err);
		snprintf(path, sizeof(path), "/proc/%d/exe", live.tid);
		err = elf_file_open(path, &file);
	} while (err && live_thread_retry(&live));
	elf_file_close(file);
	if (!err)
		return NULL;
	if (err->saved_errno)
		return proc_access_error(proc, "exe", err->saved_errno);
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
	proc->root = calloc(1, sizeof(*proc->root));
	if (!proc->root)
		return error_no_memory();
	proc->root->fd = -1;

	/* Open the pidfd first: it later shows whether everything read below was this
	 * process's. */
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
		err = proc_gone(proc);
	if (err)
		return err;
	*ret = take(proc);
	return NULL;
}

struct error *proc_adopt(int pid, int pidfd, struct proc **ret)
{
	_cleanup_(proc_closep) struct proc *proc = calloc(1, sizeof(*proc));

	if (proc) {
		proc->pid = pid;
		proc->pidfd = pidfd;
		proc->root = calloc(1, sizeof(*proc->root));
	} else {
		closep(&pidfd);
	}
	if (!proc || !proc->root)
		return error_no_memory();
	proc->root->fd = -1;
	*ret = take(proc);
	return NULL;
}

struct error *proc_adopt_stand_in(int pid, const char *command, struct stand_in *stand_in,
				  struct proc **ret)
{
	/* Serves as the pidfd. It never becomes readable, so the process never seems to
	 * exit. */
	int never_fd = eventfd(0, EFD_CLOEXEC);
	struct error *err = never_fd >= 0 ? proc_adopt(pid, never_fd, ret)
					  : error_errno(ERROR_IO, errno, "eventfd");

	if (err) {
		stand_in_destroy(stand_in);
		return err;
	}
	(*ret)->stand_in = stand_in;
	snprintf((*ret)->command, sizeof((*ret)->command), "%s", command);
	return NULL;
}

static void root_close(struct proc_root *root)
{
	closep(&root->fd);
	root->fd = -1;
}

void proc_close(struct proc *proc)
{
	if (!proc)
		return;
	stand_in_destroy(proc->stand_in);
	closep(&proc->pidfd);
	if (proc->root)
		root_close(proc->root);
	free(proc->root);
	free(proc->executable);
	free(proc);
}

void proc_rest(const struct proc *proc)
{
	root_close(proc->root);
}

void proc_let_go(struct proc *proc)
{
	closep(&proc->pidfd);
	proc->pidfd = -1;
	root_close(proc->root);
}

static bool exits_within(const struct proc *proc, int timeout_ms)
{
	struct pollfd fd = {.fd = proc->pidfd, .events = POLLIN};

	return proc->pidfd < 0 || poll(&fd, 1, timeout_ms) > 0;
}

bool proc_is_debugged(const struct proc *proc)
{
	_cleanup_(freep) char *status = NULL;
	uint64_t tracer;
	size_t size;

	return procfs_read(proc->pid, "status", PROCFS_SMALL_BYTES, &status, &size) ||
	       !procfs_status_number(status, "TracerPid:", 10, &tracer) ||
	       (tracer && tracer != (uint64_t)getpid());
}

bool proc_has_exited(const struct proc *proc)
{
	return exits_within(proc, 0);
}

bool proc_has_lost_memory(const struct proc *proc)
{
	return (!proc->stand_in && is_without_memory(proc->pid)) || proc_has_exited(proc);
}

/* Longest time from the loss of the files to the exit. */
#define EXIT_MS 100

bool proc_exits(const struct proc *proc)
{
	char root[1];

	return live_thread_readlink(proc->pid, "root", root, sizeof(root)) < 0
		       ? exits_within(proc, EXIT_MS)
		       : proc_has_exited(proc);
}

struct error *proc_parse_maps(const struct proc *proc, const struct maps_text *text,
			      struct proc_maps *ret)
{
	*ret = (struct proc_maps){0};
	/* An exiting process has lost its memory: the file is empty. */
	if (!text->size_bytes || proc_has_exited(proc))
		return proc_gone(proc);

	struct error *err = maps_parse(text->text, text->size_bytes, ret);
	if (!err)
		err = maps_settle_names(proc_root_fd(proc), ret);
	if (!err)
		return NULL;
	proc_maps_deinit(ret);
	return error_prefix(err, "process %d (%s)", proc->pid, proc->command);
}

/* Read the mappings from /proc/<tid>. */
static struct error *read_maps_of(const struct proc *proc, int tid, struct proc_maps *ret)
{
	struct maps_text text = {0};
	int errnum = timed_read_maps(proc->pid, tid, PROCFS_MAPS_BYTES, &text.text,
				     &text.size_bytes);
	struct error *err = errnum ? proc_access_error(proc, "maps", errnum)
				   : proc_parse_maps(proc, &text, ret);

	free(text.text);
	return err;
}

struct error *proc_read_maps(const struct proc *proc, struct proc_maps *ret)
{
	if (proc->stand_in)
		return stand_in_maps(proc->stand_in, ret);

	struct live_thread live = live_thread_begin(proc->pid);
	struct error *err = NULL;

	do {
		error_destroy(err);
		err = read_maps_of(proc, live.tid, ret);
	} while (err && live_thread_retry(&live));
	return err;
}

struct error *proc_read_ranges(int tid, struct proc_maps *ret)
{
	_cleanup_(freep) char *text = NULL;
	struct proc_maps maps = {0};
	struct error *err;
	size_t size;
	int errnum = procfs_read(tid, "maps", PROCFS_MAPS_BYTES, &text, &size);

	if (errnum || !size)
		return error_errno(ERROR_GONE, errnum ? errnum : ESRCH,
				   "cannot read /proc/%d/maps", tid);
	err = maps_parse(text, size, &maps);
	if (err) {
		proc_maps_deinit(&maps);
		return error_prefix(err, "process %d", tid);
	}
	*ret = maps;
	return NULL;
}

static bool has_memory_use(const char *status)
{
	return status && strstr(status, "\nVmRSS:");
}

/* Read the status of a thread that has the memory: nearly always the main thread. Returns
 * an errno value. */
static int read_status_with_memory(int pid, char **ret)
{
	size_t size;
	int err = procfs_read(pid, "status", PROCFS_SMALL_BYTES, ret, &size);
	struct live_thread live;

	if (has_memory_use(*ret))
		return err;
	live = live_thread_begin(pid);
	do {
		freep(ret);
		*ret = NULL;
		err = procfs_read(live.tid, "status", PROCFS_SMALL_BYTES, ret, &size);
	} while (!has_memory_use(*ret) && live_thread_retry(&live));
	return err;
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
		{"RssAnon:", &memory.rss_anon_bytes},
		{"RssFile:", &memory.rss_file_bytes},
		{"RssShmem:", &memory.rss_shmem_bytes},
	};
	int err = read_status_with_memory(proc->pid, &text);

	if (err)
		return proc_access_error(proc, "status", err);
	/* A zombie's status lacks these lines. */
	if (proc_has_exited(proc))
		return proc_gone(proc);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t kib;

		if (procfs_status_number(text, rows[i].key, 10, &kib) &&
		    kib <= UINT64_MAX / 1024)
			*rows[i].bytes = kib * 1024;
	}
	memory.stop = stop_state_parse(text);
	*ret = memory;
	return NULL;
}

uint64_t proc_image(const struct proc *proc)
{
	unsigned char auxv[1024];
	struct stat st;
	uint64_t hash = 0xcbf29ce484222325; /* FNV-1a */

	if (live_thread_stat(proc->pid, "exe", &st))
		return 0;

	_cleanup_(closep) int fd =
		live_thread_open(proc->pid, "auxv", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, auxv, sizeof(auxv));

	if (n <= 0)
		return 0;
	for (ssize_t i = 0; i < n; i++)
		hash = (hash ^ auxv[i]) * 0x100000001b3;
	hash = (hash ^ st.st_dev) * 0x100000001b3;
	hash = (hash ^ st.st_ino) * 0x100000001b3;
	return hash ? hash : 1;
}

int proc_next(DIR *proc)
{
	for (struct dirent *entry; (entry = readdir(proc));) {
		uint64_t pid;

		if (units_parse_integer(entry->d_name, 1, INT32_MAX, &pid))
			return (int)pid;
	}
	return 0;
}

bool proc_is_our_child(int pid)
{
	_cleanup_(freep) char *text = NULL;
	struct procfs_stat st;
	size_t size;

	return !procfs_read(pid, "stat", PROCFS_SMALL_BYTES, &text, &size) &&
	       procfs_parse_stat(text, &st) && st.parent == getpid();
}

bool proc_has_our_root(int pid)
{
	struct stat theirs, ours;

	return !live_thread_stat(pid, "ns/mnt", &theirs) &&
	       !stat("/proc/self/ns/mnt", &ours) && theirs.st_ino == ours.st_ino &&
	       !live_thread_stat(pid, "root", &theirs) && !stat("/", &ours) &&
	       theirs.st_dev == ours.st_dev && theirs.st_ino == ours.st_ino;
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
	/* Remove the newline that the kernel adds. */
	ret[size - 1] = 0;
	return true;
}

/* Opened again each time: chroot(2) may have changed the root directory. */
int proc_root_fd(const struct proc *proc)
{
	if (proc->stand_in)
		return stand_in_root_fd(proc->stand_in);

	struct proc_root *root = proc->root;
	int fd = live_thread_open(proc->pid, "root", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd >= 0 && root->fd < 0) {
		root->fd = fd;
	} else if (fd >= 0) {
		dup3(fd, root->fd, O_CLOEXEC);
		close(fd);
	}
	return root->fd;
}
