// SPDX-License-Identifier: Apache-2.0
#include "util/error.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct error out_of_memory = {
	.code = ERROR_NO_MEMORY,
	.message = (char[]){"out of memory"},
};

struct error *error_no_memory(void)
{
	return &out_of_memory;
}

static struct error *error_from(enum error_code code, int err, char *message)
{
	struct error *e = message ? malloc(sizeof(*e)) : NULL;

	if (!e) {
		free(message);
		return error_no_memory();
	}
	*e = (struct error){.code = code, .saved_errno = err, .message = message};
	return e;
}

static char *format_message(const char *format, va_list ap)
{
	char *message;

	return vasprintf(&message, format, ap) < 0 ? NULL : message;
}

struct error *error_create(enum error_code code, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	char *message = format_message(format, ap);
	va_end(ap);
	return error_from(code, 0, message);
}

struct error *error_errno(enum error_code code, int err, const char *format, ...)
{
	va_list ap;

	va_start(ap, format);
	char *text = format_message(format, ap);
	va_end(ap);

	char *message;
	if (!text || asprintf(&message, "%s: %s", text, strerror(err)) < 0)
		message = NULL;
	free(text);
	return error_from(code, err, message);
}

struct error *error_prefix(struct error *err, const char *format, ...)
{
	if (!err || err == &out_of_memory)
		return err;

	va_list ap;

	va_start(ap, format);
	char *prefix = format_message(format, ap);
	va_end(ap);

	char *message;
	if (prefix && asprintf(&message, "%s: %s", prefix, err->message) >= 0) {
		free(err->message);
		err->message = message;
	}
	free(prefix);
	return err;
}

struct error *error_with_detail(struct error *err, const char *detail)
{
	if (err && err != &out_of_memory && detail && *detail) {
		free(err->detail);
		err->detail = strdup(detail);
	}
	return err;
}

struct error *error_first(struct error *first, struct error *second)
{
	if (!first)
		return second;
	error_destroy(second);
	return first;
}

struct error *error_only_no_memory(struct error *err)
{
	if (!err || err->code == ERROR_NO_MEMORY)
		return err;
	error_destroy(err);
	return NULL;
}

void error_destroy(struct error *err)
{
	if (!err || err == &out_of_memory)
		return;
	free(err->message);
	free(err->detail);
	free(err);
}
