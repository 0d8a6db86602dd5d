// SPDX-License-Identifier: Apache-2.0
#include "compile/headers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>

#include "arch/arch.h"
#include "compile/embedded.h"
#include "util/cleanup.h"
#include "util/whole_io.h"

DEFINE_CLEANUP(struct headers *, headers_destroy);

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *ftw)
{
	(void)st;
	(void)kind;
	(void)ftw;
	return remove(path);
}

void headers_destroy(struct headers *headers)
{
	if (!headers)
		return;
	/* Nothing in it can lead elsewhere: the directory is new and of mode 0700. */
	if (headers->temporary && headers->path)
		nftw(headers->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	for (size_t i = 0; i < headers->flag_count; i++)
		free(headers->flags[i]);
	closep(&headers->mount_fd);
	free(headers->flags);
	free(headers->path);
	free(headers);
}

/* Write one file below `root`, and create its parent directories. */
static struct error *write_file(const char *root, const struct embedded_file *file)
{
	char path[PATH_MAX];

	if (snprintf(path, sizeof(path), "%s/%s", root, file->name) >= (int)sizeof(path))
		return error_create(ERROR_IO, "%s: path too long", file->name);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); p++) {
		*p = 0;
		if (mkdir(path, 0700) && errno != EEXIST)
			return error_errno(ERROR_IO, errno, "cannot make directory %s",
					   path);
		*p = '/';
	}

	_cleanup_(closep) int fd =
		open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	if (fd < 0 || !whole_write(fd, file->text, strlen(file->text)))
		return error_errno(ERROR_IO, errno, "cannot write %s", path);
	return NULL;
}

/* Constants of the mount API (Linux 5.2; include/uapi/linux/mount.h), which C libraries
 * before glibc 2.36 lack. */
#define FSCONFIG_STRING   1
#define FSCONFIG_CREATE   6
#define FS_CLOEXEC        1
#define MOUNT_NOTHING_ODD (0x2 | 0x4 | 0x8) /* nosuid, nodev, noexec */

/* Create a memory file system that is mounted nowhere. Returns a descriptor or -1. */
static int detached_tmpfs(void)
{
	_cleanup_(closep) int fs = (int)syscall(SYS_fsopen, "tmpfs", FS_CLOEXEC);

	if (fs < 0 || syscall(SYS_fsconfig, fs, FSCONFIG_STRING, "size", "1M", 0) ||
	    syscall(SYS_fsconfig, fs, FSCONFIG_CREATE, NULL, NULL, 0))
		return -1;
	return (int)syscall(SYS_fsmount, fs, FS_CLOEXEC, MOUNT_NOTHING_ODD);
}

/* Create a place for the embedded tree. */
static struct error *make_root(struct headers *headers)
{
	/* Only root can write to /run. */
	char in_run[] = "/run/memtrace-XXXXXX", in_tmp[] = "/tmp/memtrace-XXXXXX";
	char *path;

	headers->mount_fd = detached_tmpfs();
	if (headers->mount_fd >= 0) {
		if (asprintf(&headers->path, "/proc/self/fd/%d", headers->mount_fd) < 0)
			headers->path = NULL;
		return headers->path ? NULL : error_no_memory();
	}
	path = mkdtemp(in_run);
	if (!path)
		path = mkdtemp(in_tmp);
	if (!path)
		return error_errno(ERROR_IO, errno,
				   "cannot make a directory in /run or /tmp");
	headers->temporary = true;
	headers->path = strdup(path);
	return headers->path ? NULL : error_no_memory();
}

struct error *headers_unpack(struct headers *headers)
{
	struct error *err;

	if (!headers->is_embedded || headers->path)
		return NULL;
	err = make_root(headers);
	for (const struct embedded_file *f = embedded_headers; !err && f->name; f++)
		err = write_file(headers->path, f);
	return err;
}

static bool has(const char *dir, const char *name)
{
	char path[PATH_MAX];

	return snprintf(path, sizeof(path), "%s/%s", dir, name) < (int)sizeof(path) &&
	       access(path, R_OK) == 0;
}

static bool add_include(struct headers *headers, const char *dir, const char *below)
{
	char *flag;

	if (asprintf(&flag, "-I%s/%s", dir, below) < 0)
		return false;
	headers->flags[headers->flag_count++] = flag;
	return true;
}

static struct error *installed_create(struct headers *headers, const char *dir)
{
	char generated[4][64] = {"build/include", "build/include/generated/uapi"};
	const size_t count = sizeof(generated) / sizeof(*generated);
	char real[PATH_MAX];
	const char *tree = NULL;

	headers->kind = "installed";
	if (!realpath(dir, real))
		return error_errno(ERROR_NOT_FOUND, errno,
				   "kernel headers %s (--kernel-headers embedded "
				   "needs none)",
				   dir);
	if (has(real, "include/linux/kconfig.h"))
		tree = "";
	else if (has(real, "source/include/linux/kconfig.h"))
		tree = "/source";
	else if (has(real, "build/include/linux/kconfig.h"))
		tree = "/build";
	else
		return error_create(
			ERROR_NOT_FOUND,
			"%s holds no kernel headers (include/linux/kconfig.h is "
			"not there): use --kernel-headers embedded",
			dir);
	if (asprintf(&headers->path, "%s%s", real, tree) < 0) {
		headers->path = NULL;
		return error_no_memory();
	}
	if (strcmp(tree, "/source"))
		return NULL;

	snprintf(generated[2], sizeof(generated[2]), "build/arch/%s/include/generated",
		 arch.kernel_name);
	snprintf(generated[3], sizeof(generated[3]),
		 "build/arch/%s/include/generated/uapi", arch.kernel_name);
	headers->flags = calloc(count, sizeof(char *));
	if (!headers->flags)
		return error_no_memory();
	for (size_t i = 0; i < count; i++) {
		if (!add_include(headers, real, generated[i]))
			return error_no_memory();
	}
	return NULL;
}

struct error *headers_create(enum headers_mode choice, const char *dir,
			     const struct kernel_offsets *kernel, struct headers **ret)
{
	_cleanup_(headers_destroyp) struct headers *headers = calloc(1, sizeof(*headers));
	struct utsname name;
	char modules[PATH_MAX];
	struct error *err;

	if (!headers)
		return error_no_memory();
	headers->mount_fd = -1;
	if (choice == HEADERS_DIR) {
		err = installed_create(headers, dir);
	} else if (choice == HEADERS_EMBEDDED || !kernel->has_pt_regs ||
		   kernel->pt_regs_as_embedded) {
		headers->is_embedded = true;
		headers->kind = "embedded";
		err = NULL;
	} else {
		uname(&name);
		snprintf(modules, sizeof(modules), "/lib/modules/%s", name.release);
		err = error_prefix(installed_create(headers, modules),
				   "this kernel's struct pt_regs has an unknown layout; "
				   "install its headers (linux-headers-$(uname -r))");
	}
	if (!err)
		*ret = take(headers);
	return err;
}
