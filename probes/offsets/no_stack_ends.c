/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Where the stacks of threads end is not known. */

#define miss_page_count(sp) ABI_MISS_PAGES
