// SPDX-License-Identifier: Apache-2.0
#include "code/other_maps.h"

#include <errno.h>
#include <stdlib.h>

#include "process/live_thread.h"
#include "process/maps.h"
#include "process/timed_read.h"
#include "util/cleanup.h"

/* Longer lists are not read. */
#define MAPS_BYTES ((size_t)16 << 20)

/* 0, or the error of read(2). A kernel thread has an empty list. So does a main thread
 * that has ended: another thread has its mappings then. */
static int read_text(int pid, char **text, size_t *size)
{
	int err = timed_read_maps(pid, pid, MAPS_BYTES, text, size);
	int tid = err || *size ? pid : live_thread_begin(pid).tid;

	if (tid != pid) {
		free(take(*text));
		err = timed_read_maps(pid, tid, MAPS_BYTES, text, size);
	}
	return err;
}

enum other_maps other_maps_read(int pid, struct proc_maps *ret)
{
	_cleanup_(error_destroyp) struct error *err = NULL;
	_cleanup_(freep) char *text = NULL;
	struct live_thread live;
	size_t size;
	int errnum = read_text(pid, &text, &size);

	/* The same in each run of a sandbox that hides processes from root: no process
	 * can bring this about itself. */
	if (errnum == EACCES || errnum == EPERM)
		return OTHER_MAPS_NONE;
	if (errnum) {
		live = live_thread_begin(pid);
		return live_thread_is_there(&live) ? OTHER_MAPS_UNREAD : OTHER_MAPS_NONE;
	}
	err = maps_parse(text, size, ret);
	if (!err)
		return OTHER_MAPS_READ;
	return err->code == ERROR_NO_MEMORY ? OTHER_MAPS_NO_MEMORY : OTHER_MAPS_UNREAD;
}
