/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of descriptors, which all threads of the process share. A library that closes
 * numbers that are not its own (symbol/fd_guard.h) can be kept from harm only while
 * nobody else opens or closes any: a number that is free for a moment would have two
 * owners. Threads that open and close files hold the table for as long.
 */
#ifndef UTIL_FD_TABLE_H
#define UTIL_FD_TABLE_H

/* Not recursive. Taken last: whoever holds it waits for no other lock. */
void fd_table_hold(void);
void fd_table_release(void);

#endif
