/* SPDX-License-Identifier: Apache-2.0 */
/* The terminal that reports go to. */
#ifndef OUTPUT_TERMINAL_H
#define OUTPUT_TERMINAL_H

/* The size of the terminal `fd` at present. Both are 0 if it is unknown, as when `fd` is
 * no terminal. */
void terminal_size(int fd, unsigned *columns, unsigned *lines);

#endif
