/* SPDX-License-Identifier: Apache-2.0 */
/* A file that memtrace must not open, although the target makes a path lead to it. */
#ifndef LIVE_DECOY_H
#define LIVE_DECOY_H

struct decoy {
	int watch; /* inotify(7) descriptor */
};

/* Watch for opens of the file that `path` leads to now. Finding it with O_PATH does not
 * count. Ends the test if inotify does not work. */
struct decoy decoy_watch(const char *path);

/* Check that the file was not opened, and stop watching. Failure messages name it
 * `what`. */
void decoy_check(struct decoy *decoy, const char *what);

#endif
