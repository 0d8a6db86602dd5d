// SPDX-License-Identifier: Apache-2.0
/* What the tools of others need in their environment. */
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

/* Returns false if memleak-bpfcc has no kernel headers, with the reason in `why`. */
static bool prepare_memleak(char *why, size_t why_size)
{
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
	return true;
}

void tool_set_bpftrace_keys(unsigned long keys)
{
	char text[24];

	snprintf(text, sizeof(text), "%lu", keys);
	setenv("BPFTRACE_MAP_KEYS_MAX", text, 1);
}

static bool prepare_bpftrace(char *why, size_t why_size)
{
	(void)why;
	(void)why_size;
	tool_set_bpftrace_keys(TOOL_BPFTRACE_KEYS);
	/* Otherwise it reads the symbols again for each frame: ten stacks take a second.
	 */
	setenv("BPFTRACE_CACHE_USER_SYMBOLS", "1", 1);
	return true;
}

static bool can_run(enum tool tool, const char *package, char *why, size_t why_size)
{
	static const char *const no_options[] = {NULL};
	struct target target = target_start();
	bool ok = tool_can_trace(tool, &target, no_options, why, why_size);

	if (!ok && !*why)
		snprintf(why, why_size, "it is not installed (%s)", package);
	target_stop(&target);
	return ok;
}

struct peers tool_find_peers(void)
{
	static const struct {
		enum tool tool;
		const char *package; /* of Debian */
		bool (*prepare)(char *why, size_t why_size);
	} tools[] = {
		{TOOL_MEMLEAK, "bpfcc-tools", prepare_memleak},
		{TOOL_BPFTRACE, "bpftrace", prepare_bpftrace},
	};
	struct peers peers = {.has = {false}};

	for (size_t i = 0; i < sizeof(tools) / sizeof(*tools); i++) {
		char why[256];

		peers.has[tools[i].tool] =
			tools[i].prepare(why, sizeof(why)) &&
			can_run(tools[i].tool, tools[i].package, why, sizeof(why));
		if (!peers.has[tools[i].tool])
			printf("%s is not measured: %s\n", tool_name(tools[i].tool), why);
	}
	return peers;
}
