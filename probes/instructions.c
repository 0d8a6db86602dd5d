/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What depends on the compiler and on BPF's instructions. The tests compile all other
 * fragments for the host, with tests/host_bpf/instructions.h in place of this one.
 */

#define ALWAYS_INLINE static __attribute__((always_inline)) inline

/* The compiler must not move memory accesses across this. */
#define compiler_barrier() __asm__ __volatile__("" : : : "memory")

/* Hide a value from the compiler (as barrier_var() of libbpf). The compiler then does not
 * branch on the value; the verifier would follow both sides. It does not remove checks of
 * the value that the verifier needs. It does not select an address to load the value
 * from. */
#define barrier_var(value) __asm__ __volatile__("" : "+r"(value))

/* A key of 4 bytes on the stack of a program. The kernel reads the first 4 of its 8 bytes:
 * little-endian. The verifier takes an 8-byte slot of the stack as overwritten only by a
 * store of 8 bytes. After a smaller store it still distinguishes states by what was in the
 * slot before, and follows all that comes next once for each (kernel/bpf/verifier.c,
 * check_stack_write_fixed_off()). */
typedef u64 short_key;

/* An access that may race with another program's, marked as in the kernel. */
#define READ_ONCE(lvalue) (*(const volatile __typeof__(lvalue) *)&(lvalue))

/* A value of this run (enum abi_run_value). The instruction that loads it contains all 64
 * bits. memtrace patches them when it loads the program (bpf/code_load.h). */
#define run_value(which)                                                                 \
	({                                                                               \
		u64 run_value_;                                                          \
                                                                                         \
		__asm__("%0 = %1 ll" : "=r"(run_value_) : "i"(ABI_RUN_MAGIC + (which))); \
		run_value_;                                                              \
	})

/* Store-release: earlier stores become visible before `value`. x86 keeps stores in
 * order. */
#if defined(__TARGET_ARCH_x86)
#define store_release(p, value)                                                                \
	do {                                                                             \
		compiler_barrier();                                                      \
		*(volatile __typeof__(*(p)) *)(p) = (value);                             \
	} while (0)
#else
#define store_release(p, value) ((void)__sync_lock_test_and_set((p), (value)))
#endif

/* Load-acquire: later accesses come after it. x86 keeps loads in order. */
#define load_acquire(p)                                                                  \
	({                                                                               \
		__typeof__(*(p)) loaded_ = READ_ONCE(*(p));                              \
                                                                                         \
		compiler_barrier();                                                      \
		loaded_;                                                                 \
	})

/* A helper of the kernel by its number. Some versions of libbcc do not declare newer
 * ones. */
#define HELPER(number) ((void *)(number))
