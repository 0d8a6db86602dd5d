// SPDX-License-Identifier: Apache-2.0
#include "process/privileges.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "process/proc.h"
#include "process/procfs.h"
#include "util/cleanup.h"
#include "util/locked_memory.h"

/* include/uapi/linux/capability.h; headers before 5.8 lack the last two. */
#define NUMBER_SYS_PTRACE 19u
#define NUMBER_SYS_ADMIN  21u
#define NUMBER_PERFMON    38u
#define NUMBER_BPF        39u

/* Create an ARRAY map of one element: the cheapest request that passes every check (the
 * system call, seccomp, and the capabilities, in the initial user namespace). */
static int try_bpf(void)
{
	union bpf_attr attr;
	struct rlimit before;

	memset(&attr, 0, sizeof(attr));
	attr.map_type = BPF_MAP_TYPE_ARRAY;
	attr.key_size = 4;
	attr.value_size = 4;
	attr.max_entries = 1;
	locked_memory_lift(&before);

	_cleanup_(closep) int fd =
		(int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	int err = fd < 0 ? errno : 0;

	locked_memory_restore(&before);
	return err;
}

static bool exists(const char *path)
{
	return access(path, F_OK) == 0;
}

static unsigned read_last_capability(void)
{
	_cleanup_(fclosep) FILE *f = fopen("/proc/sys/kernel/cap_last_cap", "re");
	unsigned last;

	/* Every kernel since 3.2 has the file; without it assume a current one. */
	return f && fscanf(f, "%u", &last) == 1 ? last : NUMBER_BPF;
}

struct error *privileges_read(struct privileges *ret)
{
	_cleanup_(freep) char *status = NULL;
	size_t size;
	int err = procfs_read(getpid(), "status", PROCFS_SMALL_BYTES, &status, &size);

	if (err)
		return error_errno(ERROR_IO, err, "cannot read /proc/self/status");
	*ret = (struct privileges){
		.last_capability = read_last_capability(),
		.is_root = geteuid() == 0,
		.bpf_errno = try_bpf(),
		.sys_missing = !exists("/sys/bus/event_source/devices"),
		.has_uprobes = exists("/sys/bus/event_source/devices/uprobe/type") ||
			       exists("/sys/kernel/tracing/uprobe_events") ||
			       exists("/sys/kernel/debug/tracing/uprobe_events"),
	};
	if (!procfs_status_number(status, "CapEff:", 16, &ret->capabilities))
		return error_create(ERROR_MALFORMED,
				    "/proc/self/status has no CapEff line");
	return NULL;
}

static bool has(const struct privileges *p, unsigned number)
{
	return p->capabilities >> number & 1;
}

static struct error *judge_capabilities(const struct privileges *p)
{
	/* Before 5.8 CAP_SYS_ADMIN covered both. */
	bool split = p->last_capability >= NUMBER_BPF;
	bool admin = has(p, NUMBER_SYS_ADMIN);
	const struct {
		const char *name;
		bool missing;
	} rows[] = {
		{"CAP_BPF", split && !admin && !has(p, NUMBER_BPF)},
		{"CAP_PERFMON", split && !admin && !has(p, NUMBER_PERFMON)},
		{"CAP_SYS_ADMIN", !split && !admin},
		{"CAP_SYS_PTRACE", !has(p, NUMBER_SYS_PTRACE)},
	};
	char names[128] = "";
	size_t len = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (rows[i].missing)
			len += (size_t)snprintf(names + len, sizeof(names) - len, "%s%s",
						len ? ", " : "", rows[i].name);
	if (!len)
		return NULL;
	return error_create(
		ERROR_PERMISSION, "tracing needs root%s (%s are enough; missing: %s)",
		p->is_root ? " outside of this sandbox or container" : ": try sudo",
		split ? "CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"
		      : "CAP_SYS_ADMIN and CAP_SYS_PTRACE",
		names);
}

struct error *privileges_judge(const struct privileges *p)
{
	if (p->bpf_errno == ENOSYS)
		return error_create(
			ERROR_UNSUPPORTED,
			"this kernel has no BPF (bpf(2) is not implemented): a "
			"kernel with CONFIG_BPF_SYSCALL is needed");
	if (!p->sys_missing && !p->has_uprobes)
		return error_create(
			ERROR_UNSUPPORTED,
			"this kernel has no uprobes (no "
			"/sys/bus/event_source/devices/uprobe): a kernel with "
			"CONFIG_UPROBE_EVENTS is needed");

	struct error *err = judge_capabilities(p);
	if (err)
		return err;
	if (p->bpf_errno == EPERM || p->bpf_errno == EACCES)
		return error_create(
			ERROR_PERMISSION,
			"bpf(2) is refused in spite of the capabilities, by a "
			"seccomp filter, because they hold in a user namespace "
			"only, or before Linux 5.11 by the memory lock limit "
			"(ulimit -l): run as root outside of this sandbox or "
			"container");
	if (p->bpf_errno)
		return error_errno(ERROR_UNSUPPORTED, p->bpf_errno,
				   "the kernel refused to make a BPF map");
	return NULL;
}

struct error *proc_check_privileges(void)
{
	struct privileges privileges;
	struct error *err = privileges_read(&privileges);

	return err ? err : privileges_judge(&privileges);
}
