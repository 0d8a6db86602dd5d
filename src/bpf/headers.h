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
	char *path; /* for BCC_KERNEL_SOURCE */
	/* Where embedded headers live: a mount of their own that nothing can see but by
	 * this descriptor (then `path` leads through /proc/self/fd), or -1... */
	int mount_fd;
	bool temporary; /* ...a fresh directory, which headers_destroy() removes */
	char **flags;   /* more -I flags, flag_count of them */
	size_t flag_count;
	const char *kind; /* "embedded" or "installed"; static */
};

/*
 * Prepare the headers. `dir` (with HEADERS_DIR) is a kernel source or header tree,
 * or a module directory with `build` and `source` in it, as Debian splits it. Embedded
 * headers are written to a memory file system that is mounted nowhere, and so is gone
 * with us however we end; where that is not allowed, to a fresh directory of mode 0700.
 */
struct error *headers_create(enum headers_mode choice, const char *dir,
			     const struct kernel_offsets *kernel, struct headers **ret)
	__attribute__((warn_unused_result));
/* Are they those that travel in the binary? */
bool headers_are_embedded(const struct headers *headers);
void headers_destroy(struct headers *headers);

#endif
