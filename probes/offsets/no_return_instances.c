/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The return addresses that return probes have replaced are not known. */

#define miss_replacements(r) 0
