/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The parent of the running process is not known, or its pid is one of another pid
 * namespace than memtrace's. No process is taken to use another one's memory. */

#define parent_tgid() 0
#define lender_tgid() 0
