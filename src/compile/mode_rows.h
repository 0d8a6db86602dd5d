/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All trace modes, a row each: MODE(ID, NAME) is TRACE_MODE_ID, and trace_mode_NAME in
 * src/trace/mode_NAME.c. The includer defines MODE(). No include guard: the file is
 * included more than once.
 */
/* clang-format off */
MODE(HEAP, heap)     /* blocks of allocation functions; the default */
MODE(USDT, usdt)     /* blocks that programs report by USDT probes */
MODE(EVENT, event)   /* stacks at an event */
MODE(GROWTH, growth) /* stacks of page faults, and mappings */
MODE(KERNEL, kernel) /* the kernel's own memory */
/* clang-format on */
