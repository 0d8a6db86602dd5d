/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of mappings.c, without --mappings. */
#define is_mapping(effect)              0
#define mapping_begin(t, ctx, p)        ((void)0)
#define mapping_end(t, p, result, stack) ((void)0)
