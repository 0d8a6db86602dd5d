// SPDX-License-Identifier: Apache-2.0
/* Apart, because <term.h> defines words such as "columns" and "lines". */
#include "screen/terminal.h"

#include <curses.h>
#include <string.h>
#include <term.h>
#include <unistd.h>

#include "util/cleanup.h"

/* xterm, "Mouse Tracking": off. */
#define MOUSE_OFF "\033[?1000l\033[?1002l\033[?1003l\033[?1006l"

static void append_string(struct strbuf *out, const char *capability)
{
	const char *text = tigetstr(capability);

	/* ncurses leaves waiting times in: "$<5>". */
	if (text && text != (char *)-1)
		strbuf_append_bytes(out, text, strcspn(text, "$"));
}

bool terminal_prepare(char *restore, size_t size, size_t *len)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	int result;

	*len = 0;
	if (setupterm(NULL, STDOUT_FILENO, &result) != OK)
		return false;
	if (!tigetstr("cup") || tigetstr("cup") == (char *)-1)
		return false;
	if (tigetstr("kmous") && tigetstr("kmous") != (char *)-1)
		strbuf_append(&text, MOUSE_OFF);
	append_string(&text, "sgr0");
	append_string(&text, "op");
	append_string(&text, "rmkx");
	append_string(&text, "cnorm");
	append_string(&text, "rmcup");
	if (text.failed || text.len > size)
		return false;
	memcpy(restore, strbuf_text(&text), text.len);
	*len = text.len;
	return true;
}
