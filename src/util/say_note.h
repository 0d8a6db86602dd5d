/* SPDX-License-Identifier: Apache-2.0 */
/* Prints notes and warnings on standard error. */
#ifndef UTIL_SAY_NOTE_H
#define UTIL_SAY_NOTE_H

/* Print "memtrace: TEXT" as one line, of any length. One write, so that the lines of
 * several threads do not mix; only if memory is out, there are several writes. Names
 * that the target chose must be escaped by the caller (util/escape.h). */
void say_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
