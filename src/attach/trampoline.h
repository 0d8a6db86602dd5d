/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests whether the return trampoline of this kernel works in a process that is confined
 * (tracees/confinement.h). The kernel's version does not say so: kernels have had the
 * system call since 6.11, but stable kernels exempted it from seccomp at different times.
 * So a child process confines itself and calls a function that has a return probe.
 */
#ifndef ATTACH_TRAMPOLINE_H
#define ATTACH_TRAMPOLINE_H

enum trampoline_verdict {
	/* the child survived, or this confinement does not exist here */
	TRAMPOLINE_PASSES,
	TRAMPOLINE_KILLS,    /* the child was killed as expected */
	TRAMPOLINE_UNTESTED, /* the test could not be run: assume the worst */
};

/*
 * Test with a seccomp filter that allows only exit_group(), with a user shadow stack, and
 * with syscall user dispatch. Each call forks a child that attaches the probe to itself
 * only, and waits for the child to end: 50 to 100 ms, mostly for the kernel to remove the
 * probe. The child and its probe end when the calling thread ends. Needs the privileges
 * that attaching needs.
 */
enum trampoline_verdict trampoline_test_seccomp(void);
enum trampoline_verdict trampoline_test_shadow_stack(void);
enum trampoline_verdict trampoline_test_dispatch(void);

#endif
