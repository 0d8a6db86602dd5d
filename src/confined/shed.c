// SPDX-License-Identifier: Apache-2.0
#include "confined/shed.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "confined/filter.h"

/* include/uapi/linux/capability.h; headers before 5.9 lack the last three. */
#define NUMBER_PERFMON            38
#define NUMBER_BPF                39
#define NUMBER_CHECKPOINT_RESTORE 40

#define BIT(number)               (UINT64_C(1) << (number))

/* Output files may be in others' directories, and may replace others' files in /tmp. */
#define FOR_FILES (BIT(CAP_DAC_OVERRIDE) | BIT(CAP_FOWNER))

/*
 * Capabilities for
 *
 * - BPF programs, maps and links: BPF, PERFMON; SYS_ADMIN on kernels that require it,
 *   and for listing programs by id;
 * - files, memory and mappings of the targets: SYS_PTRACE, DAC_READ_SEARCH,
 *   CHECKPOINT_RESTORE;
 * - limits of descriptors and locked memory: SYS_RESOURCE, IPC_LOCK;
 * - kernel addresses: SYSLOG;
 * - signals to a command that now runs as another user: KILL.
 */
#define FOR_TRACING                                                                      \
	(FOR_FILES | BIT(NUMBER_BPF) | BIT(NUMBER_PERFMON) | BIT(CAP_SYS_ADMIN) |        \
	 BIT(CAP_SYS_PTRACE) | BIT(CAP_DAC_READ_SEARCH) |                                \
	 BIT(NUMBER_CHECKPOINT_RESTORE) | BIT(CAP_SYS_RESOURCE) | BIT(CAP_IPC_LOCK) |    \
	 BIT(CAP_SYSLOG) | BIT(CAP_KILL))

static struct error *failed(void)
{
	return error_errno(ERROR_UNSUPPORTED, errno, "capabilities cannot be given up");
}

struct error *shed_capabilities(uint64_t keep)
{
	struct __user_cap_header_struct head = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct sets[2];

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_capget, &head, sets))
		return failed();
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	/* Needs CAP_SETPCAP. A process without it does not start other programs
	 * either. */
	for (unsigned long cap = 0; prctl(PR_CAPBSET_READ, cap, 0, 0, 0) >= 0; cap++)
		if (!(keep & BIT(cap)))
			prctl(PR_CAPBSET_DROP, cap, 0, 0, 0);
	for (size_t i = 0; i < 2; i++) {
		sets[i].permitted &= (uint32_t)(keep >> 32 * i);
		sets[i].effective &= sets[i].permitted;
		sets[i].inheritable = 0;
	}
	return syscall(SYS_capset, &head, sets) ? failed() : NULL;
}

struct error *shed_for_thread(void)
{
	return shed_capabilities(FOR_TRACING);
}

struct error *shed_for_tracing(bool holds_command, bool has_network)
{
	struct error *err = shed_for_thread();

	return err ? err : filter_load_tracing(holds_command, has_network);
}

struct error *shed_for_opening(void)
{
	struct error *err = shed_capabilities(BIT(CAP_DAC_READ_SEARCH));

	return err ? err : filter_load_files();
}

struct error *shed_for_files(bool writes_files)
{
	struct error *err = shed_capabilities(writes_files ? FOR_FILES : 0);

	return err ? err : filter_load_files();
}
