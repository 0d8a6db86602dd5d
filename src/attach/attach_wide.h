/* SPDX-License-Identifier: Apache-2.0 */
/* Is it safe to set a probe in all processes that map its file? Asked for probes that
 * were planned for one process (attachment.is_wide), and again for probes planned for
 * all. */
#ifndef ATTACH_ATTACH_WIDE_H
#define ATTACH_ATTACH_WIDE_H

#include "attach/attach.h"

/* Why it is not safe: a process has changed the code there in its memory, or the place
 * comes from the target. NULL: it is safe. Valid as long as self->others. */
const char *attach_wide_doubt(const struct attachment *self,
			      const struct attach_probe *probe);

/*
 * Probes that were planned for all processes are about to be attached. Since the plan was
 * made a process may have changed the code there: compare it again, as far as it is in
 * pages that a process has written to. ERROR_UNSAFE: the code of a probe differs now; the
 * message names function and process. A change after this is not noticed.
 */
struct error *attach_wide_check(const struct attachment *self,
				const struct attach_probe probes[], size_t count)
	__attribute__((warn_unused_result));

/* The error for a probe with a doubt. */
struct error *attach_wide_refused(const struct attach_probe *probe, const char *doubt)
	__attribute__((warn_unused_result));

#endif
