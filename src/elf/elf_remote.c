// SPDX-License-Identifier: Apache-2.0
#include "elf/elf_reader.h"

#include <stdlib.h>
#include <string.h>

#include "confined/keeper.h"
#include "elf/elf_wire.h"
#include "util/cleanup.h"

struct elf_reader {
	struct elf_service *service; /* state with which a child starts */
	struct confined_service entry;
	struct keeper *keeper;
};

struct error *elf_reader_create(void (*warn)(void *arg, const char *text),
				uint64_t (*stopping_ns)(void *arg), void *arg,
				struct elf_reader **ret)
{
	struct elf_reader *reader = calloc(1, sizeof(*reader));
	struct error *err;

	if (!reader)
		return error_no_memory();
	reader->service = elf_service_create();
	if (!reader->service) {
		elf_reader_destroy(reader);
		return error_no_memory();
	}
	reader->entry = elf_service_entry(reader->service);

	const struct keeper_options options = {
		.child =
			{
				.kind = CONFINED_READER,
				.name = "memtrace-elf",
				.services = &reader->entry,
				.service_count = 1,
				.stopping_ns = stopping_ns,
				.stopping_arg = arg,
			},
		.work = "ELF files are parsed",
		.warn = warn,
		.warn_arg = arg,
	};

	err = keeper_create(&options, &reader->keeper);
	if (err) {
		elf_reader_destroy(reader);
		return err;
	}
	*ret = reader;
	return NULL;
}

void elf_reader_destroy(struct elf_reader *reader)
{
	if (!reader)
		return;
	keeper_destroy(reader->keeper);
	elf_service_destroy(reader->service);
	free(reader);
}

int elf_reader_pid(const struct elf_reader *reader)
{
	return keeper_pid(reader->keeper);
}

/* --- requests ---------------------------------------------------------------------- */

/* Replace ERROR_GONE: callers take it to mean that the traced process has exited. */
static struct error *translate(const struct elf_file *file, struct error *err)
{
	struct error *other;

	if (!err || err->code != ERROR_GONE)
		return err;
	other = error_create(ERROR_MALFORMED, "%s: %s while it read this file",
			     file->name, err->message);
	error_destroy(err);
	return other;
}

static struct error *bad_answer(const struct elf_file *file)
{
	return error_create(ERROR_MALFORMED,
			    "%s: the process that reads it did not answer", file->name);
}

/* Send the file to the child `child`, and store the handle that it gives. */
static struct error *open_file(struct elf_file *file, unsigned child)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	struct wire answer;
	struct error *err;

	wire_put_text(&in, file->name);
	err = translate(file,
			keeper_call(file->reader->keeper, ELF_OPEN, &in, file->fd, &out));
	if (err)
		return err;
	answer = wire_read(&out);
	file->handle = wire_get_u32(&answer);
	file->child = child;
	return wire_is_done(&answer) ? NULL : bad_answer(file);
}

/* Send a request about the file: its handle, followed by `rest` (may be NULL). */
static struct error *ask(struct elf_file *file, enum elf_request request,
			 const struct strbuf *rest, int fd, struct strbuf *out)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0};
	struct keeper *keeper = file->reader->keeper;
	unsigned child = keeper_child(keeper);
	struct error *err = NULL;

	if (!child || child != file->child)
		err = open_file(file, child);
	if (err)
		return err;
	wire_put_u32(&in, file->handle);
	if (rest)
		strbuf_append_bytes(&in, rest->data, rest->len);
	in.failed |= rest && rest->failed;
	return translate(file, keeper_call(keeper, request, &in, fd, out));
}

static struct error *find_functions(struct elf_file *file, const char *const names[],
				    size_t count, struct elf_symbol ret[])
{
	_cleanup_(strbuf_deinit) struct strbuf rest = {0}, out = {0};
	struct error *err;
	struct wire in;

	wire_put_u32(&rest, (uint32_t)count);
	for (size_t i = 0; i < count; i++)
		wire_put_text(&rest, names[i]);
	err = ask(file, ELF_FIND_FUNCTIONS, &rest, -1, &out);
	if (err)
		return err;
	in = wire_read(&out);
	for (size_t i = 0; i < count; i++)
		elf_get_symbol(&in, file, names[i], &ret[i]);
	return wire_is_done(&in) ? NULL : bad_answer(file);
}

static struct error *offer_functions(struct elf_file *file, struct nearest *nearest)
{
	_cleanup_(strbuf_deinit) struct strbuf rest = {0}, out = {0};
	struct error *err;
	struct wire in;

	wire_put_text(&rest, nearest->wanted);
	err = ask(file, ELF_OFFER_FUNCTIONS, &rest, -1, &out);
	if (err)
		return err;
	in = wire_read(&out);
	elf_get_nearest(&in, nearest);
	return NULL;
}

static struct error *read_links(struct elf_file *file, struct elf_links *ret)
{
	struct error *err = ask(file, ELF_READ_LINKS, NULL, -1, &ret->names);
	struct wire in;

	if (err)
		return err;
	in = wire_read(&ret->names);
	err = elf_get_links(&in, ret);
	return err || wire_is_done(&in) ? err : bad_answer(file);
}

static struct error *find_usdt(struct elf_file *file, const char *provider,
			       const char *name, struct nearest *nearest,
			       struct usdt_places *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf rest = {0}, out = {0};
	struct error *err;
	struct wire in;

	wire_put_text(&rest, provider);
	wire_put_text(&rest, name);
	wire_put_text(&rest, nearest ? nearest->wanted : NULL);
	err = ask(file, ELF_FIND_USDT, &rest, -1, &out);
	if (err)
		return err;
	in = wire_read(&out);
	err = elf_get_places(&in, file, ret);
	if (!err && nearest)
		elf_get_nearest(&in, nearest);
	return err || !in.failed ? err : bad_answer(file);
}

static struct error *has_symbols(struct elf_file *file, bool *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct error *err = ask(file, ELF_HAS_SYMBOLS, NULL, -1, &out);
	struct wire in = wire_read(&out);

	*ret = !err && wire_get_u32(&in) == 1;
	return err;
}

static struct error *read_debuglink(struct elf_file *file, struct elf_debuglink *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};
	struct error *err = ask(file, ELF_READ_DEBUGLINK, NULL, -1, &out);
	struct wire in = wire_read(&out);
	const char *name;

	*ret = (struct elf_debuglink){{0}, 0};
	if (err)
		return err;
	name = wire_get_text(&in);
	ret->checksum = wire_get_u32(&in);
	if (!wire_is_done(&in))
		return bad_answer(file);
	/* The name becomes part of a path. */
	if (name && strlen(name) < sizeof(ret->name) && !strchr(name, '/') &&
	    strcmp(name, ".") && strcmp(name, ".."))
		strcpy(ret->name, name);
	return NULL;
}

static struct error *try_debug(struct elf_file *file, int fd,
			       const struct elf_debuglink *link, bool *ret_serves)
{
	_cleanup_(strbuf_deinit) struct strbuf rest = {0}, out = {0};
	struct error *err;
	struct wire in;

	wire_put_text(&rest, link->name);
	wire_put_u32(&rest, link->checksum);
	err = ask(file, ELF_TRY_DEBUG, &rest, fd, &out);
	close(fd);
	in = wire_read(&out);
	*ret_serves = !err && wire_get_u32(&in) == 1;
	return err;
}

static void close_remote(struct elf_file *file)
{
	_cleanup_(strbuf_deinit) struct strbuf out = {0};

	if (file->child && file->child == keeper_child(file->reader->keeper))
		error_destroy(ask(file, ELF_CLOSE, NULL, -1, &out));
}

const struct elf_tables elf_tables_remote = {
	.find_functions = find_functions,
	.offer_functions = offer_functions,
	.read_links = read_links,
	.find_usdt = find_usdt,
	.has_symbols = has_symbols,
	.read_debuglink = read_debuglink,
	.try_debug = try_debug,
	.close = close_remote,
};
