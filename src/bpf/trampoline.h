/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does this kernel let its return trampoline pass what may confine a process
 * (target/confinement.h)? A release number does not tell: kernels from 6.11 on have the
 * system call, and stable kernels got the exception from seccomp at different times. So a
 * child of ours confines itself and calls a function that has a return probe.
 */
#ifndef BPF_TRAMPOLINE_H
#define BPF_TRAMPOLINE_H

enum trampoline_verdict {
	TRAMPOLINE_PASSES,   /* the child lived, or no process can be confined so */
	TRAMPOLINE_KILLS,    /* the child was killed where it was expected */
	TRAMPOLINE_UNTESTED, /* the test was not possible: assume the worst */
};

/*
 * Test a seccomp filter that allows nothing but to exit, a user shadow stack, and syscall
 * user dispatch. Each
 * call forks a child, which attaches the probe to itself alone, and waits for its end:
 * 50 to 100 ms, most of it for the kernel to remove the probe. The child, and with it the
 * probe, ends with the calling thread. Needs the privileges that attaching needs.
 */
enum trampoline_verdict trampoline_test_seccomp(void);
enum trampoline_verdict trampoline_test_shadow_stack(void);
enum trampoline_verdict trampoline_test_dispatch(void);

#endif
