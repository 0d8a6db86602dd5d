// SPDX-License-Identifier: Apache-2.0
#include "confined/landlock.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "util/cleanup.h"

/* include/uapi/linux/landlock.h; headers before 5.13 have no such file. The numbers are
 * the same on all machines. */
#define NR_CREATE_RULESET 444
#define NR_ADD_RULE       445
#define NR_RESTRICT_SELF  446
#define GET_VERSION       1u
#define PATH_BENEATH      1

#define BIT(number)       (UINT64_C(1) << (number))

/* LANDLOCK_ACCESS_FS_*. */
#define EXECUTE         BIT(0)
#define WRITE_FILE      BIT(1)
#define READ_FILE       BIT(2)
#define READ_DIR        BIT(3)
#define REMOVE_AND_MAKE (BIT(13) - BIT(4)) /* files and directories of each kind */
#define REFER           BIT(13)            /* Landlock version 2 */
#define TRUNCATE        BIT(14)            /* version 3 */
#define IOCTL_OF_DEVICE BIT(15)            /* version 5 */

/* struct landlock_ruleset_attr of the first version, which later kernels accept. */
struct ruleset {
	uint64_t handled;
};

/* struct landlock_path_beneath_attr. */
struct rule {
	uint64_t permitted;
	int32_t place;
} __attribute__((packed));

/* All rights to change files and directories that the kernel knows; 0: it lacks
 * Landlock. */
static uint64_t rights_to_change(void)
{
	long version = syscall(NR_CREATE_RULESET, NULL, 0, GET_VERSION);

	if (version < 1)
		return 0;
	return WRITE_FILE | REMOVE_AND_MAKE | (version >= 2 ? REFER : 0) |
	       (version >= 3 ? TRUNCATE : 0) | (version >= 5 ? IOCTL_OF_DEVICE : 0);
}

/* Without a rule none of these rights is granted anywhere. */
static int create(uint64_t handled)
{
	const struct ruleset rules = {.handled = handled};

	return (int)syscall(NR_CREATE_RULESET, &rules, sizeof(rules), 0);
}

bool landlock_enter(int rules)
{
	return rules >= 0 && !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) &&
	       !syscall(NR_RESTRICT_SELF, rules, 0);
}

bool landlock_forbid_writing(void)
{
	uint64_t rights = rights_to_change();
	_cleanup_(closep) int rules = rights ? create(rights) : -1;

	return landlock_enter(rules);
}

/* --- only some files ---------------------------------------------------------------- */

/* A rule for a file must not have rights that only directories have. */
static bool permit(int rules, int place, uint64_t rights)
{
	struct rule rule = {.permitted = rights, .place = place};
	struct stat st;

	if (fstat(place, &st))
		return false;
	if (!S_ISDIR(st.st_mode))
		rule.permitted &= READ_FILE | WRITE_FILE | TRUNCATE;
	return !syscall(NR_ADD_RULE, rules, PATH_BENEATH, &rule, 0);
}

/* Without the rule the path cannot be used. That is so for a path that does not exist,
 * too. */
static void permit_path(int rules, const char *path, uint64_t rights)
{
	_cleanup_(closep) int place = open(path, O_PATH | O_CLOEXEC);

	if (place >= 0)
		(void)permit(rules, place, rights);
}

int landlock_prepare(const struct landlock_files *files)
{
	const uint64_t read = READ_FILE | READ_DIR;
	uint64_t change = rights_to_change();
	int rules = change ? create(EXECUTE | read | change) : -1;

	if (rules < 0)
		return -1;
	for (const char *const *path = files->readable; *path; path++)
		permit_path(rules, *path, read);
	permit_path(rules, "/dev/null", read | WRITE_FILE);
	if (permit(rules, files->writable, read | (change & ~IOCTL_OF_DEVICE)))
		return rules;
	close(rules);
	return -1;
}
