// SPDX-License-Identifier: Apache-2.0
#include "confined/shed.h"

#include <errno.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined/filter.h"
#include "confined/landlock.h"
#include "confined/refusal.h"
#include "util/cleanup.h"
#include "util/sanitized.h"

/* include/uapi/linux/capability.h; headers before 5.9 lack the last three. */
#define NUMBER_PERFMON            38
#define NUMBER_BPF                39
#define NUMBER_CHECKPOINT_RESTORE 40

#define BIT(number)               (UINT64_C(1) << (number))

/* Output files may be in others' directories, and may replace others' files in /tmp. */
#define FOR_FILES (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER))

/* Files of others, /proc/PID/root and /proc/PID/map_files. */
#define FOR_READING                                                                      \
	(BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) | BIT(NUMBER_CHECKPOINT_RESTORE))

/* BPF programs, maps and links; SYS_ADMIN, because not all kernels were tried without. */
#define FOR_BPF (BIT(NUMBER_BPF) | BIT(NUMBER_PERFMON) | BIT(CAP_SYS_ADMIN))

/* Limits of descriptors and locked memory, and a higher priority (util/priority.h). */
#define FOR_LIMITS (BIT(CAP_SYS_RESOURCE) | BIT(CAP_IPC_LOCK) | BIT(CAP_SYS_NICE))

/* Signals to our children, and to a command that now runs as another user; the user id of
 * children that are started later. */
#define FOR_CHILDREN (BIT(CAP_KILL) | BIT(CAP_SETUID) | BIT(CAP_SETGID))

/* These, and kernel addresses (SYSLOG). */
#define FOR_TRACING                                                                      \
	(FOR_FILES | FOR_READING | FOR_BPF | FOR_LIMITS | FOR_CHILDREN | BIT(CAP_SYSLOG))

struct capabilities {
	struct __user_cap_data_struct sets[2];
};

static struct error *failed(void)
{
	return error_errno(refusal_code(errno), errno,
			   "memtrace cannot drop its capabilities (capset)");
}

/* Make sure that no program gives this process anything, and read what it has. */
static struct error *begin(uint64_t keep, struct capabilities *ret)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    syscall(SYS_capget, &head, ret->sets))
		return failed();
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Needs CAP_SETPCAP. A process without it does not start other programs
	 * either. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep & BIT(cap)))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	return NULL;
}

static struct error *keep_only(uint64_t keep, struct capabilities *had)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct *sets = had->sets;

	for (size_t i = 0; i < 2; i++) {
		sets[i].permitted &= (uint32_t)(keep >> 32 * i);
		sets[i].effective &= sets[i].permitted;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, sets) ? failed() : NULL;
}

struct error *shed_capabilities(uint64_t keep)
{
	struct capabilities had;
	struct error *err = begin(keep, &had);

	return err ? err : keep_only(keep, &had);
}

/* Is there such a user in our user namespace (user_namespaces(7))? */
static bool has_id(const char *map_path, uid_t id)
{
	_cleanup_(fclosep) FILE *map = fopen(map_path, "re");
	unsigned first, outside, count;

	/* Without /proc: it will be seen. */
	if (!map)
		return true;
	while (fscanf(map, "%u %u %u", &first, &outside, &count) == 3)
		if (id - first < count)
			return true;
	return false;
}

static bool has_user(uid_t user)
{
	return has_id("/proc/self/uid_map", user) && has_id("/proc/self/gid_map", user);
}

uid_t shed_user(void)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];
	const uint32_t takes = BIT(CAP_SETUID) | BIT(CAP_SETGID);

	if (geteuid())
		return geteuid();
	if (syscall(SYS_capget, &head, sets) || (sets[0].effective & takes) != takes)
		return 0;
	if (has_user(SHED_USER))
		return SHED_USER;
	return has_user(SHED_USER_OVERFLOW) ? SHED_USER_OVERFLOW : 0;
}

/* Change the ids. A user namespace may forbid to leave groups (user_namespaces(7)). */
static struct error *take_ids(uid_t user)
{
	bool is_forbidden = setgroups(0, NULL) && errno != EPERM;

	/* After ERROR_UNSUPPORTED the process would go on, with root's id. */
	return is_forbidden || setresgid(user, user, user) || setresuid(user, user, user)
		       ? error_errno(ERROR_IO, errno,
				     "memtrace cannot change from root to another user "
				     "id (setresuid)")
		       : NULL;
}

static struct error *become_another_user(bool keeps_capabilities)
{
	uid_t user = shed_user();
	pid_t parent = getppid();
	int death_signal = 0;
	struct error *err;

	prctl(PR_GET_PDEATHSIG, &death_signal);
	prctl(PR_SET_KEEPCAPS, keeps_capabilities, 0, 0, 0);
	err = user ? take_ids(user) : NULL;
	prctl(PR_SET_KEEPCAPS, 0, 0, 0, 0);
	/* The search for leaks traces this process. */
	if (IS_SANITIZED)
		prctl(PR_SET_DUMPABLE, 1);
	/* The kernel has reset it (commit_creds(), kernel/cred.c). */
	prctl(PR_SET_PDEATHSIG, death_signal);
	if (death_signal && getppid() != parent)
		raise(death_signal);
	return err;
}

/* The error that forbids more: with ERROR_UNSUPPORTED a process may go on. */
static struct error *worse(struct error *a, struct error *b)
{
	bool is_b = !a || (b && a->code == ERROR_UNSUPPORTED);

	error_destroy(is_b ? a : b);
	return is_b ? b : a;
}

struct error *shed_root(uint64_t keep)
{
	struct capabilities had;
	struct error *err = begin(keep, &had), *taken = NULL;

	if (!getuid() || !geteuid())
		taken = become_another_user(keep != 0);
	/* The change of the user may have taken them. */
	return worse(err ? err : keep_only(keep, &had), taken);
}

struct error *shed_for_reading(void)
{
	return shed_root(FOR_READING);
}

struct error *shed_for_thread(void)
{
	return shed_capabilities(FOR_TRACING);
}

struct error *shed_for_tracing(bool holds_command, bool has_network, bool accepts)
{
	struct error *err = shed_for_thread();

	return worse(err, filter_load_tracing(holds_command, has_network, accepts));
}

struct error *shed_for_opening(void)
{
	struct error *err = shed_capabilities(BIT(CAP_DAC_READ_SEARCH));

	/* The user id stays root's: file systems of servers ask for it. So its own files
	 * could be written by openat2(2), where the kernel lacks Landlock. */
	(void)landlock_forbid_writing();
	return worse(err, filter_load_opener());
}

struct error *shed_for_writing(void)
{
	struct error *err = shed_capabilities(FOR_FILES);

	return worse(err, filter_load_files());
}

struct error *shed_for_report(void)
{
	struct error *err = shed_root(0);

	return worse(err, filter_load_files());
}

struct error *shed_for_screen(void)
{
	struct error *err = shed_root(0);

	return worse(err, filter_load_screen());
}
