// SPDX-License-Identifier: Apache-2.0
#include "output/terminal.h"

#include <sys/ioctl.h>

void terminal_size(int fd, unsigned *columns, unsigned *lines)
{
	struct winsize size = {0};

	/* A terminal whose size was never set reports 0. */
	if (ioctl(fd, TIOCGWINSZ, &size) < 0)
		size = (struct winsize){0};
	*columns = size.ws_col;
	*lines = size.ws_row;
}
