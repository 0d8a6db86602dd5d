// SPDX-License-Identifier: Apache-2.0
/* Truncated, damaged and malicious files: each gives one clear error and does no harm. */
#include "filled.h"

#include <sys/resource.h>

#include "snapshot/file_chunks.h"

#define DAMAGED(what) "is damaged: " what " (copy the file again, or save a new one)"

/* The error of a file in memory, which must be refused. */
static struct error *refuse(const char *data, size_t len)
{
	struct snapshot *snap = NULL;
	struct error *err = filled_read(data, len, &snap);

	if (!err)
		CHECK_FAIL("%zu bytes were taken for a snapshot", len);
	REQUIRE(err);
	CHECK(!snap);
	CHECK(!strpbrk(err->message, "\n\r"));
	return err;
}

#define REFUSED(data, len, code_, message_)                                              \
	do {                                                                             \
		_cleanup_(error_destroyp) struct error *err_ = refuse((data), (len));    \
		CHECK_INT(err_->code, (code_));                                          \
		CHECK_STR(err_->message, (message_));                                    \
	} while (0)

static void cut_anywhere(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);

	for (size_t len = 0; len < file.len; len++)
		REFUSED(file.data, len, ERROR_MALFORMED,
			len < 8 ? "is not a memtrace snapshot (a file that --save wrote)"
				: "is cut short: copy the file again, or save a new one");
}

static void any_bit_flipped(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);

	for (size_t at = 0; at < file.len; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			file.data[at] ^= (char)(1 << bit);

			_cleanup_(error_destroyp) struct error *err =
				refuse(file.data, file.len);

			CHECK_INT(err->code, ERROR_MALFORMED);
			file.data[at] ^= (char)(1 << bit);
		}
	}
}

static void something_behind_or_instead(void)
{
	_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
	_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);
	_cleanup_(freep) char *longer = malloc(file.len + 1);
	char text[256];

	REQUIRE(longer);
	memcpy(longer, file.data, file.len);
	longer[file.len] = '\n';
	REFUSED(longer, file.len + 1, ERROR_MALFORMED,
		DAMAGED("something follows its end"));
	memset(text, 'x', sizeof(text));
	REFUSED(text, sizeof(text), ERROR_MALFORMED,
		"is not a memtrace snapshot (a file that --save wrote)");
	REFUSED("", 0, ERROR_MALFORMED,
		"is not a memtrace snapshot (a file that --save wrote)");
}

/* The head's checksum is right, so the reader believes its version. */
static void newer_version(void)
{
	static const char head[] = "\x8fmts\r\n\x1a\n\x02\0\0\0\x7b\x8c\xcb\xb9";

	REFUSED(head, 16, ERROR_UNSUPPORTED,
		"is a snapshot in format 2; this memtrace reads format 1: use the "
		"memtrace that "
		"saved it");
}

/* --- invalid content with valid compression and checksums ------------------------- */

struct maker {
	struct chunk_writer w;
	struct bytes file;
	FILE *out;
};

static void make_begin(struct maker *m)
{
	*m = (struct maker){.out = NULL};
	m->out = open_memstream(&m->file.data, &m->file.len);
	REQUIRE(m->out && !chunk_writer_init(&m->w, m->out));
}

static void make_end(struct maker *m)
{
	REQUIRE(!chunk_writer_finish(&m->w));
	chunk_writer_deinit(&m->w);
	REQUIRE(!fclose(m->out));
}

static void add(struct maker *m, const void *data, size_t size)
{
	chunk_writer_add(&m->w, data, size);
}

static void add_label(struct maker *m, const char *label)
{
	add(m, &(char){(char)strlen(label)}, 1);
	add(m, label, strlen(label));
}

/* Begins a section that claims to be `size` bytes long. */
static void add_section(struct maker *m, const char *label, uint64_t size)
{
	add_label(m, label);
	chunk_writer_add_u64(&m->w, size);
}

/* Begins a table with one column. */
static void add_table(struct maker *m, const char *label, uint64_t size, uint64_t rows,
		      const char *column, char kind, char width, char count)
{
	const char form[] = {kind, width, count, 0};

	add_section(m, label, size + 8 + 1 + 1 + strlen(column) + 4);
	chunk_writer_add_u64(&m->w, rows);
	add(m, "\x01", 1);
	add_label(m, column);
	add(m, form, sizeof(form));
}

static void add_run(struct maker *m)
{
	add_table(m, "run", 8, 1, "wall_ns", 'i', 8, 1);
	chunk_writer_add_u64(&m->w, 1);
}

static void expect(struct maker *m, const char *message)
{
	_cleanup_(error_destroyp) struct error *err = NULL;

	make_end(m);
	err = refuse(m->file.data, m->file.len);
	CHECK_INT(err->code, ERROR_MALFORMED);
	CHECK_STR(err->message, message);
	bytes_deinit(&m->file);
}

static void wrong_sections(void)
{
	struct maker m;

	make_begin(&m);
	expect(&m, DAMAGED("it has no table run"));

	make_begin(&m);
	add_section(&m, "unknown", 3);
	add(&m, "abc", 3);
	expect(&m, DAMAGED("it has no table run"));

	make_begin(&m);
	add_section(&m, "unknown", 4);
	add(&m, "abc", 3);
	expect(&m, DAMAGED("its content is cut short"));

	make_begin(&m);
	add_section(&m, "unknown", UINT64_MAX);
	expect(&m, DAMAGED("a section is longer than the file"));

	make_begin(&m);
	add_run(&m);
	add_section(&m, "strings", 2);
	add(&m, "a", 2);
	expect(&m, DAMAGED("its strings do not come first"));

	make_begin(&m);
	add_section(&m, "strings", 3);
	add(&m, "abc", 3);
	expect(&m, DAMAGED("its last string has no end"));

	make_begin(&m);
	add_run(&m);
	add_run(&m);
	expect(&m, DAMAGED("table run comes twice"));
}

static void wrong_tables(void)
{
	static const struct {
		uint64_t size, rows;
		const char *column;
		char kind, width, count;
		const char *message;
	} cases[] = {
		{8, UINT64_MAX, "address", 'i', 8, 1, "table heap has a wrong size"},
		{8, UINT64_MAX / 8 + 2, "address", 'i', 8, 1,
		 "table heap has a wrong size"},
		{8, 2, "address", 'i', 8, 1, "table heap has a wrong size"},
		{8, 0, "address", 'i', 8, 1, "table heap has a wrong size"},
		{8, 1, "address", 'i', 8, 1, "table heap has a wrong number of rows"},
		{8, 8, "later", 'i', 1, 1, "table heap has a wrong number of rows"},
		{8, 1, "address", 'i', 4, 2, "column address of heap has another form"},
		{8, 1, "address", 'f', 8, 1, "column address of heap has another form"},
		{16, 1, "address", 'i', 8, 2, "column address of heap has another form"},
		{8, 1, "address", 'i', 0, 1, "a column of heap has an unknown form"},
		{8, 1, "address", 'i', 8, 0, "a column of heap has an unknown form"},
		{8, 1, "later", 'i', 3, 1, "a column of heap has an unknown form"},
		{8, 1, "later", '?', 8, 1, "a column of heap has an unknown form"},
		{8, 1, "later", 's', 8, 1, "a column of heap has an unknown form"},
	};
	struct maker m;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char message[128];

		make_begin(&m);
		add_run(&m);
		add_table(&m, "heap", cases[i].size, cases[i].rows, cases[i].column,
			  cases[i].kind, cases[i].width, cases[i].count);
		add(&m, "0123456789abcdef", cases[i].size);
		snprintf(message, sizeof(message), DAMAGED("%s"), cases[i].message);
		expect(&m, message);
	}

	make_begin(&m);
	add_run(&m);
	add_section(&m, "heap", 9);
	chunk_writer_add_u64(&m.w, 1);
	add(&m, "\xff", 1);
	expect(&m, DAMAGED("a section is shorter than what is in it"));

	make_begin(&m);
	add_table(&m, "run", 1, 1, "has_traffic", 'b', 1, 1);
	add(&m, "\x02", 1);
	expect(&m, DAMAGED("column has_traffic of run has a wrong value"));

	make_begin(&m);
	add_table(&m, "run", 4, 1, "library", 's', 4, 1);
	add(&m, "\0\0\0\0", 4);
	expect(&m, DAMAGED("column library of run has a wrong value"));

	make_begin(&m);
	add_table(&m, "run", 16, 2, "wall_ns", 'i', 8, 1);
	add(&m, "0123456789abcdef", 16);
	expect(&m, DAMAGED("table run has a wrong number of rows"));
}

/* A small file with much content, or one that claims it: no memory is allocated for
 * it. */
static void bombs_are_defused(void)
{
	struct rusage before, after;
	struct maker m;
	const uint64_t size = UINT64_C(1) << 26;
	_cleanup_(freep) char *zeros = calloc(1, 1 << 16);

	REQUIRE(zeros);
	/* Many empty strings. memtrace itself writes no smaller file. */
	make_begin(&m);
	add_section(&m, "strings", size);
	for (uint64_t i = 0; i < size >> 16; i++)
		add(&m, zeros, 1 << 16);
	make_end(&m);
	CHECK(m.file.len >= size / CHUNK_RATIO);

	/* A file that is compressed more is refused before it is unpacked. */
	uint32_t content, packed;

	memcpy(&content, m.file.data + 16, sizeof(content));
	memcpy(&packed, m.file.data + 20, sizeof(packed));
	CHECK(content > CHUNK_CONTENT / 2);
	packed = content / CHUNK_RATIO - 1;
	memcpy(m.file.data + 20, &packed, sizeof(packed));
	getrusage(RUSAGE_SELF, &before);
	REFUSED(m.file.data, m.file.len, ERROR_MALFORMED,
		DAMAGED("a chunk has a wrong size"));
	content = UINT32_MAX;
	memcpy(m.file.data + 16, &content, sizeof(content));
	REFUSED(m.file.data, m.file.len, ERROR_MALFORMED,
		DAMAGED("a chunk has a wrong size"));
	bytes_deinit(&m.file);

	/* No memory for data that is only claimed to follow. */
	make_begin(&m);
	add_section(&m, "strings", UINT32_MAX);
	expect(&m, DAMAGED("a section is longer than the file"));
	make_begin(&m);
	add_run(&m);
	add_table(&m, "frames", UINT64_C(1) << 40, UINT64_C(1) << 37, "address", 'i', 8,
		  1);
	expect(&m, DAMAGED("a section is longer than the file"));
	getrusage(RUSAGE_SELF, &after);
	CHECK(after.ru_maxrss - before.ru_maxrss < 4096);
}

/* --- tables that contradict each other -------------------------------------------- */

struct wrong {
	void (*spoil)(struct snapshot *snap);
	const char *message;
};

#define SPOIL(name, statement)                                                           \
	static void name(struct snapshot *snap)                                          \
	{                                                                                \
		statement;                                                               \
	}

SPOIL(block_stack, snap->blocks[BLOCK_HEAP].data[2].stack = 3)
SPOIL(block_process, snap->blocks[BLOCK_MAPPING].data[0].process = 3)
SPOIL(stack_frames, snap->stacks.data[1].depth = 3)
SPOIL(stack_gap, snap->stacks.data[1].gap = 2)
SPOIL(stack_frames_far, snap->stacks.data[1].first_frame = UINT32_MAX)
SPOIL(stack_process, snap->stacks.data[0].process = 3)
SPOIL(stack_end, snap->stacks.data[2].end = STACK_END_COUNT)
SPOIL(sampling, snap->sampling.every = 0)
SPOIL(pid, snap->processes.data[0].pid = -1)
SPOIL(traffic, snap->traffic.len = 2)
SPOIL(lifetimes, snap->lifetimes.len = 1)
SPOIL(path_sizes, snap->path_sizes.len = 1)
SPOIL(at_peak, snap->at_peak.len = 1)
SPOIL(trends, snap->trends[BLOCK_MAPPING].len = 1)
SPOIL(slope, snap->trends[BLOCK_HEAP].data[1].slope_bytes_per_s = NAN)
SPOIL(fit, snap->trends[BLOCK_HEAP].data[1].determination = INFINITY)
SPOIL(estimate, snap->before.stacks[BLOCK_HEAP].data[0].estimated_count = -INFINITY)
SPOIL(negative, snap->before.stacks[BLOCK_MAPPING].data[1].estimated_bytes = -1)
SPOIL(allocator, free(snap->allocators.data[2].module);
      snap->allocators.data[2].module = NULL)
SPOIL(thread, snap->threads.data[2].process = SNAPSHOT_NO_PROCESS)
SPOIL(name_process, snap->names.data[2].process = 3)
SPOIL(name_order, snap->names.data[1] = snap->names.data[0])
SPOIL(name_text, snap->names.data[1].module = 100)
SPOIL(name_lines, snap->names.data[2].source_count = 2)
SPOIL(line_text, snap->sources.data[0].file = UINT32_MAX - 1)
SPOIL(module_order, snap->processes.data[1].modules.data[1].start = 0x1fff)
SPOIL(module_size, snap->processes.data[1].modules.data[1].end = 0x2000)
SPOIL(module_path, snap->processes.data[1].modules.data[0].path =
			   (free(snap->processes.data[1].modules.data[0].path), NULL))

static void what_does_not_fit(void)
{
	static const struct wrong wrongs[] = {
		{block_stack, "a block has an invalid stack"},
		{block_process, "a block has an invalid process"},
		{stack_frames, "a stack has frames that are not there"},
		{stack_gap, "a stack lacks frames where it has none"},
		{stack_frames_far, "a stack has frames that are not there"},
		{stack_process, "a stack has an invalid process"},
		{stack_end, "a stack has no known end"},
		{sampling, "one allocation in 0 was sampled"},
		{pid, "a process has a negative number"},
		{traffic, "it does not have the traffic of each stack"},
		{lifetimes, "it does not have the traffic of each stack"},
		{path_sizes, "it does not have the traffic of each stack"},
		{at_peak, "it does not have the traffic of each stack"},
		{trends, "it does not have the trend of each stack"},
		{slope, "a trend is not a number"},
		{fit, "a trend is not a number"},
		{estimate, "an estimate is not a number"},
		{negative, "an estimate is not a number"},
		{allocator, "an allocator has no name"},
		{thread, "a thread has an invalid process"},
		{name_process, "a name has an invalid process"},
		{name_order, "names are not in order"},
		{name_text, "a name has no text"},
		{name_lines, "a name has lines that are not there"},
		{line_text, "a line has no text"},
		{module_order, "modules are not in order"},
		{module_size, "a module has no path or no size"},
		{module_path, "a module has no path or no size"},
	};

	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		_cleanup_(snapshot_destroyp) struct snapshot *snap = filled_snapshot();
		char message[128];

		wrongs[i].spoil(snap);

		_cleanup_(bytes_deinit) struct bytes file = filled_write(snap);

		snprintf(message, sizeof(message), DAMAGED("%s"), wrongs[i].message);
		REFUSED(file.data, file.len, ERROR_MALFORMED, message);
	}
}

int main(void)
{
	RUN(cut_anywhere);
	RUN(any_bit_flipped);
	RUN(something_behind_or_instead);
	RUN(newer_version);
	RUN(wrong_sections);
	RUN(wrong_tables);
	RUN(bombs_are_defused);
	RUN(what_does_not_fit);
	return check_done();
}
