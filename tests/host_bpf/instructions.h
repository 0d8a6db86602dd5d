/* SPDX-License-Identifier: Apache-2.0 */
/* Takes the place of probes/instructions.c when the probes are compiled for the host. */
#ifndef HOST_BPF_INSTRUCTIONS_H
#define HOST_BPF_INSTRUCTIONS_H

#define ALWAYS_INLINE      static inline __attribute__((unused))
#define compiler_barrier() __asm__ __volatile__("" : : : "memory")
#define barrier_var(value) __asm__ __volatile__("" : "+r"(value))
#define READ_ONCE(lvalue)  (*(const volatile __typeof__(lvalue) *)&(lvalue))
#define run_value(which)   host_run_values[which]

/* Another program may run before each atomic operation. */
#define store_release(p, value)                                                          \
	(host_point("atomic"), __atomic_store_n((p), (value), __ATOMIC_RELEASE))
#define load_acquire(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define __sync_fetch_and_add(p, n)                                                       \
	(host_point("atomic"), __atomic_fetch_add((p), (n), __ATOMIC_SEQ_CST))
#define __sync_lock_test_and_set(p, value)                                               \
	(host_point("atomic"), __atomic_exchange_n((p), (value), __ATOMIC_SEQ_CST))
#define __sync_val_compare_and_swap(p, old, value)                                       \
	(host_point("atomic"), __extension__({                                           \
		 __typeof__(*(p)) old_ = (old);                                          \
		 __atomic_compare_exchange_n((p), &old_, (value), 0, __ATOMIC_SEQ_CST,   \
					     __ATOMIC_SEQ_CST);                          \
		 old_;                                                                   \
	 }))
#define __sync_bool_compare_and_swap(p, old, value)                                      \
	(__sync_val_compare_and_swap((p), (old), (value)) == (old))

#define HELPER_158     ((void *)host_current_task)
#define HELPER_173     ((void *)host_func_ip)
#define HELPER_174     ((void *)host_attach_cookie)
#define HELPER_175     ((void *)host_task_pt_regs)
#define HELPER(number) HELPER_##number

#endif
