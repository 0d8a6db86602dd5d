// SPDX-License-Identifier: Apache-2.0
#include "bpf/kernel_identity.h"

#include <sys/utsname.h>

#include "util/cleanup.h"

/* The notes of the kernel's image, including its build-id: a few hundred bytes. */
#define NOTES_PATH      "/sys/kernel/notes"
#define NOTES_MAX_BYTES 65536

bool kernel_identity_append(struct strbuf *text)
{
	_cleanup_(fclosep) FILE *f = fopen(NOTES_PATH, "re");
	size_t size = 0, n;
	char part[4096];
	struct utsname name;

	while (f && size < NOTES_MAX_BYTES && (n = fread(part, 1, sizeof(part), f))) {
		strbuf_append_bytes(text, part, n);
		size += n;
	}
	if (!size || size >= NOTES_MAX_BYTES || uname(&name))
		return false;
	strbuf_appendf(text, "\n%s\n%s\n%s\n", name.release, name.version, name.machine);
	return true;
}
