// SPDX-License-Identifier: Apache-2.0
/*
 * The probes mark accesses that may race with others by `volatile`, as the kernel's code
 * does (READ_ONCE(), KCSAN). With --param=tsan-distinguish-volatile=1 gcc calls these
 * functions for them. They report nothing: only accesses without a mark are checked.
 */
#define MARKED(name)                                                                     \
	void __tsan_volatile_##name(void *at);                                           \
	void __tsan_volatile_##name(void *at)                                            \
	{                                                                                \
		(void)at;                                                                \
	}

MARKED(read1)
MARKED(read2)
MARKED(read4)
MARKED(read8)
MARKED(read16)
MARKED(write1)
MARKED(write2)
MARKED(write4)
MARKED(write8)
MARKED(write16)
