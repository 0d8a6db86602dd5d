/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Give the child the parent's layout, and the code ranges that on_move() checks. The
 * child has the same code, and has not run yet. */
ALWAYS_INLINE void layout_inherit(struct abi_process *child, u32 child_slot,
				  const struct abi_process *parent, u32 parent_slot)
{
	const struct abi_moves *from = moves.lookup(&parent_slot);
	struct abi_moves *to = moves.lookup(&child_slot);
	u64 layout = parent->layout;

	if (!from || !to || parent->code_known != parent->code_changes || child->lender)
		return;
	bpf_probe_read_kernel(to->range, sizeof(to->range), from->range);
	child->code_known = child->code_changes;
	child->layout = layout;
}
