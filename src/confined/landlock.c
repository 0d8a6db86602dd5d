// SPDX-License-Identifier: Apache-2.0
#include "confined/landlock.h"

#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* include/uapi/linux/landlock.h; headers before 5.13 have no such file. The numbers are
 * the same on all machines. */
#define NR_CREATE_RULESET 444
#define NR_RESTRICT_SELF  446
#define GET_VERSION       1u

#define BIT(number)       (UINT64_C(1) << (number))

/* LANDLOCK_ACCESS_FS_*: all but EXECUTE (0), READ_FILE (2) and READ_DIR (3). */
#define WRITE_FILE      BIT(1)
#define REMOVE_AND_MAKE (BIT(13) - BIT(4)) /* files and directories of each kind */
#define REFER           BIT(13)            /* Landlock version 2 */
#define TRUNCATE        BIT(14)            /* version 3 */
#define IOCTL_OF_DEVICE BIT(15)            /* version 5 */

/* struct landlock_ruleset_attr of the first version, which later kernels accept. */
struct ruleset {
	uint64_t handled;
};

bool landlock_forbid_writing(void)
{
	struct ruleset rules = {.handled = WRITE_FILE | REMOVE_AND_MAKE};
	long version = syscall(NR_CREATE_RULESET, NULL, 0, GET_VERSION);
	_cleanup_(closep) int fd = -1;

	if (version < 1)
		return false;
	if (version >= 2)
		rules.handled |= REFER;
	if (version >= 3)
		rules.handled |= TRUNCATE;
	if (version >= 5)
		rules.handled |= IOCTL_OF_DEVICE;
	/* Without a rule nothing of this is permitted anywhere. */
	fd = (int)syscall(NR_CREATE_RULESET, &rules, sizeof(rules), 0);
	return fd >= 0 && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(NR_RESTRICT_SELF, fd, 0);
}
