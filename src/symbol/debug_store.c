// SPDX-License-Identifier: Apache-2.0
#include "symbol/debug_store.h"

#include <stdlib.h>
#include <string.h>

#include "confined/keeper.h"
#include "symbol/file_list.h"
#include "symbol/names_wire.h"
#include "symbol/stored_service.h"
#include "util/cleanup.h"
#include "util/regular_file.h"
#include "util/strbuf.h"
#include "util/string_table.h"

#define NO_HANDLE UINT32_MAX
#define NO_FILE   UINT32_MAX

/* What is known of a build-id. */
struct known {
	uint32_t file;   /* that has it, an index into debug_store.list; NO_FILE: none */
	uint32_t handle; /* of the child; NO_HANDLE: not open */
	bool was_opened; /* or was tried to */
};

struct debug_store {
	struct file_list list;
	struct stored_service *service; /* initial state of the child */
	struct confined_service entry;
	struct keeper *keeper;
	unsigned child; /* keeper_child() of the handles */
	struct string_table ids;
	VEC(struct known) known; /* by index of `ids` */
	bool is_indexed;         /* the build-ids of all listed files are in `ids` */
	bool has_said_gone;
};

DEFINE_CLEANUP(struct debug_store *, debug_store_destroy);

static struct error *know(struct debug_store *store, const char *build_id,
			  struct known **ret)
{
	uint32_t index;

	if (!string_table_add(&store->ids, build_id, &index) ||
	    (index == store->known.len &&
	     !vec_push(&store->known, ((struct known){NO_FILE, NO_HANDLE, false}))))
		return error_no_memory();
	*ret = &store->known.data[index];
	return NULL;
}

/* --- files -------------------------------------------------------------------------- */

static int open_listed(const struct debug_store *store, uint32_t file)
{
	const struct listed_file *listed = &store->list.files.data[file];

	return regular_file_open_below(store->list.dirs.data[listed->dir], listed->path);
}

static bool is_hex(const char *text)
{
	return text[strspn(text, "0123456789abcdef")] == '\0' && strlen(text) > 2;
}

/* Open DIR/.build-id/xx/yyyy.debug in one of the directories; -1: none has it. */
static int open_by_path(const struct debug_store *store, const char *build_id)
{
	_cleanup_(strbuf_deinit) struct strbuf path = {0};
	int fd = -1;

	/* A snapshot may have any text here. */
	if (!is_hex(build_id))
		return -1;
	strbuf_appendf(&path, ".build-id/%.2s/%s.debug", build_id, build_id + 2);
	if (path.failed)
		return -1;
	vec_foreach (dir, &store->list.dirs) {
		fd = regular_file_open_below(*dir, path.data);
		if (fd >= 0)
			break;
	}
	return fd;
}

/* Open the file with this build-id; -1: not found. */
static int open_by_id(const struct debug_store *store, const char *build_id,
		      const struct known *known)
{
	int fd = open_by_path(store, build_id);

	return fd >= 0 || known->file == NO_FILE ? fd : open_listed(store, known->file);
}

/* The child asks for the supplementary file with a build-id. */
static int answer_question(void *arg, struct wire *question)
{
	struct debug_store *store = arg;
	const char *build_id = wire_get_text(question);
	struct known *known;
	struct error *err = build_id ? know(store, build_id, &known) : error_no_memory();
	int fd = err ? -1 : open_by_id(store, build_id, known);

	error_destroy(err);
	return fd;
}

/* --- the child ---------------------------------------------------------------------- */

struct error *debug_store_create(const char *const *dirs,
				 void (*warn)(void *arg, const char *text),
				 void *warn_arg, struct debug_store **ret)
{
	_cleanup_(debug_store_destroyp) struct debug_store *store =
		calloc(1, sizeof(*store));
	struct error *err;

	if (!store)
		return error_no_memory();
	store->service = stored_service_create();
	if (!store->service)
		return error_no_memory();
	store->entry = stored_service_entry(store->service);

	const struct keeper_options options = {
		.child = {.kind = CONFINED_READER,
			  .name = "memtrace-read",
			  .services = &store->entry,
			  .service_count = 1,
			  .question = answer_question,
			  .question_arg = store},
		.work = "debug files are read",
		.warn = warn,
		.warn_arg = warn_arg,
	};

	err = file_list_init(&store->list, dirs);
	if (!err)
		err = keeper_create(&options, &store->keeper);
	if (err)
		return err;
	store->child = keeper_child(store->keeper);
	if (!store->list.is_whole)
		keeper_warn(store->keeper,
			    "--debug-dir: there are more than 20,000 files: those beyond "
			    "are found only as .build-id/xx/yyyy.debug");
	*ret = take(store);
	return NULL;
}

void debug_store_destroy(struct debug_store *store)
{
	if (!store)
		return;
	keeper_destroy(store->keeper);
	stored_service_destroy(store->service);
	file_list_deinit(&store->list);
	string_table_deinit(&store->ids);
	vec_deinit(&store->known);
	free(store);
}

/* Send a request. False: no answer, or out of memory. After this process has given up
 * privileges no other child can be started. */
static bool ask(struct debug_store *store, enum stored_request request,
		const struct strbuf *in, int fd, struct strbuf *out)
{
	struct error *err;

	if (store->has_said_gone || keeper_child(store->keeper) != store->child)
		return false;
	err = keeper_call(store->keeper, request, in, fd, out);
	if (err && err->code == ERROR_GONE) {
		store->has_said_gone = true;
		keeper_warn(store->keeper, err->message);
	}
	error_destroy(err);
	return !err;
}

/* --- build-ids ---------------------------------------------------------------------- */

static struct error *index_file(struct debug_store *store, uint32_t file)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	_cleanup_(closep) int fd = open_listed(store, file);
	const char *build_id = NULL;
	struct known *known;
	struct error *err;
	struct wire answer;

	if (fd < 0 || !ask(store, STORED_IDENTIFY, &in, fd, &out))
		return NULL;
	answer = wire_read(&out);
	build_id = wire_get_text(&answer);
	if (!build_id)
		return NULL;
	err = know(store, build_id, &known);
	/* Of several files the first one counts. */
	if (!err && known->file == NO_FILE)
		known->file = file;
	return err;
}

static struct error *index_files(struct debug_store *store)
{
	struct error *err = NULL;

	store->is_indexed = true;
	for (size_t i = 0; !err && i < store->list.files.len; i++)
		err = index_file(store, (uint32_t)i);
	return err;
}

static void open_known(struct debug_store *store, const struct stored_code *code,
		       struct known *known)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	_cleanup_(closep) int fd = open_by_id(store, code->build_id, known);
	struct wire answer;

	known->was_opened = true;
	if (fd < 0)
		return;
	wire_put_text(&in, code->path);
	wire_put_text(&in, code->build_id);
	if (!ask(store, STORED_OPEN, &in, fd, &out))
		return;
	answer = wire_read(&out);
	known->handle = wire_get_u32(&answer);
	if (answer.failed)
		known->handle = NO_HANDLE;
}

/* Find the handle of the debug file with the code's build-id. */
static struct error *find_handle(struct debug_store *store,
				 const struct stored_code *code, uint32_t *ret)
{
	struct known *known;
	struct error *err;

	/* Before a file is opened, because it may ask for another one. */
	if (!store->is_indexed) {
		err = index_files(store);
		if (err)
			return err;
	}
	err = know(store, code->build_id, &known);
	if (err)
		return err;
	if (!known->was_opened) {
		size_t index = (size_t)(known - store->known.data);

		/* Questions of the child may move the table. */
		struct known copy = *known;

		open_known(store, code, &copy);
		store->known.data[index] = copy;
		known = &store->known.data[index];
	}
	*ret = known->handle;
	return NULL;
}

struct error *debug_store_find(struct debug_store *store, const struct stored_code *code,
			       struct symbol *symbol, struct source_frames *sources)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	uint32_t handle = NO_HANDLE;
	struct error *err = find_handle(store, code, &handle);
	struct wire answer;

	if (err || handle == NO_HANDLE)
		return err;
	wire_put_u32(&in, handle);
	wire_put_u32(&in, code->with_lines);
	wire_put_u64(&in, code->mapping_bytes);
	wire_put_u64(&in, code->file_offset);
	wire_put_u64(&in, code->offset);
	if (!ask(store, STORED_LOOK_UP, &in, -1, &out))
		return NULL;
	answer = wire_read(&out);
	err = names_get_frame(&answer, symbol, sources);
	return error_only_no_memory(err);
}
