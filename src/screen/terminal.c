// SPDX-License-Identifier: Apache-2.0
#define NCURSES_WIDECHAR 1
#include "screen/terminal.h"

#include <curses.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>
#include <wchar.h>

#include "screen/keys.h"
#include "util/cleanup.h"

/* How long ncurses waits for the rest of a key's sequence behind ESC, ms. */
#define ESCAPE_DELAY_MS 25
#define DOUBLE_CLICK_MS 250

struct screen_terminal {
	SCREEN *screen;
	struct termios found; /* how the terminal was */
	bool has_found, color;
};

/* --- opening ------------------------------------------------------------------------ */

/* ncurses decodes by the locale. If that is missing on this machine, one that is always
 * there has the same characters. */
static void choose_locale(bool utf8)
{
	const char *found = setlocale(LC_CTYPE, "");

	if (utf8 && (!found || MB_CUR_MAX < 2))
		found = setlocale(LC_CTYPE, "C.UTF-8");
	(void)found;
}

static void start_colors(struct screen_terminal *terminal)
{
	static const short colors[CANVAS_STYLES] = {
		[CANVAS_HEADING] = COLOR_BLUE,
		[CANVAS_WARNING] = COLOR_RED,
		[CANVAS_BAR] = COLOR_GREEN,
		[CANVAS_KEY] = COLOR_MAGENTA,
	};

	/* The terminal's own background, which may be dark or light. */
	terminal->color = terminal->color && has_colors() && start_color() == OK &&
			  use_default_colors() == OK;
	for (short i = 0; terminal->color && i < CANVAS_STYLES; i++)
		if (colors[i])
			init_pair((short)(i + 1), colors[i], -1);
}

static void set_modes(void)
{
	struct termios now;

	raw();
	noecho();
	nonl();
	keypad(stdscr, TRUE);
	nodelay(stdscr, TRUE);
	curs_set(0);
	mousemask(BUTTON1_PRESSED | BUTTON1_CLICKED | BUTTON1_DOUBLE_CLICKED |
			  BUTTON4_PRESSED | BUTTON5_PRESSED,
		  NULL);
	mouseinterval(DOUBLE_CLICK_MS);
	/* Ctrl-\ is left: it ends a program that does not answer. */
	if (!tcgetattr(STDIN_FILENO, &now)) {
		now.c_lflag |= ISIG;
		now.c_cc[VINTR] = now.c_cc[VSUSP] = _POSIX_VDISABLE;
		tcsetattr(STDIN_FILENO, TCSANOW, &now);
		def_prog_mode();
	}
}

struct screen_terminal *terminal_open(bool color, bool utf8)
{
	struct screen_terminal *terminal = calloc(1, sizeof(*terminal));

	if (!terminal)
		return NULL;
	terminal->color = color;
	terminal->has_found = !tcgetattr(STDIN_FILENO, &terminal->found);
	choose_locale(utf8);
	set_escdelay(ESCAPE_DELAY_MS);
	terminal->screen = newterm(NULL, stdout, stdin);
	if (!terminal->screen) {
		free(terminal);
		return NULL;
	}
	start_colors(terminal);
	set_modes();
	return terminal;
}

void terminal_close(struct screen_terminal *terminal)
{
	if (!terminal)
		return;
	terminal_leave(terminal);
	delscreen(terminal->screen);
	free(terminal);
}

void terminal_leave(struct screen_terminal *terminal)
{
	endwin();
	if (terminal->has_found)
		tcsetattr(STDIN_FILENO, TCSADRAIN, &terminal->found);
	fflush(stdout);
}

void terminal_return(struct screen_terminal *terminal)
{
	terminal->has_found = !tcgetattr(STDIN_FILENO, &terminal->found);
	reset_prog_mode();
	clearok(curscr, TRUE);
	refresh();
}

void terminal_measure(struct screen_terminal *terminal, unsigned *columns,
		      unsigned *lines)
{
	struct winsize size;

	(void)terminal;
	if (!ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) && size.ws_col && size.ws_row &&
	    (size.ws_col != COLS || size.ws_row != LINES))
		resizeterm(size.ws_row, size.ws_col);
	*columns = (unsigned)COLS;
	*lines = (unsigned)LINES;
}

/* --- drawing ------------------------------------------------------------------------ */

static attr_t attributes(const struct screen_terminal *terminal,
			 const struct canvas_piece *piece)
{
	static const attr_t of[CANVAS_STYLES] = {
		[CANVAS_TITLE] = A_BOLD, [CANVAS_HEADING] = A_BOLD,
		[CANVAS_DIM] = A_DIM,    [CANVAS_WARNING] = A_BOLD,
		[CANVAS_KEY] = A_BOLD,
	};
	attr_t ret = of[piece->style];

	/* Colours of the inverted line would be hard to read. */
	if (piece->is_selected)
		return (ret & ~(attr_t)A_DIM) | A_REVERSE;
	if (terminal->color && piece->style != CANVAS_PLAIN &&
	    piece->style != CANVAS_TITLE && piece->style != CANVAS_DIM)
		ret |= COLOR_PAIR(piece->style + 1);
	return ret;
}

/* Put one piece, character by character: no more columns than it has, and no character
 * that the terminal would not show as one. */
static void put_piece(const struct screen_terminal *terminal,
		      const struct canvas_piece *piece, const char *text, int columns)
{
	int x = (int)piece->x;
	mbstate_t state = {0};

	attrset(attributes(terminal, piece));
	while (*text && x < columns) {
		wchar_t c;
		size_t bytes = mbrtowc(&c, text, strlen(text), &state);
		int width;

		if (bytes == 0 || bytes > strlen(text)) {
			c = L'?';
			bytes = 1;
			state = (mbstate_t){0};
		}
		width = wcwidth(c);
		if (width < 1) {
			c = L'?';
			width = 1;
		}
		if (x + width > columns)
			break;
		/* Writing into the last cell would scroll, which is harmless: the window
		 * does not scroll. */
		mvaddnwstr((int)piece->y, x, &c, 1);
		x += width;
		text += bytes;
	}
	attrset(A_NORMAL);
}

void terminal_draw(struct screen_terminal *terminal, const struct canvas *canvas,
		   bool anew)
{
	erase();
	if (canvas->texts.failed)
		mvaddstr(0, 0, "out of memory");
	vec_foreach (piece, &canvas->pieces)
		if (!canvas->texts.failed)
			put_piece(terminal, piece, canvas->texts.data + piece->text,
				  COLS);
	if (anew)
		clearok(curscr, TRUE);
	refresh();
}

/* --- keys --------------------------------------------------------------------------- */

static int translate(int key)
{
	static const struct {
		int from, to;
	} keys[] = {
		{KEY_UP, SCREEN_KEY_UP},           {KEY_DOWN, SCREEN_KEY_DOWN},
		{KEY_PPAGE, SCREEN_KEY_PAGE_UP},   {KEY_NPAGE, SCREEN_KEY_PAGE_DOWN},
		{KEY_HOME, SCREEN_KEY_TOP},        {KEY_END, SCREEN_KEY_BOTTOM},
		{KEY_LEFT, SCREEN_KEY_LEFT},       {KEY_RIGHT, SCREEN_KEY_RIGHT},
		{KEY_BACKSPACE, SCREEN_KEY_ERASE}, {KEY_DC, SCREEN_KEY_ERASE},
		{KEY_ENTER, SCREEN_KEY_ENTER},     {KEY_RESIZE, SCREEN_KEY_REDRAW},
	};

	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].from == key)
			return keys[i].to;
	return 0;
}

static enum terminal_event read_mouse(int *key, unsigned *x, unsigned *y)
{
	MEVENT event;

	if (getmouse(&event) != OK || event.x < 0 || event.y < 0)
		return TERMINAL_NONE;
	*x = (unsigned)event.x;
	*y = (unsigned)event.y;
	if (event.bstate & BUTTON4_PRESSED) {
		*key = SCREEN_KEY_UP;
		return TERMINAL_KEY;
	}
	if (event.bstate & BUTTON5_PRESSED) {
		*key = SCREEN_KEY_DOWN;
		return TERMINAL_KEY;
	}
	return event.bstate & BUTTON1_DOUBLE_CLICKED ? TERMINAL_DOUBLE_CLICK
						     : TERMINAL_CLICK;
}

enum terminal_event terminal_read(struct screen_terminal *terminal, int *key, unsigned *x,
				  unsigned *y)
{
	wint_t c;
	int result = get_wch(&c);

	(void)terminal;
	*key = 0;
	if (result == ERR)
		return TERMINAL_NONE;
	if (result == KEY_CODE_YES && c == KEY_MOUSE)
		return read_mouse(key, x, y);
	*key = result == KEY_CODE_YES ? translate((int)c) : (int)c;
	/* An unknown key is read, and does nothing. */
	return TERMINAL_KEY;
}
