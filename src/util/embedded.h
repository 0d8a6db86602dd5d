/* SPDX-License-Identifier: Apache-2.0 */
/* Files that cmake/Embed.cmake puts into the binary. */
#ifndef UTIL_EMBEDDED_H
#define UTIL_EMBEDDED_H

struct embedded_file {
	const char *
		name; /* relative to the ROOT argument of Embed.cmake; NULL ends a list */
	const char *text;
};

#endif
