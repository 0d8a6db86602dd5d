/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The address of the trampoline is not known. A pending return probe is assumed to have
 * its trampoline in place. */

#define trampoline_address() 0ull
#define trampoline_at(at)    0ull
#define xol_page_count(mm)   0
