// SPDX-License-Identifier: Apache-2.0
#include "util/file_system.h"

#include <linux/magic.h>
#include <stddef.h>

#include "util/open_helper.h"

/* These are not in a header. */
#define CONFIGFS_NUMBER   0x62656570 /* fs/configfs/mount.c */
#define FUSECTL_NUMBER    0x65735543 /* fs/fuse/control.c */
#define MQUEUE_NUMBER     0x19800202 /* ipc/mqueue.c */
#define NFSD_NUMBER       0x6e667364 /* fs/nfsd/nfsctl.c */
#define RPC_PIPEFS_NUMBER 0x67596969 /* net/sunrpc/rpc_pipe.c */

/* linux/magic.h has the other numbers, which statfs(2) returns. */
static const uint64_t kernel_systems[] = {
	PROC_SUPER_MAGIC,     SYSFS_MAGIC,         TRACEFS_MAGIC,     DEBUGFS_MAGIC,
	CGROUP_SUPER_MAGIC,   CGROUP2_SUPER_MAGIC, SECURITYFS_MAGIC,  BPF_FS_MAGIC,
	EFIVARFS_MAGIC,       SELINUX_MAGIC,       SMACK_MAGIC,       AAFS_MAGIC,
	RDTGROUP_SUPER_MAGIC, DEVPTS_SUPER_MAGIC,  NSFS_MAGIC,        PSTOREFS_MAGIC,
	BINFMTFS_MAGIC,       XENFS_SUPER_MAGIC,   CONFIGFS_NUMBER,   FUSECTL_NUMBER,
	MQUEUE_NUMBER,        NFSD_NUMBER,         RPC_PIPEFS_NUMBER,
};

uint64_t file_system_of(int fd)
{
	return open_helper_system(fd);
}

bool file_system_is_proc(int fd)
{
	return file_system_of(fd) == PROC_SUPER_MAGIC;
}

bool file_system_is_of_kernel(int fd)
{
	uint64_t type = file_system_of(fd);

	for (size_t i = 0; i < sizeof(kernel_systems) / sizeof(*kernel_systems); i++)
		if (type == kernel_systems[i])
			return true;
	return !type;
}
