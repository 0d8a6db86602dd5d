// SPDX-License-Identifier: Apache-2.0
#include "browser/browser.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "util/cleanup.h"
#include "util/strbuf.h"

/* how long to wait for an answer before the test fails, ms */
#define PATIENCE_MS 30000

struct browser {
	pid_t pid;
	int to, from;
	struct strbuf in; /* bytes that were read and not yet handled */
	int id;           /* of the last command */
	char *session;
	const char *answer;
	bool loaded;
	struct strbuf errors, requests;
	char dir[64];
	unsigned files;
};

static const char *find_chromium(void)
{
	static const char *const paths[] = {"/usr/bin/chromium",
					    "/usr/bin/chromium-browser", NULL};

	for (const char *const *path = paths; *path; path++) {
		if (!access(*path, X_OK))
			return *path;
	}
	if (getenv("MEMTRACE_TEST_NO_BROWSER"))
		check_leave_out("this release has no package chromium");
	check_skip("no chromium (package chromium)");
	return NULL;
}

static void execute(const char *path, const char *dir, int in, int out)
{
	char data[256];
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	/* Move both away from 3 and 4, which the browser reads from and writes to. */
	int high_in = fcntl(in, F_DUPFD_CLOEXEC, 10);
	int high_out = fcntl(out, F_DUPFD_CLOEXEC, 10);

	snprintf(data, sizeof(data), "--user-data-dir=%s/profile", dir);
	setsid();
	/* Keep the browser from writing to the user's home directory. */
	setenv("HOME", dir, 1);
	if (dup2(high_in, 3) < 0 || dup2(high_out, 4) < 0 || dup2(null, 0) < 0 ||
	    dup2(null, 1) < 0 || dup2(null, 2) < 0)
		_exit(126);
	execl(path, path, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
	      "--disable-extensions", "--disable-background-networking",
	      "--disable-dev-shm-usage", "--host-resolver-rules=MAP * ~NOTFOUND",
	      "--remote-debugging-pipe", "--window-size=1300,1000", data, NULL);
	_exit(127);
}

static void send_message(struct browser *b, json_t *message)
{
	_cleanup_(freep) char *text = json_dumps(message, JSON_COMPACT);
	size_t len, done = 0;

	REQUIRE(text);
	/* The NUL ends the message. */
	for (len = strlen(text) + 1; done < len;) {
		ssize_t n = write(b->to, text + done, len - done);

		REQUIRE(n > 0 || (n < 0 && errno == EINTR));
		done += n > 0 ? (size_t)n : 0;
	}
	json_decref(message);
}

static json_t *read_message(struct browser *b)
{
	char buf[65536];

	for (;;) {
		size_t len = b->in.len ? strnlen(b->in.data, b->in.len) : 0;

		if (b->in.len > len) {
			json_t *message = json_loads(b->in.data, 0, NULL);

			REQUIRE(message);
			b->in.len -= len + 1;
			memmove(b->in.data, b->in.data + len + 1, b->in.len);
			return message;
		}

		struct pollfd fd = {.fd = b->from, .events = POLLIN};
		int ready = poll(&fd, 1, PATIENCE_MS);

		REQUIRE(ready > 0);

		ssize_t n = read(b->from, buf, sizeof(buf));

		REQUIRE(n > 0);
		strbuf_append_bytes(&b->in, buf, (size_t)n);
		REQUIRE(!b->in.failed);
	}
}

/* Consumes `params`. Returns the command's number. */
static int send_command(struct browser *b, const char *method, json_t *params)
{
	json_t *message = json_pack("{s:i, s:s, s:o}", "id", ++b->id, "method", method,
				    "params", params);

	REQUIRE(message);
	if (b->session)
		json_object_set_new(message, "sessionId", json_string(b->session));
	send_message(b, message);
	return b->id;
}

static void note(struct strbuf *list, const char *text)
{
	strbuf_appendf(list, "%s\n", text ? text : "?");
}

static void handle_event(struct browser *b, const char *method, json_t *params)
{
	const char *text = NULL, *type = "", *url = NULL;
	json_t *entry = json_object_get(params, "entry");

	if (!strcmp(method, "Page.loadEventFired")) {
		b->loaded = true;
	} else if (!strcmp(method, "Page.javascriptDialogOpening")) {
		send_command(b, "Page.handleJavaScriptDialog",
			     json_pack("{s:b, s:s}", "accept", b->answer != NULL,
				       "promptText", b->answer ? b->answer : ""));
	} else if (!strcmp(method, "Runtime.exceptionThrown")) {
		_cleanup_(freep) char *all = json_dumps(params, 0);

		note(&b->errors, all);
	} else if (!strcmp(method, "Runtime.consoleAPICalled")) {
		json_unpack(params, "{s:s}", "type", &type);
		note(&b->errors, type);
	} else if (!strcmp(method, "Log.entryAdded")) {
		json_unpack(entry, "{s:s}", "text", &text);
		note(&b->errors, text);
	} else if (!strcmp(method, "Network.requestWillBeSent")) {
		json_unpack(params, "{s:{s:s}}", "request", "url", &url);
		note(&b->requests, url);
	}
}

/* Handle one message. Returns true, with the result, if it answers command `id`. */
static bool step(struct browser *b, int id, json_t **ret)
{
	_cleanup_(json_decrefp) json_t *message = read_message(b);
	json_t *number = json_object_get(message, "id");

	if (!number) {
		handle_event(b, json_string_value(json_object_get(message, "method")),
			     json_object_get(message, "params"));
		return false;
	}
	if (json_integer_value(number) != id)
		return false;
	*ret = json_incref(json_object_get(message, "result"));
	if (!*ret) {
		_cleanup_(freep) char *all = json_dumps(message, 0);

		CHECK_FAIL("the browser refuses: %s", all);
		exit(1);
	}
	return true;
}

/* Send a command and wait for its answer. Consumes `params`; the caller frees the
 * result. */
static json_t *command(struct browser *b, const char *method, json_t *params)
{
	json_t *result = NULL;
	int id = send_command(b, method, params);

	while (!step(b, id, &result))
		;
	return result;
}

static void command_only(struct browser *b, const char *method, json_t *params)
{
	json_decref(command(b, method, params));
}

static void attach(struct browser *b)
{
	static const char *const domains[] = {"Page.enable", "Runtime.enable",
					      "Log.enable", "Network.enable"};
	const char *id = NULL, *session = NULL;
	_cleanup_(json_decrefp) json_t *target = command(
		b, "Target.createTarget", json_pack("{s:s}", "url", "about:blank"));

	REQUIRE(!json_unpack(target, "{s:s}", "targetId", &id));

	_cleanup_(json_decrefp) json_t *attached =
		command(b, "Target.attachToTarget",
			json_pack("{s:s, s:b}", "targetId", id, "flatten", 1));

	REQUIRE(!json_unpack(attached, "{s:s}", "sessionId", &session));
	b->session = strdup(session);
	for (size_t i = 0; i < sizeof(domains) / sizeof(*domains); i++)
		command_only(b, domains[i], json_object());
}

struct browser *browser_start(void)
{
	const char *path = find_chromium();
	struct browser *b = calloc(1, sizeof(*b));
	int to[2], from[2];

	/* If the browser has crashed, writing to it must fail with EPIPE, which the test
	 * reports. */
	signal(SIGPIPE, SIG_IGN);
	REQUIRE(b && !pipe2(to, O_CLOEXEC) && !pipe2(from, O_CLOEXEC));
	strcpy(b->dir, "/tmp/memtrace-test-XXXXXX");
	REQUIRE(mkdtemp(b->dir));
	b->pid = fork();
	REQUIRE(b->pid >= 0);
	if (!b->pid)
		execute(path, b->dir, to[0], from[1]);
	close(to[0]);
	close(from[1]);
	b->to = to[1];
	b->from = from[0];
	attach(b);
	return b;
}

static int remove_entry(const char *path, const struct stat *st, int type,
			struct FTW *where)
{
	(void)st;
	(void)type;
	(void)where;
	return remove(path);
}

void browser_stop(struct browser *b)
{
	free(b->session);
	b->session = NULL;
	command_only(b, "Browser.close", json_object());
	close(b->to);
	close(b->from);
	/* The browser leads its own process group. It may still be writing to its
	 * profile. */
	kill(-b->pid, SIGKILL);
	waitpid(b->pid, NULL, 0);
	/* Its last children may still be writing there: try again. */
	for (int i = 0; nftw(b->dir, remove_entry, 16, FTW_DEPTH | FTW_PHYS); i++) {
		REQUIRE(i < 100);
		usleep(20000);
	}
	strbuf_deinit(&b->in);
	strbuf_deinit(&b->errors);
	strbuf_deinit(&b->requests);
	free(b);
}

void browser_open(struct browser *b, const char *suffix, const char *text, size_t len)
{
	char name[32], url[512];

	snprintf(name, sizeof(name), "page-%u.%s", b->files++, suffix);
	snprintf(url, sizeof(url), "file://%s/%s", b->dir, name);

	FILE *file = fopen(url + strlen("file://"), "we");

	REQUIRE(file && fwrite(text, 1, len, file) == len && !fclose(file));
	b->loaded = false;
	strbuf_deinit(&b->errors);
	strbuf_deinit(&b->requests);
	command_only(b, "Page.navigate", json_pack("{s:s}", "url", url));
	while (!b->loaded) {
		json_t *none = NULL;

		step(b, -1, &none);
	}
}

static json_t *evaluate(struct browser *b, const char *expression)
{
	json_t *value = NULL;
	_cleanup_(json_decrefp) json_t *result = command(
		b, "Runtime.evaluate",
		json_pack("{s:s, s:b}", "expression", expression, "returnByValue", 1));

	json_unpack(result, "{s:{s:O}}", "result", "value", &value);
	if (!value || json_object_get(result, "exceptionDetails")) {
		_cleanup_(freep) char *all = json_dumps(result, 0);

		CHECK_FAIL("%s: %s", expression, all);
		exit(1);
	}
	return value;
}

char *browser_string(struct browser *b, const char *expression)
{
	_cleanup_(json_decrefp) json_t *value = evaluate(b, expression);

	REQUIRE(json_is_string(value));
	return strdup(json_string_value(value));
}

double browser_number(struct browser *b, const char *expression)
{
	_cleanup_(json_decrefp) json_t *value = evaluate(b, expression);

	REQUIRE(json_is_number(value));
	return json_number_value(value);
}

static void mouse(struct browser *b, const char *type, double x, double y,
		  const char *button)
{
	command_only(b, "Input.dispatchMouseEvent",
		     json_pack("{s:s, s:f, s:f, s:s, s:i}", "type", type, "x", x, "y", y,
			       "button", button, "clickCount",
			       strcmp(button, "none") ? 1 : 0));
}

void browser_move(struct browser *b, double x, double y)
{
	mouse(b, "mouseMoved", x, y, "none");
}

void browser_click(struct browser *b, double x, double y)
{
	browser_move(b, x, y);
	mouse(b, "mousePressed", x, y, "left");
	mouse(b, "mouseReleased", x, y, "left");
}

void browser_key(struct browser *b, const char *key)
{
	command_only(b, "Input.dispatchKeyEvent",
		     json_pack("{s:s, s:s}", "type", "keyDown", "key", key));
	command_only(b, "Input.dispatchKeyEvent",
		     json_pack("{s:s, s:s}", "type", "keyUp", "key", key));
}

void browser_click_on(struct browser *b, const char *selector)
{
	static const char box[] = "(function () {"
				  "var e = document.querySelector(\"%s\");"
				  "e.scrollIntoView({block: \"center\"});"
				  "var r = e.getBoundingClientRect();"
				  "return r.%s + r.%s / 2; }())";
	char x[512], y[512];

	snprintf(x, sizeof(x), box, selector, "left", "width");
	snprintf(y, sizeof(y), box, selector, "top", "height");
	browser_click(b, browser_number(b, x), browser_number(b, y));
}

void browser_answer(struct browser *b, const char *answer)
{
	b->answer = answer;
}

void browser_media(struct browser *b, const char *media, const char *scheme)
{
	command_only(b, "Emulation.setEmulatedMedia",
		     json_pack("{s:s, s:[{s:s, s:s}]}", "media", media, "features",
			       "name", "prefers-color-scheme", "value", scheme));
}

void browser_width(struct browser *b, unsigned width)
{
	if (width)
		command_only(b, "Emulation.setDeviceMetricsOverride",
			     json_pack("{s:i, s:i, s:i, s:b}", "width", (int)width,
				       "height", 1000, "deviceScaleFactor", 1, "mobile",
				       0));
	else
		command_only(b, "Emulation.clearDeviceMetricsOverride", json_object());
}

const char *browser_errors(const struct browser *b)
{
	return strbuf_text(&b->errors);
}

const char *browser_requests(const struct browser *b)
{
	return strbuf_text(&b->requests);
}
