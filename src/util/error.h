/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Errors are values. A function that can fail returns `struct error *`: NULL is
 * success, anything else is owned by the caller, who passes it up, turns it into
 * a degraded result, or destroys it. Only cli/run.c prints one.
 */
#ifndef UTIL_ERROR_H
#define UTIL_ERROR_H

#include <stdarg.h>

enum error_code {
	ERROR_NO_MEMORY = 1,
	ERROR_USAGE,       /* the command line: exit status 2 */
	ERROR_NOT_FOUND,   /* not found as may be expected: a symbol, file, process */
	ERROR_PERMISSION,  /* a capability or a file mode is missing */
	ERROR_UNSUPPORTED, /* by the kernel; or the kind of target or file */
	ERROR_UNSAFE,      /* it could end the target */
	ERROR_MALFORMED,   /* hostile or damaged input */
	ERROR_IO,          /* a system call failed */
	ERROR_GONE,        /* the target exited meanwhile */
	ERROR_COMPILE,     /* libbcc or the verifier refused our program */
};

struct error {
	enum error_code code;
	int saved_errno; /* 0 when no system call was involved */
	char *message;   /* one line, no newline; names pid, path or symbol */
	char *detail;    /* NULL, or several lines, shown with -v only */
};

/*
 * Create an error with a printf-style message. Never returns NULL: if memory is out it
 * returns a static error, which error_destroy() ignores.
 */
struct error *error_create(enum error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result, returns_nonnull));

/* Like error_create(), with ": strerror(err)" appended and saved_errno set to `err`. */
struct error *error_errno(enum error_code code, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4), warn_unused_result, returns_nonnull));

/* The static out-of-memory error. */
struct error *error_no_memory(void) __attribute__((warn_unused_result, returns_nonnull));

/* Prepend "prefix: " to the message of `err` and return `err`. NULL for NULL. */
struct error *error_prefix(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));

/* Set the detail (copied, may be NULL) and return `err`. */
struct error *error_with_detail(struct error *err, const char *detail)
	__attribute__((warn_unused_result));

/* The first error of two operations that were both executed, or NULL. Frees the second
 * error if both failed. */
struct error *error_first(struct error *first, struct error *second)
	__attribute__((warn_unused_result));

/* For what may be missing: keeps an error only if memory is out. Frees any other one, and
 * returns NULL. NULL for NULL. */
struct error *error_only_no_memory(struct error *err) __attribute__((warn_unused_result));

/* Free an error; NULL is fine. */
void error_destroy(struct error *err);

#endif
