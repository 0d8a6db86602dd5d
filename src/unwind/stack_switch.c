// SPDX-License-Identifier: Apache-2.0
#include "unwind/stack_switch.h"

#include "arch/go_code.h"
#include "unwind_step.h" /* of probes/ */

uint64_t stack_switch_rule(const uint8_t *code, size_t size_bytes)
{
	int32_t offset;

	switch (go_switch_read(code, size_bytes, &offset)) {
	case GO_SWITCH_G:
		return UNWIND_RULE(UNWIND_SP_SWITCH, offset, 8, UNWIND_BP_SAME, 0);
	case GO_SWITCH_SP:
		return UNWIND_RULE(UNWIND_SP_DEREF, offset, 8, UNWIND_BP_SAME, 0);
	case GO_SWITCH_NONE:
		break;
	}
	return UNWIND_NONE;
}
