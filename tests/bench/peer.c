// SPDX-License-Identifier: Apache-2.0
/* What memleak-bpfcc needs in its environment. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "tool.h"

/* memleak-bpfcc compiles against the headers of the running kernel. The version that its
 * BPF program declares must be the running kernel's, which may be slightly newer than the
 * headers: BCC_LINUX_VERSION_CODE overrides it. */
static void set_kernel_version(const char *release)
{
	unsigned major = 0, minor = 0, patch = 0;
	char text[16];

	sscanf(release, "%u.%u.%u", &major, &minor, &patch);
	snprintf(text, sizeof(text), "%u",
		 major << 16 | minor << 8 | (patch > 255 ? 255 : patch));
	setenv("BCC_LINUX_VERSION_CODE", text, 0);
}

bool tool_find_peer(char *why, size_t why_size)
{
	static const char *const no_options[] = {NULL};
	struct utsname kernel;
	char path[32 + sizeof(kernel.release)];

	uname(&kernel);
	snprintf(path, sizeof(path), "/lib/modules/%s/build", kernel.release);
	if (access(path, F_OK) && !getenv("BCC_KERNEL_SOURCE")) {
		snprintf(why, why_size,
			 "it needs kernel headers, and there is no %s: name them in "
			 "BCC_KERNEL_SOURCE, or run scripts/bench",
			 path);
		return false;
	}
	set_kernel_version(kernel.release);
	setenv("PYTHONUNBUFFERED", "1", 1);

	struct target target = target_start();
	bool ok = tool_can_trace(TOOL_MEMLEAK, &target, no_options, why, why_size);

	if (!ok && !*why)
		snprintf(why, why_size, "it is not installed (bpfcc-tools)");
	target_stop(&target);
	return ok;
}
