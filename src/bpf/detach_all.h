/* SPDX-License-Identifier: Apache-2.0 */
/* The end of a process that cannot end in order. */
#ifndef BPF_DETACH_ALL_H
#define BPF_DETACH_ALL_H

/*
 * Take away every probe of this process, whoever put it there: close all links and perf
 * events that it has open. The process must end now, as other threads may still use the
 * descriptors. For any thread. Lasts about 0.1 s. The kernel may take some seconds to
 * remove perf events; a process of their own waits for that.
 */
void detach_all(void);

#endif
