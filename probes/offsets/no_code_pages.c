/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The number of executable pages is not known, or not needed: probes notice a change of
 * code only when the dynamic linker reports it, and processes share no stacks. */

#define code_look(process)            ((void)0)
#define code_look_at_tick(process)    ((void)0)
#define code_look_again(process)      ((void)0)
#define linker_reports_code(process)  code_has_changed((process), ABI_CODE_USDT)
#define code_pages_settle(process)    ((void)0)
#define family_inherit(child, parent) ((void)0)
