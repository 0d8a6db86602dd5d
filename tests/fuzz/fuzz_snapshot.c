// SPDX-License-Identifier: Apache-2.0
/*
 * Snapshots: the input is the content, to which the layer of chunks and checksums is
 * added. What is read must be writable, and readable again.
 */
#include "fuzz.h"

#include <stdio.h>

#include "snapshot/file.h"
#include "snapshot/file_chunks.h"

struct file {
	char *bytes;
	size_t size;
};

static struct snapshot *read_back(const struct file *file)
{
	FILE *in = fmemopen(file->bytes, file->size, "r");
	struct snapshot *snap = NULL;

	FUZZ_REQUIRE(in);
	error_destroy(snapshot_read(in, file->size, &snap));
	fclose(in);
	return snap;
}

static struct file pack(const uint8_t *data, size_t size)
{
	struct chunk_writer w;
	struct file file;
	FILE *out = open_memstream(&file.bytes, &file.size);

	FUZZ_REQUIRE(out && !chunk_writer_init(&w, out));
	while (size) {
		size_t part = size < CHUNK_CONTENT ? size : CHUNK_CONTENT;

		chunk_writer_add(&w, data, part);
		data += part;
		size -= part;
	}
	FUZZ_REQUIRE(!chunk_writer_finish(&w));
	chunk_writer_deinit(&w);
	FUZZ_REQUIRE(!fclose(out));
	return file;
}

static struct file write_again(const struct snapshot *snap)
{
	struct file file;
	FILE *out = open_memstream(&file.bytes, &file.size);

	FUZZ_REQUIRE(out && !snapshot_write(snap, out) && !fclose(out));
	return file;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct file file = pack(data, size);
	struct snapshot *snap = read_back(&file);

	free(file.bytes);
	if (!snap)
		return 0;
	file = write_again(snap);
	snapshot_destroy(snap);
	snap = read_back(&file);
	FUZZ_REQUIRE(snap);
	snapshot_destroy(snap);
	free(file.bytes);
	return 0;
}
