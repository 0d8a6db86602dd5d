// SPDX-License-Identifier: Apache-2.0
#include "attach/attach_wide.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "code/decode.h"
#include "plan/site_text.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/priority.h"
#include "util/regular_file.h"

/* Read the code from the function's beginning to the end of the probe's instruction, from
 * its file `fd` (-1: not opened). The caller frees it. NULL: it cannot be read. */
static uint8_t *read_code(const struct attach_probe *probe, int fd, size_t *ret_size)
{
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

static const char unread[] = "its file cannot be read";
static const char not_found[] = "the other processes that map the file cannot be found";

/* The code of a probe in the processes that map its file. NULL: it is the file's. */
static const char *compare(const struct attach_probe *probe, int fd,
			   const struct site_others *others)
{
	const struct site_target target = {.others = others};
	_cleanup_(freep) uint8_t *code = NULL;
	size_t size;

	code = read_code(probe, fd, &size);
	return code ? site_text_doubt(&target, NULL, probe->offset - probe->before, code,
				      size)
		    : unread;
}

const char *attach_wide_doubt(const struct attachment *self,
			      const struct attach_probe *probe)
{
	_cleanup_(priority_restore) struct priority priority;
	struct site_others others = {.code = self->others};
	struct file_names names;

	priority_lower(&priority);
	if (probe->is_private)
		return "the place comes from a debug file or a note that the process may "
		       "have made: install debug symbols below /usr/lib/debug";
	if (!self->others)
		return NULL;
	if (!file_names_of_path(probe->path, &names))
		return unread;

	_cleanup_(error_destroyp) struct error *err =
		other_code_find(self->others, &names, probe->path, &others.runs);
	_cleanup_(closep) int fd = err ? -1 : regular_file_open(probe->path);

	return err ? not_found : compare(probe, fd, &others);
}

/* Look again at the file of a probe. Returns a doubt, or NULL. */
static const char *find_anew(const struct attach_probe *probe, uint64_t since_ns,
			     struct site_others *others)
{
	struct file_names names;

	if (!file_names_of_path(probe->path, &names))
		return unread;

	_cleanup_(error_destroyp) struct error *err = other_code_find_anew(
		others->code, &names, probe->path, since_ns, &others->runs);

	return err ? not_found : NULL;
}

struct error *attach_wide_check(const struct attachment *self,
				const struct attach_probe probes[], size_t count)
{
	struct site_others others = {.code = self->others};
	uint64_t since_ns = clock_now_ns();
	const char *doubt = NULL;
	_cleanup_(closep) int fd = -1;

	for (size_t i = 0; i < count && self->others; i++) {
		if (!i || strcmp(probes[i].path, probes[i - 1].path) != 0) {
			doubt = find_anew(&probes[i], since_ns, &others);
			closep(&fd);
			fd = regular_file_open(probes[i].path);
		}
		if (!doubt)
			doubt = compare(&probes[i], fd, &others);
		if (doubt)
			return error_create(ERROR_UNSAFE, "cannot probe %s in %s: %s now",
					    probes[i].function, probes[i].module, doubt);
	}
	return NULL;
}

struct error *attach_wide_refused(const struct attach_probe *probe, const char *doubt)
{
	return error_create(probe->is_private ? ERROR_UNSUPPORTED : ERROR_UNSAFE,
			    "cannot probe %s in %s for one process alone, as its main "
			    "thread has exited, nor for all: %s",
			    probe->function, probe->module, doubt);
}
