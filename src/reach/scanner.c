// SPDX-License-Identifier: Apache-2.0
#include "reach/scanner.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "reach/scan_service.h"
#include "util/cleanup.h"

struct reach_scanner {
	struct scan_service *service; /* state with which the child starts */
	struct confined_service entry;
	struct confined *child;
	int table; /* a memfd */
	void *map;
	size_t map_bytes;
};

/* The child cannot take memory of the table away from us. */
static struct error *make_table(struct reach_scanner *s)
{
	s->table = memfd_create("memtrace-reach", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->table < 0 || fcntl(s->table, F_ADD_SEALS, F_SEAL_SHRINK))
		return error_errno(ERROR_IO, errno,
				   "cannot share memory with the process that searches "
				   "for unreachable blocks");
	return NULL;
}

static struct error *start(struct reach_scanner *s,
			   const struct reach_scanner_options *options)
{
	const struct confined_options confined = {
		.kind = CONFINED_SCANNER,
		.name = "memtrace-reach",
		.services = &s->entry,
		.service_count = 1,
		.progress = options->progress,
		.progress_arg = options->arg,
		.stopping_ns = options->stopping_ns,
		.stopping_arg = options->arg,
	};
	struct error *why = NULL, *err;

	s->service = scan_service_create(&options->words);
	if (!s->service)
		return error_no_memory();
	s->entry = scan_service_entry(s->service);
	err = confined_start(&confined, &s->child, &why);
	/* Without a filter it has still given up its privileges; keeper.h says so of the
	 * children that parse files. */
	error_destroy(why);
	return err;
}

struct error *reach_scanner_create(const struct reach_scanner_options *options,
				   struct reach_scanner **ret)
{
	struct reach_scanner *s = calloc(1, sizeof(*s));
	struct error *err;

	if (!s)
		return error_no_memory();
	s->table = -1;
	err = make_table(s);
	if (!err)
		err = start(s, options);
	if (err) {
		reach_scanner_destroy(s);
		return err;
	}
	*ret = s;
	return NULL;
}

void reach_scanner_destroy(struct reach_scanner *scanner)
{
	if (!scanner)
		return;
	confined_destroy(scanner->child);
	scan_service_destroy(scanner->service);
	if (scanner->map)
		munmap(scanner->map, scanner->map_bytes);
	closep(&scanner->table);
	free(scanner);
}

int reach_scanner_pid(const struct reach_scanner *scanner)
{
	return confined_pid(scanner->child);
}

struct error *reach_scanner_table(struct reach_scanner *scanner, uint32_t count,
				  struct reach_table *ret)
{
	size_t size = scan_table_bytes(count) + 1;
	void *map;

	if (size > scanner->map_bytes) {
		if (ftruncate(scanner->table, (off_t)size))
			return error_errno(ERROR_NO_MEMORY, errno,
					   "no memory for a table of %u blocks", count);
		map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, scanner->table,
			   0);
		if (map == MAP_FAILED)
			return error_no_memory();
		if (scanner->map)
			munmap(scanner->map, scanner->map_bytes);
		scanner->map = map;
		scanner->map_bytes = size;
	}
	*ret = scan_table_at(scanner->map, count);
	return NULL;
}

void reach_scanner_pack(struct reach_scanner *scanner, uint32_t count,
			struct reach_table *table)
{
	struct reach_table packed = scan_table_at(scanner->map, count);

	/* The starts are where they were. */
	memmove(packed.end, table->end, count * sizeof(*packed.end));
	*table = packed;
}

static struct error *call(struct reach_scanner *s, enum scan_request request, int pid,
			  const struct reach_table *table, uint64_t deadline_ns,
			  struct reach_effort *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf in = {0}, out = {0};
	struct wire answer;
	struct error *err;

	wire_put_u32(&in, (uint32_t)pid);
	if (table) {
		wire_put_u32(&in, table->count);
		wire_put_u32(&in, table->is_whole);
	}
	wire_put_u64(&in, deadline_ns);
	err = confined_call(s->child, request, &in, table ? s->table : -1, &out, NULL);
	if (err || !ret)
		return err;
	answer = wire_read(&out);
	*ret = scan_effort_get(&answer);
	return NULL;
}

struct error *reach_scanner_first(struct reach_scanner *scanner, int pid,
				  const struct reach_table *table, uint64_t deadline_ns,
				  struct reach_effort *ret)
{
	return call(scanner, SCAN_FIRST, pid, table, deadline_ns, ret);
}

struct error *reach_scanner_stop(struct reach_scanner *scanner, int pid,
				 uint64_t deadline_ns)
{
	return call(scanner, SCAN_STOP, pid, NULL, deadline_ns, NULL);
}

struct error *reach_scanner_verify(struct reach_scanner *scanner, int pid,
				   const struct reach_table *table, uint64_t deadline_ns,
				   struct reach_effort *ret)
{
	return call(scanner, SCAN_VERIFY, pid, table, deadline_ns, ret);
}

void reach_scanner_release(struct reach_scanner *scanner)
{
	error_destroy(call(scanner, SCAN_RELEASE, 0, NULL, 0, NULL));
}
