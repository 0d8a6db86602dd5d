// SPDX-License-Identifier: Apache-2.0
#include "bpf/attach_wide.h"

#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "plan/decode.h"
#include "plan/site_text.h"
#include "util/cleanup.h"

/* Read the code from the function's beginning to the end of the probe's instruction. The
 * caller frees it. NULL: it cannot be read. */
static uint8_t *read_code(const struct attach_probe *probe, size_t *ret_size)
{
	_cleanup_(closep) int fd = open(probe->path, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) uint8_t *code = malloc(probe->before + INSN_LENGTH_MAX);
	struct insn insn;
	ssize_t n = -1;

	if (fd >= 0 && code)
		n = pread(fd, code, probe->before + INSN_LENGTH_MAX,
			  (off_t)(probe->offset - probe->before));
	if (n <= (ssize_t)probe->before)
		return NULL;
	insn_decode(code + probe->before, (size_t)n - probe->before, &insn);
	*ret_size = insn.length ? probe->before + insn.length : (size_t)n;
	return take(code);
}

const char *attach_wide_doubt(const struct attachment *self,
			      const struct attach_probe *probe)
{
	struct site_others others = {.code = self->others};
	const struct site_target target = {.others = &others};
	_cleanup_(freep) uint8_t *code = NULL;
	struct file_names names;
	size_t size;

	if (probe->is_private)
		return "the place comes from a debug file or a note that the process may "
		       "have made: install debug symbols below /usr/lib/debug";
	if (!self->others)
		return NULL;
	code = read_code(probe, &size);
	if (!code || !file_names_of_path(probe->path, &names))
		return "its file cannot be read";

	_cleanup_(error_destroyp) struct error *err =
		other_code_find(self->others, &names, probe->path, &others.runs);

	return err ? "the other processes that map the file cannot be found"
		   : site_text_doubt(&target, NULL, probe->offset - probe->before, code,
				     size);
}

struct error *attach_wide_refused(const struct attach_probe *probe, const char *doubt)
{
	return error_create(probe->is_private ? ERROR_UNSUPPORTED : ERROR_UNSAFE,
			    "cannot probe %s in %s for one process alone, as its first "
			    "thread has ended, nor for all: %s",
			    probe->function, probe->module, doubt);
}
