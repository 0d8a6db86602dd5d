// SPDX-License-Identifier: Apache-2.0
#include "compile/compiler.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "compile/compiler_child.h"
#include "compile/compiler_key.h"
#include "compile/compiler_process.h"
#include "util/cleanup.h"
#include "util/memory_limit.h"

/* Compiling takes a third of a second; a child that is silent for this long hangs. */
#define CHILD_TIMEOUT_MS 60000

/* How much of a long log is kept: the end, which contains clang's errors. */
#define LOG_KEEP_BYTES 16384

struct compiler {
	struct cache *cache;
	bool has_key; /* the code can be cached under `key` */
	struct cache_key key;
	bool had_code; /* the code was in the cache */
	struct compiler_process process;
	struct code *code; /* NULL: not compiled yet */
	int *maps;         /* descriptors by index in code->maps; -1: no such map */
	bool maps_are_own;
	struct run_values values;
};

DEFINE_CLEANUP(struct code *, code_destroy);
DEFINE_CLEANUP(struct compiler *, compiler_destroy);

static struct error *start(struct compiler *c, const struct source *source,
			   struct headers *headers, struct compiler_pool *pool)
{
	struct error *err = headers_unpack(headers);

	if (!err)
		err = compiler_pool_take(pool, &c->process);
	return err ? err : compiler_process_ask(&c->process, source, headers);
}

/* Get the code that an earlier run has cached. Returns NULL if it has not, or if the
 * compiler's libraries have changed since. */
static struct code *kept_code(const struct compiler *c)
{
	size_t size;
	_cleanup_(freep) void *bytes = cache_get(c->cache, &c->key, &size);
	_cleanup_(code_destroyp) struct code *code =
		bytes ? code_unpack(bytes, size) : NULL;

	if (code && code_is_current(code))
		return take(code);
	if (bytes)
		cache_ignore(c->cache, &c->key,
			     code ? "libraries of the BPF compiler have changed since"
				  : "it is damaged");
	return NULL;
}

struct error *compiler_start(const struct source *source, struct headers *headers,
			     struct cache *cache, bool anew, struct compiler_pool *pool,
			     struct compiler **ret)
{
	_cleanup_(compiler_destroyp) struct compiler *c = calloc(1, sizeof(*c));
	struct error *err = NULL;

	if (!c)
		return error_no_memory();
	c->process = COMPILER_PROCESS_NONE;
	c->cache = cache;
	c->values = source->values;
	c->has_key = cache->dir >= 0 && compiler_key(source, headers, &c->key);
	if (c->has_key && !anew)
		c->code = kept_code(c);
	c->had_code = c->code;
	if (!c->code)
		err = start(c, source, headers, pool);
	if (!err)
		*ret = take(c);
	return err;
}

/* --- the child's answer ----------------------------------------------------------- */

/* Read the end of the child's output. Owned by the caller; may be NULL. */
static char *read_log(const struct compiler *c)
{
	struct stat st;

	if (fstat(c->process.log_fd, &st) || st.st_size <= 0)
		return NULL;

	size_t size =
		(size_t)st.st_size < LOG_KEEP_BYTES ? (size_t)st.st_size : LOG_KEEP_BYTES;
	char *text = malloc(size + 1);

	if (!text)
		return NULL;

	ssize_t n = pread(c->process.log_fd, text, size, st.st_size - (off_t)size);

	text[n > 0 ? n : 0] = 0;
	return text;
}

static struct error *with_log(struct error *err, const struct compiler *c)
{
	_cleanup_(freep) char *log = read_log(c);

	return error_with_detail(err, log);
}

/* The child ended without a message: report how. */
static struct error *child_died(struct compiler *c)
{
	int status = 0;

	if (waitpid(c->process.pid, &status, 0) == c->process.pid)
		c->process.pid = 0;
	if (WIFSIGNALED(status))
		return error_create(ERROR_COMPILE,
				    "the BPF compiler died of signal %d (%s)%s",
				    WTERMSIG(status), strsignal(WTERMSIG(status)),
				    memory_limit_hint());
	return error_create(ERROR_COMPILE, "the BPF compiler gave up (status %d)",
			    WEXITSTATUS(status));
}

static struct error *receive(struct compiler *c, struct message *m, int fds[],
			     size_t *fd_count)
{
	struct pollfd poll_fd = {.fd = c->process.socket, .events = POLLIN};
	int n;

	do
		n = poll(&poll_fd, 1, CHILD_TIMEOUT_MS);
	while (n < 0 && errno == EINTR);
	/* ERROR_IO, since this is not a refusal: the caller must not try another
	 * program. */
	if (n == 0)
		return error_create(ERROR_IO,
				    "the BPF compiler does not answer: try again, "
				    "or with --kernel-headers embedded");

	int err = message_receive(c->process.socket, m, fds, fd_count);

	if (err == EMFILE)
		return error_errno(ERROR_IO, err,
				   "cannot take programs from the BPF compiler: raise "
				   "the limit of files (ulimit -n)");
	if (err)
		return with_log(child_died(c), c);
	if (m->kind == MESSAGE_FAILED) {
		m->text[sizeof(m->text) - 1] = 0;
		return with_log(error_create(ERROR_COMPILE, "%s", m->text), c);
	}
	return NULL;
}

/* Parse the code in the file. */
static struct code *read_code(int fd)
{
	struct stat st;

	if (fstat(fd, &st) || st.st_size <= 0)
		return NULL;

	size_t size = (size_t)st.st_size;
	void *bytes = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);

	if (bytes == MAP_FAILED)
		return NULL;

	struct code *code = code_unpack(bytes, size);

	munmap(bytes, size);
	return code;
}

/* Allocate c->maps, without descriptors so far. */
static struct error *make_room(struct compiler *c)
{
	c->maps = calloc(c->code->maps.len + 1, sizeof(*c->maps));
	if (!c->maps)
		return error_no_memory();
	for (size_t i = 0; i < c->code->maps.len; i++)
		c->maps[i] = -1;
	return NULL;
}

/* Receive the code and the maps from the child. */
static struct error *take_compiled(struct compiler *c)
{
	struct message m;
	int fds[MESSAGE_MAX_FDS];
	size_t fd_count;
	struct error *err = receive(c, &m, fds, &fd_count);

	if (err)
		return err;
	c->code = fd_count ? read_code(fds[fd_count - 1]) : NULL;
	if (!c->code || c->code->maps.len != fd_count - 1)
		err = error_create(ERROR_COMPILE,
				   "the answer of the BPF compiler cannot be read: try "
				   "again, or with --kernel-headers embedded");
	else
		err = make_room(c);
	for (size_t i = 0; i < fd_count; i++) {
		if (err || i + 1 == fd_count)
			close(fds[i]);
		else
			c->maps[i] = fds[i];
	}
	compiler_process_end(&c->process);
	return err;
}

/* --- maps ------------------------------------------------------------------------- */

static void close_maps(struct compiler *c)
{
	for (size_t i = 0; c->maps_are_own && i < c->code->maps.len; i++)
		closep(&c->maps[i]);
}

/* An array of maps NAME has maps like NAME_part. */
static int inner_map(const struct compiler *c, const struct code_map *map)
{
	char name[CODE_NAME_MAX + sizeof("_part")];

	snprintf(name, sizeof(name), "%s_part", map->name);
	return compiler_map(c, name);
}

/* Make the arrays of maps, or all other maps. */
static struct error *make_maps_of(struct compiler *c, bool of_maps)
{
	struct error *err = NULL;

	for (size_t i = 0; !err && i < c->code->maps.len; i++) {
		const struct code_map *map = &c->code->maps.data[i];

		if ((map->type == BPF_MAP_TYPE_ARRAY_OF_MAPS) == of_maps)
			err = code_map_make(map, of_maps ? inner_map(c, map) : -1,
					    &c->maps[i]);
	}
	return err;
}

static struct error *make_maps(struct compiler *c)
{
	struct error *err = make_room(c);

	if (!err)
		err = make_maps_of(c, false);
	return err ? err : make_maps_of(c, true);
}

struct error *compiler_wait(struct compiler *c, const struct compiler *maps_of)
{
	struct error *err = NULL;

	c->maps_are_own = true;
	if (!c->had_code)
		err = take_compiled(c);
	else if (maps_of)
		err = make_room(c);
	else
		err = make_maps(c);
	if (err || !maps_of)
		return err;
	close_maps(c);
	c->maps_are_own = false;
	for (size_t i = 0; i < c->code->maps.len; i++)
		c->maps[i] = compiler_map(maps_of, c->code->maps.data[i].name);
	return NULL;
}

int compiler_map(const struct compiler *c, const char *name)
{
	for (size_t i = 0; i < c->code->maps.len; i++) {
		if (!strcmp(c->code->maps.data[i].name, name))
			return c->maps[i];
	}
	return -1;
}

struct error *compiler_lacks_map(const char *name)
{
	return error_create(ERROR_COMPILE,
			    "the compiled probes lack the map %s: "
			    "--no-cache compiles them anew",
			    name);
}

/* --- programs --------------------------------------------------------------------- */

struct error *compiler_load(struct compiler *c, const char *name,
			    struct program_kind kind, int *ret)
{
	const struct code_program *program = code_program_find(c->code, name);

	return program ? code_program_load(c->code, program, c->maps, &c->values, kind,
					   ret)
		       : error_create(ERROR_COMPILE,
				      "the compiled probes lack the program %s: "
				      "--no-cache compiles them anew",
				      name);
}

/* --- the cache -------------------------------------------------------------------- */

bool compiler_had_code(const struct compiler *c)
{
	return c->had_code;
}

void compiler_keep(const struct compiler *c)
{
	size_t size;

	if (!c->has_key || !c->code || c->had_code)
		return;

	_cleanup_(freep) void *bytes = code_pack(c->code, &size);

	if (bytes)
		cache_put(c->cache, &c->key, bytes, size);
}

void compiler_drop(const struct compiler *c)
{
	if (!c->has_key)
		return;
	if (c->had_code)
		cache_ignore(c->cache, &c->key, "the kernel refuses its programs");
	cache_drop(c->cache, &c->key);
}

void compiler_destroy(struct compiler *c)
{
	if (!c)
		return;
	compiler_process_deinit(&c->process);
	if (c->maps)
		close_maps(c);
	free(c->maps);
	code_destroy(c->code);
	free(c);
}
