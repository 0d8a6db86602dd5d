/* SPDX-License-Identifier: Apache-2.0 */
/* Gives memtrace's files to other programs that read such files. */
#ifndef TESTS_READERS_READERS_H
#define TESTS_READERS_READERS_H

#include "unit/files/temp_dir.h"
#include "unit/render/fixture.h"

#include <jansson.h>
#include <unistd.h>

/* Skips the test if the program at `path` is not installed. */
static inline void readers_need(const char *path, const char *package)
{
	char why[128];

	if (!access(path, X_OK) || !access(path, R_OK))
		return;
	snprintf(why, sizeof(why), "no %s (package %s)", path, package);
	check_skip(why);
}

/* The output of a shell command, which must succeed. Owned by the caller. */
static inline char *readers_run(const char *command)
{
	FILE *pipe = popen(command, "re");
	size_t len = 0, cap = 1 << 22;
	char *text = malloc(cap);

	REQUIRE(pipe && text);
	for (size_t n; (n = fread(text + len, 1, cap - 1 - len, pipe)); len += n)
		REQUIRE(len + n < cap - 1);
	text[len] = '\0';

	int status = pclose(pipe);

	if (status)
		CHECK_FAIL("%s: status %d", command, status);
	return text;
}

/* Writes the report of `f` in a format to `name` in `dir`. */
static inline void readers_write(struct fixture *f, const char *format,
				 struct temp_dir *dir, const char *name)
{
	size_t len;
	_cleanup_(freep) char *text = fixture_render(f, format, &len);
	FILE *file = fopen(temp_dir_path(dir, name), "we");

	REQUIRE(file && fwrite(text, 1, len, file) == len && !fclose(file));
}

/* The report as memtrace's own JSON. Free it with json_decref(). */
static inline json_t *readers_json(struct fixture *f)
{
	_cleanup_(freep) char *text = fixture_render(f, "json", NULL);
	json_t *json = json_loads(text, 0, NULL);

	REQUIRE(json);
	return json;
}

/* A number of a stack in it, or of the stack's traffic ("traffic.frees"). With sampling,
 * the estimate. */
static inline long long readers_number(json_t *stack, const char *key)
{
	char estimated[64];
	json_t *value;

	if (!strncmp(key, "traffic.", 8)) {
		stack = json_object_get(stack, "traffic");
		if (json_is_null(stack))
			return 0;
		key += 8;
	}

	snprintf(estimated, sizeof(estimated), "estimated_%s", key);
	value = json_object_get(stack, estimated);
	if (!value)
		value = json_object_get(stack, key);
	REQUIRE(json_is_integer(value));
	return json_integer_value(value);
}

/* The sums of a function: of its own, and with the functions that it calls. */
struct function {
	char name[256];
	long long flat, cum;
};

struct functions {
	VEC(struct function) list;
};

static inline void functions_deinit(struct functions *functions)
{
	vec_deinit(&functions->list);
}

static inline struct function *functions_get(struct functions *functions,
					     const char *name)
{
	struct function function = {.name = ""};

	vec_foreach (f, &functions->list) {
		if (!strcmp(f->name, name))
			return f;
	}
	REQUIRE(strlen(name) < sizeof(function.name));
	strcpy(function.name, name);
	REQUIRE(vec_push(&functions->list, function));
	return &functions->list.data[functions->list.len - 1];
}

/* The name that pprof gives a frame: its mapping's if it has no symbol. */
static inline void functions_name(json_t *frame, char *ret, size_t size)
{
	const char *symbol = json_string_value(json_object_get(frame, "symbol"));
	const char *module = json_string_value(json_object_get(frame, "module"));

	if (symbol)
		snprintf(ret, size, "%s", symbol);
	else if (module)
		snprintf(ret, size, "[%s]", strrchr(module, '/') + 1);
	else
		snprintf(ret, size, "<unknown>");
}

/* Adds a section's stacks `times` times to the sums of their functions. -1 subtracts
 * them. */
static inline void functions_add(struct functions *functions, json_t *section,
				 const char *key, long long times)
{
	json_t *stack, *frame;
	size_t i, k;

	json_array_foreach (json_object_get(section, "stacks"), i, stack) {
		json_t *frames = json_object_get(stack, "frames");
		long long n = times * readers_number(stack, key);

		json_array_foreach (frames, k, frame) {
			char name[256];
			struct function *function;

			functions_name(frame, name, sizeof(name));
			function = functions_get(functions, name);
			/* No function of the fixture occurs twice in a stack. */
			function->cum += n;
			if (!k)
				function->flat += n;
		}
	}
}

#endif
