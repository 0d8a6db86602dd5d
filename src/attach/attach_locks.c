// SPDX-License-Identifier: Apache-2.0
#include "attach/attach.h"
#include "bpf/mm_locks.h"

struct error *attachment_may_set(struct attachment *self)
{
	struct error *err =
		mm_locks_check(self->was_held ? MM_LOCKS_REMOVE_NS : MM_LOCKS_SET_NS);

	self->was_held = err;
	return err;
}
