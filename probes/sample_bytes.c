/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The table of --sample-bytes (abi.h). */

BPF_F_TABLE("array", u32, struct abi_sample, samples, ABI_SAMPLE_CLASSES, BPF_F_MMAPABLE);

ALWAYS_INLINE struct abi_sample *sample_of(u64 size_bytes)
{
	short_key at = abi_sample_class(size_bytes);

	return samples.lookup(&at);
}
