// SPDX-License-Identifier: Apache-2.0
/* Tables of ELF files from a confined child: the same as without one, and refused if the
 * child ends. */
#include "check.h"

#include <dlfcn.h>
#include <link.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/sdt.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "elf/elf_reader.h"
#include "elf/elf_wire.h"
#include "process/target_elf.h"
#include "process/target_file.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct elf_file *, elf_file_close);
DEFINE_CLEANUP(struct target_file *, target_file_release);

static char warned[512];
static unsigned warnings;

static void hear(void *arg, const char *text)
{
	(void)arg;
	warnings++;
	snprintf(warned, sizeof(warned), "%s", text);
}

static struct elf_reader *create(void)
{
	struct elf_reader *reader = NULL;

	warnings = 0;
	REQUIRE(!elf_reader_create(hear, NULL, NULL, &reader));
	CHECK_INT(warnings, 0);
	return reader;
}

/* Opens the file of a loaded library. `reader` NULL: in this process. */
static struct elf_file *open_path(const char *path, struct elf_reader *reader)
{
	_cleanup_(target_file_releasep) struct target_file *from = NULL;
	struct elf_file *file = NULL;

	REQUIRE(!target_file_named(NULL, path, &from));
	target_file_set_reader(from, reader);
	REQUIRE(!target_elf_open(from, &file));
	CHECK(file->tables == (reader ? &elf_tables_remote : &elf_tables_here));
	return file;
}

static const char *path_of(void *function)
{
	struct link_map *map = NULL;
	Dl_info info;

	REQUIRE(dladdr1(function, &info, (void **)&map, RTLD_DL_LINKMAP));
	return map->l_name[0] ? map->l_name : "/proc/self/exe";
}

static void check_functions(struct elf_file *here, struct elf_file *remote)
{
	static const char *const names[] = {"malloc", "free", "none",
					    "memcpy", "main", "strdup"};
	struct elf_symbol a[6], b[6];
	unsigned found = 0;

	REQUIRE(!elf_file_find_functions(here, names, 6, a));
	REQUIRE(!elf_file_find_functions(remote, names, 6, b));
	for (int i = 0; i < 6; i++) {
		CHECK(a[i].name == b[i].name);
		CHECK_INT(b[i].address, a[i].address);
		CHECK_INT(b[i].size_bytes, a[i].size_bytes);
		CHECK_INT(b[i].file_offset, a[i].file_offset);
		CHECK_INT(b[i].type, a[i].type);
		CHECK_INT(b[i].is_local, a[i].is_local);
		CHECK_INT(b[i].is_from_debug, a[i].is_from_debug);
		CHECK_INT(b[i].is_ambiguous, a[i].is_ambiguous);
		CHECK_INT(b[i].is_imported, a[i].is_imported);
		found += b[i].name != NULL;
	}
	CHECK(found > 0);
}

static void check_links(struct elf_file *here, struct elf_file *remote)
{
	struct elf_links a, b;

	REQUIRE(!elf_links_read(here, &a));
	REQUIRE(!elf_links_read(remote, &b));
	CHECK(b.list.len > 10);
	REQUIRE(a.list.len == b.list.len);
	for (size_t i = 0; i < a.list.len; i++) {
		const struct elf_link *x = &a.list.data[i], *y = &b.list.data[i];

		CHECK_INT(y->slot, x->slot);
		CHECK_INT(y->address, x->address);
		CHECK(!x->name == !y->name && (!x->name || !strcmp(x->name, y->name)));
	}
	elf_links_deinit(&a);
	elf_links_deinit(&b);
}

static void the_same_as_here(void)
{
	const char *const paths[] = {path_of((void *)(uintptr_t)qsort), "/proc/self/exe"};
	struct elf_reader *reader = create();

	for (int i = 0; i < 2; i++) {
		_cleanup_(elf_file_closep) struct elf_file *here =
			open_path(paths[i], NULL);
		_cleanup_(elf_file_closep) struct elf_file *remote =
			open_path(paths[i], reader);
		struct elf_debuglink a, b;
		bool here_has, remote_has;

		check_functions(here, remote);
		check_links(here, remote);
		CHECK_STR(elf_file_build_id(remote), elf_file_build_id(here));
		REQUIRE(!here->tables->has_symbols(here, &here_has));
		REQUIRE(!remote->tables->has_symbols(remote, &remote_has));
		CHECK_INT(remote_has, here_has);
		REQUIRE(!here->tables->read_debuglink(here, &a));
		REQUIRE(!remote->tables->read_debuglink(remote, &b));
		CHECK_STR(b.name, a.name);
		CHECK_INT(b.checksum, a.checksum);
		/* Our process has not used libelf. */
		CHECK(!remote->elf);
	}
	CHECK_INT(warnings, 0);
	elf_reader_destroy(reader);
}

static void probes_and_names(void)
{
	struct elf_reader *reader = create();
	struct elf_file *here = open_path("/proc/self/exe", NULL);
	struct elf_file *remote = open_path("/proc/self/exe", reader);
	struct nearest near = {.wanted = "elf_reader_creat"};
	struct nearest near_probe = {.wanted = "unit:reade"};
	struct usdt_places a = {0}, b = {0}, none = {0};
	volatile int number = 7;

	STAP_PROBE2(unit, reader, number, 4);
	REQUIRE(!usdt_find(here, "unit", "reader", NULL, &a));
	REQUIRE(!usdt_find(remote, "unit", "reader", NULL, &b));
	REQUIRE(a.list.len > 0);
	REQUIRE(a.list.len == b.list.len);
	CHECK_INT(b.list.data[0].address, a.list.data[0].address);
	CHECK_INT(b.list.data[0].file_offset, a.list.data[0].file_offset);
	for (int i = 0; i < USDT_ARGS; i++) {
		const struct usdt_arg *x = &a.list.data[0].args[i];
		const struct usdt_arg *y = &b.list.data[0].args[i];

		CHECK_INT(y->kind, x->kind);
		CHECK_INT(y->size_bytes, x->size_bytes);
		CHECK_INT(y->is_signed, x->is_signed);
		CHECK_INT(y->base, x->base);
		CHECK_INT(y->index, x->index);
		CHECK_INT(y->value, x->value);
	}
	CHECK_INT(b.list.data[0].args[1].value, 4);
	REQUIRE(!usdt_find(remote, "unit", "reade", &near_probe, &none));
	CHECK_INT(none.list.len, 0);
	REQUIRE(near_probe.count > 0);
	CHECK_STR(near_probe.best[0].name, "unit:reader");
	REQUIRE(!elf_file_offer_functions(remote, &near));
	REQUIRE(near.count > 0);
	CHECK_STR(near.best[0].name, "elf_reader_create");
	vec_deinit(&a.list);
	vec_deinit(&b.list);
	elf_file_close(here);
	elf_file_close(remote);
	elf_reader_destroy(reader);
}

/* The child ends while it reads one file: that file is refused, the next one is read. */
static void killed_child(void)
{
	static const char *const names[] = {"main"};
	struct elf_reader *reader = create();
	struct elf_file *file = open_path("/proc/self/exe", reader);
	struct elf_symbol symbol;
	struct error *err;

	REQUIRE(!elf_file_find_functions(file, names, 1, &symbol));
	REQUIRE(symbol.name);
	for (int i = 0; i < 3; i++) {
		REQUIRE(!kill(elf_reader_pid(reader), SIGKILL));
		err = elf_file_find_functions(file, names, 1, &symbol);
		REQUIRE(err);
		CHECK_INT(err->code, ERROR_MALFORMED);
		CHECK_CONTAINS(err->message, "/proc/self/exe: the process memtrace-elf "
					     "was ended by signal 9 while it read");
		error_destroy(err);
		REQUIRE(!elf_file_find_functions(file, names, 1, &symbol));
		CHECK(symbol.name);
	}
	CHECK_INT(warnings, 0);
	REQUIRE(!kill(elf_reader_pid(reader), SIGKILL));
	for (int i = 0; i < 3; i++) {
		err = elf_file_find_functions(file, names, 1, &symbol);
		REQUIRE(err);
		CHECK_INT(err->code, ERROR_MALFORMED);
		error_destroy(err);
	}
	CHECK_INT(warnings, 1);
	CHECK_STR(warned, "ELF files are parsed no more: too many attempts have failed");
	CHECK_INT(elf_reader_pid(reader), 0);
	elf_file_close(file);
	elf_reader_destroy(reader);
}

/* Answers of a child that a malicious file has taken over. */
static void lies(void)
{
	struct elf_file *file = open_path("/proc/self/exe", NULL);
	const struct elf_symbol outside = {.name = "malloc", .address = 1};
	_cleanup_(strbuf_deinit) struct strbuf bytes = {0};
	struct usdt_places got = {0};
	struct elf_links links = {0};
	struct elf_symbol symbol;
	struct wire in;

	/* A function outside of the code. */
	elf_put_symbol(&bytes, &outside);
	in = wire_read(&bytes);
	elf_get_symbol(&in, file, "malloc", &symbol);
	CHECK(wire_is_done(&in));
	CHECK(!symbol.name);

	/* Unsorted links, which are searched by bisection. */
	bytes.len = 0;
	wire_put_u32(&bytes, 2);
	for (uint64_t slot = 2; slot > 0; slot--) {
		wire_put_u64(&bytes, slot);
		wire_put_u64(&bytes, 0);
		wire_put_text(&bytes, NULL);
	}
	in = wire_read(&bytes);
	REQUIRE(!elf_get_links(&in, &links));
	CHECK(in.failed);
	elf_links_deinit(&links);

	/* An argument in a register that does not exist. */
	bytes.len = 0;
	wire_put_u32(&bytes, 1);
	wire_put_u64(&bytes, file->segments[0].address);
	wire_put_u64(&bytes, 0);
	for (int i = 0; i < USDT_ARGS; i++) {
		wire_put_u32(&bytes, USDT_ARG_REGISTER);
		wire_put_u32(&bytes, 8);
		wire_put_u32(&bytes, 77);
		wire_put_u64(&bytes, 0);
	}
	in = wire_read(&bytes);
	REQUIRE(!elf_get_places(&in, file, &got));
	CHECK(in.failed);
	vec_deinit(&got.list);
	elf_file_close(file);
}

int main(void)
{
	RUN(the_same_as_here);
	RUN(probes_and_names);
	RUN(killed_child);
	RUN(lies);
	return check_done();
}
