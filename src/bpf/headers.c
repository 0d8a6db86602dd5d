// SPDX-License-Identifier: Apache-2.0
#include "bpf/headers.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>

#include "bpf/embedded.h"
#include "util/cleanup.h"

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
	/* The directory is ours alone (0700, fresh): nothing in it leads elsewhere. */
	if (headers->temporary && headers->path)
		nftw(headers->path, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	for (size_t i = 0; i < headers->flag_count; i++)
		free(headers->flags[i]);
	free(headers->flags);
	free(headers->path);
	free(headers);
}

/* Write one file below `root`, making the directories on its way. */
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
	size_t len = strlen(file->text);

	if (fd < 0 || write(fd, file->text, len) != (ssize_t)len)
		return error_errno(ERROR_IO, errno, "cannot write %s", path);
	return NULL;
}

static struct error *embedded_create(struct headers *headers)
{
	/* /run is root's own; /tmp serves the unprivileged (and --dry-run). */
	char in_run[] = "/run/memtrace-XXXXXX", in_tmp[] = "/tmp/memtrace-XXXXXX";
	char *made = mkdtemp(in_run);

	if (!made)
		made = mkdtemp(in_tmp);
	if (!made)
		return error_errno(ERROR_IO, errno,
				   "cannot make a directory in /run or /tmp");
	headers->temporary = true;
	headers->kind = "embedded";
	headers->path = strdup(made);
	if (!headers->path)
		return error_no_memory();
	for (const struct embedded_file *f = embedded_headers; f->name; f++) {
		struct error *err = write_file(made, f);

		if (err)
			return err;
	}
	return NULL;
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
	static const char *const generated[] = {
		"build/include",
		"build/include/generated/uapi",
#if defined(__x86_64__)
		"build/arch/x86/include/generated",
		"build/arch/x86/include/generated/uapi",
#elif defined(__aarch64__)
		"build/arch/arm64/include/generated",
		"build/arch/arm64/include/generated/uapi",
#endif
	};
	const size_t count = sizeof(generated) / sizeof(*generated);
	char real[PATH_MAX];
	const char *tree = NULL;

	headers->kind = "installed";
	if (!realpath(dir, real))
		return error_errno(ERROR_NOT_FOUND, errno, "kernel headers %s", dir);
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
	if (choice == HEADERS_DIR) {
		err = installed_create(headers, dir);
	} else if (choice == HEADERS_EMBEDDED || !kernel->has_pt_regs ||
		   kernel->pt_regs_as_embedded) {
		err = embedded_create(headers);
	} else {
		uname(&name);
		snprintf(modules, sizeof(modules), "/lib/modules/%s", name.release);
		err = error_prefix(installed_create(headers, modules),
				   "this kernel's struct pt_regs is not the usual one");
	}
	if (!err)
		*ret = take(headers);
	return err;
}
