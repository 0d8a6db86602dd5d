/* SPDX-License-Identifier: Apache-2.0 */
/* For attach_*.c: may a probe that was planned for one process be in all processes that
 * map its file (attachment.is_wide)? */
#ifndef BPF_ATTACH_WIDE_H
#define BPF_ATTACH_WIDE_H

#include "bpf/attach.h"

/* Why not: a process has changed the code there in its memory, or its place comes from
 * the target. NULL: it may. Valid as long as self->others. */
const char *attach_wide_doubt(const struct attachment *self,
			      const struct attach_probe *probe);

/* The error for such a probe. */
struct error *attach_wide_refused(const struct attach_probe *probe, const char *doubt)
	__attribute__((warn_unused_result));

#endif
