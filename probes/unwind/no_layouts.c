/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of layouts.c, without unwind tables of whole files. */
#define layout_inherit(child, child_slot, parent, parent_slot) ((void)0)
