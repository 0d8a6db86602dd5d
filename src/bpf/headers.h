/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where libbcc finds kernel headers. By default that is a tree of nine small files that
 * travels in the binary: it works on every machine and compiles faster. libbcc is told
 * by BCC_KERNEL_SOURCE, never left to unpack kheaders into a predictable directory.
 */
#ifndef BPF_HEADERS_H
#define BPF_HEADERS_H

#include <stdbool.h>
#include <stddef.h>

#include "bpf/kernel_offsets.h"
#include "util/error.h"

enum headers_mode {
	HEADERS_AUTO, /* embedded when they agree with the kernel's BTF, else installed */
	HEADERS_EMBEDDED,
	HEADERS_DIR,
};

struct headers {
	char *path;       /* for BCC_KERNEL_SOURCE; NULL: they are not unpacked */
	bool is_embedded; /* they travel in the binary */
	/* Where embedded headers live: a mount of their own that nothing can see but by
	 * this descriptor (then `path` leads through /proc/self/fd), or -1... */
	int mount_fd;
	bool temporary; /* ...a fresh directory, which headers_destroy() removes */
	char **flags;   /* more -I flags, flag_count of them */
	size_t flag_count;
	const char *kind; /* "embedded" or "installed"; static */
};

/*
 * Choose the headers. `dir` (with HEADERS_DIR) is a kernel source or header tree,
 * or a module directory with `build` and `source` in it, as Debian splits it. Embedded
 * headers are unpacked to a memory file system that is mounted nowhere, and so is gone
 * with us however we end; where that is not allowed, to a fresh directory of mode 0700.
 */
struct error *headers_create(enum headers_mode choice, const char *dir,
			     const struct kernel_offsets *kernel, struct headers **ret)
	__attribute__((warn_unused_result));
/* Write those that travel in the binary: then there is a `path`. Does nothing for others,
 * and the second time. */
struct error *headers_unpack(struct headers *headers) __attribute__((warn_unused_result));
void headers_destroy(struct headers *headers);

#endif
