/* SPDX-License-Identifier: Apache-2.0 */
/* Which packages of this machine own files, so that a message can name their debug
 * packages. */
#ifndef OUTPUT_DEBUG_PACKAGES_H
#define OUTPUT_DEBUG_PACKAGES_H

#include <stddef.h>

enum package_system {
	PACKAGES_UNKNOWN,
	PACKAGES_DPKG,
	PACKAGES_RPM, /* its database is not read */
};

/* The package system of the machine whose root directory is `root` ("/"). */
enum package_system packages_system(const char *root);

/*
 * Look up in dpkg's lists of files (dpkg(1), /var/lib/dpkg/info/PACKAGE.list) which
 * package owns each of `count` absolute paths. Nothing else is opened. A path below /usr
 * is found without "/usr" too, as in packages from before the merge of /lib and /usr/lib.
 * ret[i]: the package's name, the caller's; NULL: unknown, also if memory is out, the
 * lists exceed 64 MB, or reading them takes over 0.3 s.
 */
void packages_find(const char *root, const char *const paths[], size_t count,
		   char *ret[]);

#endif
