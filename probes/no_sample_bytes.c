/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of sample_bytes.c, without --sample-bytes. */
#define sample_of(size_bytes) ((struct abi_sample *)NULL)
