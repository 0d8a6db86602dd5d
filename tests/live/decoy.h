/* SPDX-License-Identifier: Apache-2.0 */
/* A file that memtrace must not open, although the target makes a path lead to it. */
#ifndef LIVE_DECOY_H
#define LIVE_DECOY_H

struct decoy {
	int watch; /* of inotify(7) */
};

/* Watch who opens the file that `path` leads to from now on. To find it (O_PATH) is not
 * to open it. Ends the test where the kernel does not watch. */
struct decoy decoy_watch(const char *path);

/* Nobody has opened it. `what` is printed if somebody has. */
void decoy_check(struct decoy *decoy, const char *what);

#endif
