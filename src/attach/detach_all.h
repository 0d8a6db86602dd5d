/* SPDX-License-Identifier: Apache-2.0 */
/* Removes all probes when the process has to end at once. */
#ifndef ATTACH_DETACH_ALL_H
#define ATTACH_DETACH_ALL_H

/*
 * Remove every probe of this process, whichever part of memtrace attached it: close all
 * links and perf events that are open. The process must exit afterwards, since other
 * threads may still use the descriptors. Can be called from any thread. Takes about
 * 0.1 s. The kernel may need some seconds to remove perf events; a separate process waits
 * for that.
 */
void detach_all(void);

/* In a forked child: close the copies of these descriptors. The probes remain. */
void detach_close_copies(void);

#endif
