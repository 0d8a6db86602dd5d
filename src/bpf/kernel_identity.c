// SPDX-License-Identifier: Apache-2.0
#include "bpf/kernel_identity.h"

#include <sys/utsname.h>

#include "util/cleanup.h"

/* The notes of the kernel's image, including its build-id: a few hundred bytes. */
#define NOTES_PATH      "/sys/kernel/notes"
#define NOTES_MAX_BYTES 16384

bool kernel_identity_append(struct strbuf *text)
{
	_cleanup_(fclosep) FILE *f = fopen(NOTES_PATH, "re");
	char notes[NOTES_MAX_BYTES];
	size_t size = f ? fread(notes, 1, sizeof(notes), f) : 0;
	struct utsname name;

	if (!size || size == sizeof(notes) || uname(&name))
		return false;
	strbuf_append_bytes(text, notes, size);
	strbuf_appendf(text, "\n%s\n%s\n%s\n", name.release, name.version, name.machine);
	return true;
}
