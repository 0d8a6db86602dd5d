// SPDX-License-Identifier: Apache-2.0
#include "bpf/used_slots.h"

#include <stdlib.h>

#define WORD_BITS 64

static size_t word_count(uint32_t slot_count)
{
	return ((size_t)slot_count + WORD_BITS - 1) / WORD_BITS;
}

/* Set the bits from all slots. If memory is out, `bits` stays NULL. */
static void read_all(struct used_slots *used, const struct abi_process *processes,
		     uint32_t slot_count)
{
	if (!used->bits)
		used->bits = malloc(word_count(slot_count) * sizeof(*used->bits));
	for (uint32_t i = 0; used->bits && i < slot_count; i++) {
		uint64_t *word = &used->bits[i / WORD_BITS];
		uint64_t is_used =
			__atomic_load_n(&processes[i].tgid, __ATOMIC_ACQUIRE) != 0;

		if (i % WORD_BITS == 0)
			*word = 0;
		*word |= is_used << i % WORD_BITS;
	}
}

static void refresh(struct used_slots *used, const struct abi_control *control,
		    const struct abi_process *processes, uint32_t slot_count, bool always)
{
	/* Before the slots: what is taken from now on changes it again. */
	uint64_t taken = __atomic_load_n(&control->slots_taken, __ATOMIC_SEQ_CST);

	if (used->bits && taken == used->taken && !always)
		return;
	used->taken = taken;
	read_all(used, processes, slot_count);
}

bool used_slots_next(struct used_slots *used, const struct abi_control *control,
		     const struct abi_process *processes, uint32_t slot_count,
		     bool always, uint32_t *cursor, uint32_t *ret)
{
	if (!*cursor)
		refresh(used, control, processes, slot_count, always);
	while (*cursor < slot_count) {
		uint64_t rest = used->bits ? used->bits[*cursor / WORD_BITS] >>
						     *cursor % WORD_BITS
					   : 1;

		if (rest) {
			*ret = *cursor + (uint32_t)__builtin_ctzll(rest);
			*cursor = *ret + 1;
			return true;
		}
		*cursor = (*cursor / WORD_BITS + 1) * WORD_BITS;
	}
	return false;
}

void used_slots_deinit(struct used_slots *used)
{
	free(used->bits);
	*used = (struct used_slots){.bits = NULL};
}
