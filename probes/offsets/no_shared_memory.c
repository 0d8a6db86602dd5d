/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Whether processes share their memory is not known. */
#define shares_memory(ctx) 0
