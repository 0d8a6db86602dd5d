/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lock for the table of descriptors, which all threads share. libbcc closes
 * descriptor numbers that it does not own (symbol/fd_guard.h). This can be made
 * harmless only while no other thread opens or closes a descriptor: otherwise a number
 * that is briefly free could get two owners. Threads hold this lock while they open and
 * close files.
 */
#ifndef UTIL_FD_TABLE_H
#define UTIL_FD_TABLE_H

/* Not recursive. Take it last: a thread must not wait for another lock while it holds
 * this one. */
void fd_table_hold(void);
void fd_table_release(void);

/* In a forked child, which has only the calling thread. */
void fd_table_cut_off(void);

#endif
