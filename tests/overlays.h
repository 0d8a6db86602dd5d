/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TESTS_OVERLAYS_H
#define TESTS_OVERLAYS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* Does the kernel have overlay file systems? */
static inline bool has_overlays(void)
{
	FILE *file = fopen("/proc/filesystems", "re");
	char line[64];
	bool has = false;

	while (file && fgets(line, sizeof(line), file))
		has |= strstr(line, "\toverlay\n") != NULL;
	if (file)
		fclose(file);
	return has;
}

#endif
