// SPDX-License-Identifier: Apache-2.0
#include "trace/trace_mode.h"

const struct trace_mode *const trace_modes[TRACE_MODE_COUNT] = {
#define MODE(id, name) [TRACE_MODE_##id] = &trace_mode_##name,
#include "compile/mode_rows.h"
#undef MODE
};
