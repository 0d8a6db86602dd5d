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
	ERROR_NOT_FOUND,   /* an expected miss: no such symbol, file, process */
	ERROR_PERMISSION,  /* a capability or a file mode is missing */
	ERROR_UNSUPPORTED, /* the kernel, the target's kind, a file's kind */
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
	char *detail;    /* NULL, or many lines that are shown under -v only */
};

/*
 * Make an error with a printf-style message. Never returns NULL: when memory is
 * out it returns a static error that error_destroy() leaves alone.
 */
struct error *error_create(enum error_code code, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result, returns_nonnull));

/* The same, with ": strerror(err)" appended and saved_errno set to `err`. */
struct error *error_errno(enum error_code code, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4), warn_unused_result, returns_nonnull));

/* The static out-of-memory error. */
struct error *error_no_memory(void) __attribute__((warn_unused_result, returns_nonnull));

/* Put "prefix: " before the message of `err` and return it. Takes NULL, gives NULL. */
struct error *error_prefix(struct error *err, const char *format, ...)
	__attribute__((format(printf, 2, 3), warn_unused_result));

/* Attach many-line detail (copied, may be NULL) and return `err`. */
struct error *error_with_detail(struct error *err, const char *detail)
	__attribute__((warn_unused_result));

/* Of two things that were both done the first error, or NULL; a second one is freed. */
struct error *error_first(struct error *first, struct error *second)
	__attribute__((warn_unused_result));

/* Free an error; NULL is fine. */
void error_destroy(struct error *err);

#endif
