// SPDX-License-Identifier: Apache-2.0
#include "util/say_note.h"

#include <stdarg.h>
#include <stdio.h>

#include "util/cleanup.h"
#include "util/strbuf.h"

#define PREFIX "memtrace: "

__attribute__((format(printf, 1, 0))) static void print_in_parts(const char *format,
								 va_list ap)
{
	flockfile(stderr);
	fputs(PREFIX, stderr);
	vfprintf(stderr, format, ap);
	fputc('\n', stderr);
	funlockfile(stderr);
}

void say_note(const char *format, ...)
{
	_cleanup_(strbuf_deinit) struct strbuf line = {0};
	va_list ap, again;

	va_start(ap, format);
	va_copy(again, ap);
	strbuf_append(&line, PREFIX);
	strbuf_appendv(&line, format, ap);
	strbuf_append_char(&line, '\n');
	if (line.failed)
		print_in_parts(format, again);
	else
		fwrite(line.data, 1, line.len, stderr);
	va_end(again);
	va_end(ap);
}
