// SPDX-License-Identifier: Apache-2.0
#include "vt.h"

#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vterm.h>

#define COLUMNS_MAX 256
#define LINES_MAX   128
#define POLL_MS     10

struct vt {
	VTerm *terminal;
	VTermScreen *screen;
	int master, slave; /* `slave` keeps the terminal's modes when the program ends */
	pid_t pid;         /* 0: it was waited for */
	int status;
	unsigned columns, lines;
	bool is_alternate, has_cursor;
	char *written; /* everything, NUL-terminated */
	size_t written_len;
	char text[LINES_MAX * (COLUMNS_MAX * 6 + 1) + 1];
};

static int set_property(VTermProp property, VTermValue *value, void *arg)
{
	struct vt *vt = arg;

	if (property == VTERM_PROP_ALTSCREEN)
		vt->is_alternate = value->boolean;
	if (property == VTERM_PROP_CURSORVISIBLE)
		vt->has_cursor = value->boolean;
	return 1;
}

static const VTermScreenCallbacks callbacks = {.settermprop = set_property};

_Noreturn static void run(const struct vt_options *options, int slave)
{
	setsid();
	ioctl(slave, TIOCSCTTY, 0);
	for (int fd = 0; fd < 3; fd++)
		dup2(slave, fd);
	setenv("TERM", "xterm-256color", 1);
	setenv("LC_ALL", "C.UTF-8", 1);
	setenv("TZ", "UTC", 1);
	unsetenv("NO_COLOR");
	for (size_t i = 0; options->env && options->env[i]; i++) {
		if (strchr(options->env[i], '='))
			putenv((char *)options->env[i]);
		else
			unsetenv(options->env[i]);
	}
	execv(options->argv[0], (char *const *)options->argv);
	_exit(127);
}

static void open_terminal(struct vt *vt)
{
	const struct winsize size = {.ws_row = (unsigned short)vt->lines,
				     .ws_col = (unsigned short)vt->columns};

	vt->master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	REQUIRE(vt->master >= 0 && !grantpt(vt->master) && !unlockpt(vt->master));
	vt->slave = open(ptsname(vt->master), O_RDWR | O_NOCTTY | O_CLOEXEC);
	REQUIRE(vt->slave >= 0 && !ioctl(vt->master, TIOCSWINSZ, &size));
	vt->terminal = vterm_new((int)vt->lines, (int)vt->columns);
	REQUIRE(vt->terminal);
	vterm_set_utf8(vt->terminal, 1);
	vt->screen = vterm_obtain_screen(vt->terminal);
	vterm_screen_set_callbacks(vt->screen, &callbacks, vt);
	vterm_screen_enable_altscreen(vt->screen, 1);
	vterm_screen_reset(vt->screen, 1);
}

struct vt *vt_start(const struct vt_options *options)
{
	struct vt *vt = calloc(1, sizeof(*vt));

	REQUIRE(vt && options->columns <= COLUMNS_MAX && options->lines <= LINES_MAX);
	vt->columns = options->columns;
	vt->lines = options->lines;
	vt->has_cursor = true;
	open_terminal(vt);
	fflush(NULL);
	vt->pid = fork();
	REQUIRE(vt->pid >= 0);
	if (!vt->pid)
		run(options, vt->slave);
	return vt;
}

void vt_destroy(struct vt *vt)
{
	if (vt->pid) {
		kill(vt->pid, SIGKILL);
		waitpid(vt->pid, &vt->status, 0);
	}
	vterm_free(vt->terminal);
	close(vt->master);
	close(vt->slave);
	free(vt->written);
	free(vt);
}

pid_t vt_pid(const struct vt *vt)
{
	return vt->pid;
}

void vt_press(struct vt *vt, const char *keys)
{
	REQUIRE(write(vt->master, keys, strlen(keys)) == (ssize_t)strlen(keys));
}

void vt_resize(struct vt *vt, unsigned columns, unsigned lines)
{
	const struct winsize size = {.ws_row = (unsigned short)lines,
				     .ws_col = (unsigned short)columns};

	REQUIRE(columns <= COLUMNS_MAX && lines <= LINES_MAX);
	vt->columns = columns;
	vt->lines = lines;
	vterm_set_size(vt->terminal, (int)lines, (int)columns);
	REQUIRE(!ioctl(vt->master, TIOCSWINSZ, &size));
}

/* Read what the terminal has, and show it. */
static void show(struct vt *vt)
{
	char bytes[4096];
	ssize_t n = read(vt->master, bytes, sizeof(bytes));

	if (n <= 0)
		return;
	vt->written = realloc(vt->written, vt->written_len + (size_t)n + 1);
	REQUIRE(vt->written);
	memcpy(vt->written + vt->written_len, bytes, (size_t)n);
	vt->written_len += (size_t)n;
	vt->written[vt->written_len] = '\0';
	vterm_input_write(vt->terminal, bytes, (size_t)n);
}

static bool has_ended(struct vt *vt)
{
	if (vt->pid && waitpid(vt->pid, &vt->status, WNOHANG) == vt->pid)
		vt->pid = 0;
	return !vt->pid;
}

/* One step; false: there was nothing to read. */
static bool step(struct vt *vt, int timeout_ms)
{
	struct pollfd fd = {.fd = vt->master, .events = POLLIN};

	if (poll(&fd, 1, timeout_ms) <= 0)
		return false;
	show(vt);
	return true;
}

bool vt_run(struct vt *vt, int timeout_ms)
{
	double end_s = check_now_s() + timeout_ms / 1e3;

	do {
		if (!step(vt, POLL_MS) && has_ended(vt))
			return false;
	} while (check_now_s() < end_s);
	return true;
}

static bool wait_for(struct vt *vt, const char *text, bool is_there, int timeout_ms)
{
	double end_s = check_now_s() + timeout_ms / 1e3;

	for (;;) {
		while (step(vt, 0))
			;
		if ((strstr(vt_text(vt), text) != NULL) == is_there)
			return true;
		if (check_now_s() >= end_s)
			return false;
		step(vt, POLL_MS);
	}
}

bool vt_wait(struct vt *vt, const char *text, int timeout_ms)
{
	return wait_for(vt, text, true, timeout_ms);
}

bool vt_wait_gone(struct vt *vt, const char *text, int timeout_ms)
{
	return wait_for(vt, text, false, timeout_ms);
}

int vt_wait_end(struct vt *vt, int timeout_ms)
{
	double end_s = check_now_s() + timeout_ms / 1e3;

	while (!has_ended(vt) && check_now_s() < end_s)
		step(vt, POLL_MS);
	while (step(vt, 0))
		;
	return vt->pid ? -1 : vt->status;
}

static size_t put_character(char *to, uint32_t c)
{
	if (c < 0x80) {
		to[0] = (char)c;
		return 1;
	}
	if (c < 0x800) {
		to[0] = (char)(0xc0 | c >> 6);
		to[1] = (char)(0x80 | (c & 0x3f));
		return 2;
	}
	to[0] = (char)(0xe0 | c >> 12);
	to[1] = (char)(0x80 | (c >> 6 & 0x3f));
	to[2] = (char)(0x80 | (c & 0x3f));
	return 3;
}

static size_t put_line(struct vt *vt, unsigned line, char *to)
{
	size_t len = 0, end = 0;

	for (int x = 0; x < (int)vt->columns; x++) {
		VTermScreenCell cell;
		VTermPos at = {.row = (int)line, .col = x};

		if (!vterm_screen_get_cell(vt->screen, at, &cell))
			continue;
		/* The second half of a wide character. */
		if (cell.chars[0] == UINT32_MAX)
			continue;
		len += put_character(to + len, cell.chars[0] ? cell.chars[0] : ' ');
		if (cell.chars[0] && cell.chars[0] != ' ')
			end = len;
	}
	to[end] = '\n';
	return end + 1;
}

const char *vt_text(struct vt *vt)
{
	size_t len = 0;

	for (unsigned line = 0; line < vt->lines; line++)
		len += put_line(vt, line, vt->text + len);
	vt->text[len] = '\0';
	return vt->text;
}

const char *vt_line(struct vt *vt, unsigned line)
{
	size_t len = put_line(vt, line, vt->text);

	vt->text[len - 1] = '\0';
	return vt->text;
}

bool vt_is_alternate(const struct vt *vt)
{
	return vt->is_alternate;
}

bool vt_has_cursor(const struct vt *vt)
{
	return vt->has_cursor;
}

bool vt_has_mouse(const struct vt *vt)
{
	/* xterm's mode 1000. libvterm 0.1 overlooks it behind another mode. */
	const char *at = vt->written, *last = NULL;

	while (at && (at = strstr(at, "1000")) != NULL) {
		if (at[4] == 'h' || at[4] == 'l')
			last = at;
		at += 4;
	}
	return last && last[4] == 'h';
}

static bool any_cell(struct vt *vt, bool (*is_it)(const VTermScreenCell *cell))
{
	for (int y = 0; y < (int)vt->lines; y++) {
		for (int x = 0; x < (int)vt->columns; x++) {
			VTermScreenCell cell;
			VTermPos at = {.row = y, .col = x};

			if (vterm_screen_get_cell(vt->screen, at, &cell) && is_it(&cell))
				return true;
		}
	}
	return false;
}

static bool is_colored(const VTermScreenCell *cell)
{
	return !VTERM_COLOR_IS_DEFAULT_FG(&cell->fg) ||
	       !VTERM_COLOR_IS_DEFAULT_BG(&cell->bg);
}

static bool is_inverted(const VTermScreenCell *cell)
{
	return cell->attrs.reverse;
}

bool vt_has_colors(struct vt *vt)
{
	return any_cell(vt, is_colored);
}

bool vt_has_inverted(struct vt *vt)
{
	return any_cell(vt, is_inverted);
}

struct termios vt_modes(const struct vt *vt)
{
	struct termios modes;

	REQUIRE(!tcgetattr(vt->slave, &modes));
	return modes;
}

bool vt_has_written(const struct vt *vt, const char *bytes)
{
	return vt->written_len &&
	       memmem(vt->written, vt->written_len, bytes, strlen(bytes));
}
