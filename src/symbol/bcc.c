// SPDX-License-Identifier: Apache-2.0
#include "symbol/symbolizer.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <bcc/bcc_syms.h>

#include "symbol/code_maps.h"
#include "symbol/fd_guard.h"
#include "symbol/given_maps.h"
#include "symbol/perf_map.h"
#include "symbol/vdso.h"
#include "process/live_thread.h"
#include "util/cleanup.h"
#include "util/ends_with.h"
#include "util/vec.h"

/* elf.h, symbol types; bcc_syms.h brings only STT_GNU_IFUNC. */
#define SYMBOL_TYPE_FUNC      2
#define SYMBOL_TYPE_GNU_IFUNC STT_GNU_IFUNC

/* Longer symbol names are cut: no compiler makes them, but a hostile file may have
 * them. */
#define NAME_MAX_BYTES 65536

/*
 * A symcache is never refreshed: a refresh drops modules that are unmapped, and all
 * modules once the target has exited. New mappings get a new cache beside the old ones,
 * and the newest cache is asked first. Beyond these limits the oldest caches are
 * dropped.
 */
#define GENERATIONS_MAX 8
#define DESCRIPTORS_MAX 2048

/* One symcache, and the mappings that it was made from. */
struct generation {
	void *cache;
	struct code_maps maps;
	struct fd_list own; /* descriptors of the cache */
	int tid;       /* the thread whose /proc files it reads (process/live_thread.h) */
	dev_t exe_dev; /* device and inode of /proc/TID/exe */
	ino_t exe_ino;
};

struct bcc_symbolizer {
	struct symbolizer base;
	int pid;
	int pidfd; /* borrowed; -1: the process's exit goes unnoticed */
	struct perf_map *perf_map;
	struct elf_names *vdso;             /* NULL: none, or out of memory */
	VEC(struct generation) generations; /* newest last */
};

static struct error *read_code_maps(struct live_thread *live, struct code_maps *ret,
				    struct maps_text *ret_text)
{
	struct error *err = NULL;

	do {
		error_destroy(err);
		err = code_maps_read(live->tid, ret, ret_text);
	} while (err && live_thread_retry(live));
	return err;
}

static bool has_exited(const struct bcc_symbolizer *self)
{
	struct pollfd poll_fd = {.fd = self->pidfd, .events = POLLIN};

	return self->pidfd >= 0 && poll(&poll_fd, 1, 0) > 0;
}

/* On failure the generation stays, which costs only memory. */
static struct error *drop(struct bcc_symbolizer *self, size_t i)
{
	struct generation *generation = &self->generations.data[i];
	struct fd_guard guard;
	struct error *err = fd_guard_begin(&guard);

	if (err)
		return err;
	fd_guard_except(&guard, &generation->own);
	bcc_free_symcache(generation->cache, generation->tid);
	fd_guard_end(&guard, NULL);
	vec_deinit(&generation->own.fds);
	code_maps_deinit(&generation->maps);
	self->generations.len--;
	memmove(generation, generation + 1,
		(self->generations.len - i) * sizeof(*generation));
	return NULL;
}

static size_t count_descriptors(const struct bcc_symbolizer *self)
{
	size_t count = 0;

	vec_foreach (generation, &self->generations)
		count += generation->own.fds.len + generation->maps.opened;
	return count;
}

/* Drop generations beyond the limits, the oldest first, but never the newest. */
static void drop_oldest(struct bcc_symbolizer *self)
{
	struct error *err = NULL;

	while (!err && self->generations.len > 1 &&
	       (self->generations.len > GENERATIONS_MAX ||
		count_descriptors(self) > DESCRIPTORS_MAX))
		err = drop(self, 0);
	/* If dropping fails, the oldest stays. */
	error_destroy(err);
}

static int stat_exe(int tid, struct stat *ret)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	return stat(path, ret);
}

/* A symcache of the lines shown to libbcc; *ret is NULL when out of memory. */
static struct error *make_cache(int tid, const struct code_maps *maps,
				struct fd_list *ret_own, void **ret)
{
	struct bcc_symbol_option option = {
		.use_debug_file = 1,
		.check_debug_file_crc = 1,
		.lazy_symbolize = 1,
		.use_symbol_type = 1 << SYMBOL_TYPE_FUNC | 1 << SYMBOL_TYPE_GNU_IFUNC,
	};
	_cleanup_(strbuf_deinit) struct strbuf shown = {0};
	struct given_maps given;
	struct fd_guard guard;
	struct error *err;

	code_maps_put_shown(maps, &shown);
	if (shown.failed)
		return error_no_memory();
	err = fd_guard_begin(&guard);
	if (err)
		return err;
	given_maps_begin(&given, tid, &shown);
	*ret = bcc_symcache_new(tid, &option);
	given_maps_end();
	fd_guard_end(&guard, ret_own);
	return NULL;
}

/* Make a symcache of the current mappings. Takes ownership of `maps` on success. */
static struct error *add_generation(struct bcc_symbolizer *self, int tid,
				    struct code_maps *maps)
{
	struct generation generation = {.tid = tid};
	struct error *err;
	struct stat st;

	if (stat_exe(tid, &st))
		return error_errno(ERROR_GONE, errno, "cannot look at /proc/%d/exe", tid);
	generation.exe_dev = st.st_dev;
	generation.exe_ino = st.st_ino;
	if (!vec_reserve(&self->generations, self->generations.len + 1))
		return error_no_memory();
	err = make_cache(tid, maps, &generation.own, &generation.cache);
	if (err)
		return err;
	if (!generation.cache) {
		vec_deinit(&generation.own.fds);
		return error_no_memory();
	}
	generation.maps = *maps;
	*maps = (struct code_maps){0};
	code_maps_open(&generation.maps, tid);
	self->generations.data[self->generations.len++] = generation;
	drop_oldest(self);
	return NULL;
}

/* Two events make libbcc refresh a cache at the next lookup, and free a part of it: an
 * exec, and the reuse of its thread's tid by another process. Its answers are then
 * useless anyway. An exited target has no exe: its caches stay usable. */
static bool is_usable(const struct generation *generation)
{
	struct stat st;

	return stat_exe(generation->tid, &st) ||
	       (st.st_dev == generation->exe_dev && st.st_ino == generation->exe_ino);
}

/* For unknown addresses libbcc names the file /tmp/perf-PID.map, which it takes to span
 * all addresses. */
static bool is_module(const char *module)
{
	const char *base = module ? strrchr(module, '/') : NULL;

	return module && *module && strcmp(module, "[unknown]") &&
	       !(base && !strncmp(base, "/perf-", 6) &&
		 ends_with(base, strlen(base), ".map"));
}

/* No program is linked to run at higher addresses (x86-64 psABI 3.5.1, the small code
 * model). */
#define LINKED_BELOW (UINT64_C(1) << 32)

/* libbcc gives the address in place of the offset for two kinds of modules: those that
 * it cannot open, and programs mapped at the address that they were linked for. The
 * latter offset is right. */
static uint64_t fix_offset(const struct code_map *map, uint64_t address,
			   const struct bcc_symbol *sym)
{
	if (sym->offset != address ||
	    (address < LINKED_BELOW && sym->module[0] != '[' &&
	     !ends_with(sym->module, strlen(sym->module), " (deleted)")))
		return sym->offset;
	return address - map->start + map->file_offset;
}

static struct error *copy_symbol(const struct code_map *map, uint64_t address,
				 const struct bcc_symbol *sym, struct symbol *ret)
{
	const char *name = sym->name;

	ret->offset = name ? sym->offset : fix_offset(map, address, sym);
	if ((name && !(ret->name = strndup(name, NAME_MAX_BYTES))) ||
	    (sym->module && !(ret->module = strdup(sym->module)))) {
		symbol_deinit(ret);
		return error_no_memory();
	}
	return NULL;
}

static bool ask_bcc(const struct generation *generation, uint64_t address,
		    struct bcc_symbol *ret)
{
	/* The frame cache demangles, and bounds the work. */
	bool found = !bcc_symcache_resolve_no_demangle(generation->cache, address, ret);
	if (!found || !is_module(ret->module))
		ret->name = NULL;
	return is_module(ret->module);
}

/* Was the newest generation made from these mappings? */
static bool is_known(const struct bcc_symbolizer *self, const struct code_maps *maps)
{
	size_t len = self->generations.len;
	const struct generation *newest = len ? &self->generations.data[len - 1] : NULL;

	return newest && maps->hash == newest->maps.hash && is_usable(newest);
}

/* Does the newest generation know the mapping that comes last? It does not if the
 * thread through which libbcc read the mappings exited meanwhile: libbcc reads them in
 * order, and opens files relative to the root directory that it opened first. */
static bool is_whole(struct bcc_symbolizer *self)
{
	const struct generation *newest =
		&self->generations.data[self->generations.len - 1];
	struct bcc_symbol symbol = {0};

	for (size_t i = newest->maps.list.len; i-- > 0;) {
		const struct code_map *map = &newest->maps.list.data[i];

		if (map->shown == i && code_maps_path(&newest->maps, map))
			return ask_bcc(newest, map->start, &symbol);
	}
	return true;
}

/* Add a generation if the mappings differ from the newest generation's. *text is replaced
 * by what was read. */
static struct error *update(struct bcc_symbolizer *self, bool *ret_is_new,
			    struct maps_text *text)
{
	struct live_thread live = live_thread_begin(self->pid);
	struct error *err;

	for (;;) {
		struct code_maps maps = {0};

		*ret_is_new = false;
		free(take(text->text));
		err = read_code_maps(&live, &maps, text);
		if (!err && !is_known(self, &maps)) {
			err = add_generation(self, live.tid, &maps);
			*ret_is_new = !err;
		}
		code_maps_deinit(&maps);
		if ((!err &&
		     (!*ret_is_new || live_thread_is_there(&live) || is_whole(self))) ||
		    !live_thread_retry(&live))
			return err;
		/* This generation is empty or incomplete. */
		if (!err)
			err = drop(self, self->generations.len - 1);
		error_destroy(err);
	}
}

static bool bcc_mappings_changed(struct symbolizer *base)
{
	struct bcc_symbolizer *self = (struct bcc_symbolizer *)base;
	struct maps_text text = {0};
	bool is_new;

	/* Another process may have its pid now. */
	if (has_exited(self))
		return false;

	/* A JIT compiler names new code, and code that replaces older code. */
	bool has_new_names = perf_map_changed(self->perf_map);

	/* Without a new cache the old ones still answer. */
	error_destroy(update(self, &is_new, &text));
	free(text.text);
	return is_new || has_new_names;
}

/* Set a name from a source other than libbcc; `name` may be NULL. */
static struct error *set_name(struct symbol *symbol, const char *name, uint64_t offset)
{
	if (!name)
		return NULL;
	symbol->name = strndup(name, NAME_MAX_BYTES);
	symbol->offset = offset;
	return symbol->name ? NULL : error_no_memory();
}

static struct error *name_without_path(struct code_maps *maps, const struct code_map *map,
				       uint64_t address, struct symbol *symbol)
{
	uint64_t offset = 0;
	const char *name;

	if (symbol->name)
		return NULL;
	name = code_maps_name(maps, map, address, &offset);
	return set_name(symbol, name, offset);
}

static struct error *name_in_vdso(const struct bcc_symbolizer *self,
				  struct symbol *symbol)
{
	uint64_t offset = 0;
	const char *name;

	if (symbol->name || !symbol->module || strcmp(symbol->module, "[vdso]") != 0 ||
	    !self->vdso)
		return NULL;
	name = elf_names_find(self->vdso, symbol->offset, &offset);
	return set_name(symbol, name, offset);
}

static struct error *name_jitted(struct bcc_symbolizer *self, uint64_t address,
				 struct symbol *symbol)
{
	uint64_t offset = 0;
	const char *name = perf_map_find(self->perf_map, address, &offset);
	struct error *err = set_name(symbol, name, offset);

	if (err || !name)
		return err;
	symbol->module = strdup("[jit]");
	return symbol->module ? NULL : error_no_memory();
}

/* Set the module and offset of an address in a mapping that is not shown to libbcc. */
static struct error *place_left_out(const struct code_maps *maps,
				    const struct code_map *map, uint64_t address,
				    struct symbol *ret)
{
	const char *path = code_maps_path(maps, map);

	if (!path)
		return NULL;
	ret->offset = address - map->start + map->file_offset;
	ret->module = strdup(path);
	return ret->module ? NULL : error_no_memory();
}

/* Find the module of `address`, which is in `map`. libbcc finds it if it is shown the
 * mapping; `ret->module` stays NULL if libbcc does not know the address. */
static struct error *find_place(const struct generation *generation,
				const struct code_map *map, uint64_t address,
				struct symbol *ret)
{
	const struct code_map *shown = code_maps_shown(&generation->maps, map);
	struct bcc_symbol sym = {0};

	if (!shown)
		return place_left_out(&generation->maps, map, address, ret);
	address = address - map->start + shown->start;
	return ask_bcc(generation, address, &sym) ? copy_symbol(shown, address, &sym, ret)
						  : NULL;
}

static struct error *resolve_in(const struct bcc_symbolizer *self,
				struct generation *generation, uint64_t address,
				struct symbol *ret)
{
	/* libbcc is not asked about other code: it would read /tmp/perf-PID.map,
	 * without checking that file. */
	const struct code_map *map = code_maps_find(&generation->maps, address);
	struct error *err;

	if (!map || !is_usable(generation))
		return NULL;
	err = find_place(generation, map, address, ret);
	if (err || !ret->module)
		return err;
	err = name_without_path(&generation->maps, map, address, ret);
	return err ? err : name_in_vdso(self, ret);
}

static struct error *bcc_resolve(struct symbolizer *base, uint64_t address,
				 struct symbol *ret)
{
	struct bcc_symbolizer *self = (struct bcc_symbolizer *)base;
	struct error *err = NULL;

	*ret = (struct symbol){0};
	/* An older generation may know code that was unmapped before a newer one. */
	for (size_t i = self->generations.len; i-- > 0 && !err && !ret->module;)
		err = resolve_in(self, &self->generations.data[i], address, ret);
	if (!err && !ret->module)
		err = name_jitted(self, address, ret);
	if (err)
		symbol_deinit(ret);
	return err;
}

static void bcc_destroy(struct symbolizer *base)
{
	struct bcc_symbolizer *self = (struct bcc_symbolizer *)base;
	struct error *err = NULL;

	/* If dropping fails, leak: closing a descriptor of another owner is worse. */
	while (!err && self->generations.len)
		err = drop(self, 0);
	error_destroy(err);
	vec_foreach (generation, &self->generations) {
		code_maps_deinit(&generation->maps);
		vec_deinit(&generation->own.fds);
	}
	vec_deinit(&self->generations);
	perf_map_destroy(self->perf_map);
	elf_names_destroy(self->vdso);
	free(self);
}

static const struct symbolizer_ops bcc_ops = {
	.resolve = bcc_resolve,
	.mappings_changed = bcc_mappings_changed,
	.destroy = bcc_destroy,
};

struct error *symbolizer_bcc_create(int pid, int pidfd, struct symbolizer **ret,
				    struct maps_text *ret_maps)
{
	struct bcc_symbolizer *self = calloc(1, sizeof(*self));
	bool is_new;

	*ret_maps = (struct maps_text){NULL, 0};
	if (!self)
		return error_no_memory();
	self->base.ops = &bcc_ops;
	self->pid = pid;
	self->pidfd = pidfd;
	self->perf_map = perf_map_create(pid);

	struct error *err = self->perf_map ? vdso_names(&self->vdso) : error_no_memory();

	if (!err)
		err = update(self, &is_new, ret_maps);
	if (err) {
		bcc_destroy(&self->base);
		return error_prefix(err, "symbols of process %d", pid);
	}
	*ret = &self->base;
	return NULL;
}

struct symbolizer_left_out symbolizer_bcc_left_out(const struct symbolizer *symbolizer)
{
	const struct bcc_symbolizer *self = (const struct bcc_symbolizer *)symbolizer;
	size_t len = self->generations.len;

	return (struct symbolizer_left_out){
		.of_perf_map = perf_map_ignored(self->perf_map),
		.mappings = len ? self->generations.data[len - 1].maps.left_out : 0,
	};
}
