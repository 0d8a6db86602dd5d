/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chooses the kernel headers for libbcc. The default is a tree of nine small files that
 * is embedded in the binary: it works on every machine and compiles faster. libbcc gets
 * its path through BCC_KERNEL_SOURCE, so that it never unpacks kheaders into a
 * predictable directory.
 */
#ifndef COMPILE_HEADERS_H
#define COMPILE_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/kernel_offsets.h"
#include "compile/trace_config.h"
#include "util/error.h"

struct headers {
	char *path;       /* for BCC_KERNEL_SOURCE; NULL: not unpacked yet */
	bool is_embedded; /* embedded in the binary */
	/* Where embedded headers are unpacked: in a detached mount that is only reachable
	 * through this descriptor (`path` leads through /proc/self/fd)... */
	int mount_fd;
	/* ...or, if -1, in a new directory, which headers_destroy() removes */
	bool temporary;
	char **flags; /* additional -I flags, flag_count of them */
	size_t flag_count;
	const char *kind; /* "embedded" or "installed"; static string */
};

/*
 * Choose the headers. `dir` (with HEADERS_DIR) is a kernel source tree, a header tree, or
 * a module directory that contains `build` and `source` (as Debian splits them). Embedded
 * headers are unpacked to a memory file system that is mounted nowhere, so that they
 * disappear with the process; if that is not permitted, to a new directory of mode 0700.
 */
struct error *headers_create(enum headers_mode choice, const char *dir,
			     const struct kernel_offsets *kernel, struct headers **ret)
	__attribute__((warn_unused_result));
/* Write the embedded headers and set headers->path. Does nothing for installed headers or
 * if already done. */
struct error *headers_unpack(struct headers *headers) __attribute__((warn_unused_result));
void headers_destroy(struct headers *headers);

#endif
