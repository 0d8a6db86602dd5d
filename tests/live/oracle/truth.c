/* SPDX-License-Identifier: Apache-2.0 */
/* Counts what is outstanding, and prints the counts as JSON lines. */
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "oracle.h"

static const char *const site_names[SITE_COUNT] = {
#define X(name) [SITE_##name] = "site_" #name,
	HEAP_SITES(X) MAPPING_SITES(X)
#undef X
};

static struct {
	_Atomic uint64_t bytes, blocks;
} sites[SITE_COUNT];

static struct {
	_Atomic uint64_t allocations, allocated_bytes, frees, freed_bytes;
	_Atomic uint64_t failures, frees_before, abandoned;
} totals;

#define NOTE_MAX 16
static const char *notes[NOTE_MAX];
static _Atomic unsigned note_count;

static char line[1 << 16];
static size_t line_length;

#define ADD(counter, n)                                                                  \
	atomic_fetch_add_explicit(&(counter), (uint64_t)(n), memory_order_relaxed)
#define GET(counter) ((unsigned long long)atomic_load(&(counter)))

void truth_change(enum site site, uint64_t allocations, uint64_t allocated_bytes,
		  uint64_t frees, uint64_t freed_bytes)
{
	ADD(sites[site].bytes, allocated_bytes - freed_bytes);
	ADD(sites[site].blocks, allocations - frees);
	ADD(totals.allocations, allocations);
	ADD(totals.allocated_bytes, allocated_bytes);
	ADD(totals.frees, frees);
	ADD(totals.freed_bytes, freed_bytes);
}

void truth_add(enum site site, uint64_t bytes)
{
	truth_change(site, 1, bytes, 0, 0);
}

void truth_remove(enum site site, uint64_t bytes)
{
	truth_change(site, 0, 0, 1, bytes);
}

void truth_failure(void)
{
	ADD(totals.failures, 1);
}

void truth_free_before(void)
{
	ADD(totals.frees_before, 1);
}

void truth_abandon(void)
{
	ADD(totals.abandoned, 1);
}

void truth_set_mapping(enum site site, uint64_t bytes, uint64_t pieces)
{
	sites[site].bytes = bytes;
	sites[site].blocks = pieces;
}

void truth_note(const char *note)
{
	unsigned n = note_count;

	for (unsigned i = 0; i < n; i++)
		if (notes[i] == note)
			return;
	if (n < NOTE_MAX) {
		notes[n] = note;
		note_count = n + 1;
	}
}

static void write_all(int fd, const char *text, size_t length)
{
	while (length) {
		ssize_t done = write(fd, text, length);

		if (done <= 0)
			_exit(98);
		text += done;
		length -= (size_t)done;
	}
}

/* For plain strings and integers snprintf allocates nothing. */
__attribute__((format(printf, 1, 2))) static void put(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	int n = vsnprintf(line + line_length, sizeof(line) - line_length, format, args);
	va_end(args);
	if (n < 0 || (size_t)n >= sizeof(line) - line_length)
		die("the truth does not fit its buffer");
	line_length += (size_t)n;
}

static void put_sites(const char *key, unsigned first, unsigned end)
{
	const char *comma = "";

	put("\"%s\":[", key);
	for (unsigned i = first; i < end; i++) {
		if (!sites[i].blocks && !sites[i].bytes)
			continue;
		put("%s{\"site\":\"%s\",\"bytes\":%llu,\"blocks\":%llu}", comma,
		    site_names[i], GET(sites[i].bytes), GET(sites[i].blocks));
		comma = ",";
	}
	put("]");
}

static void flush_line(void)
{
	put("\n");
	write_all(STDOUT_FILENO, line, line_length);
	line_length = 0;
}

void truth_print(void)
{
	put("{");
	put_sites("sites", 0, HEAP_SITE_COUNT);
	put(",");
	put_sites("mappings", HEAP_SITE_COUNT, SITE_COUNT);
	put(",\"allocations\":%llu,\"allocated_bytes\":%llu", GET(totals.allocations),
	    GET(totals.allocated_bytes));
	put(",\"frees\":%llu,\"freed_bytes\":%llu,\"failures\":%llu", GET(totals.frees),
	    GET(totals.freed_bytes), GET(totals.failures));
	put(",\"frees_before\":%llu,\"abandoned\":%llu,\"notes\":[",
	    GET(totals.frees_before), GET(totals.abandoned));
	for (unsigned i = 0; i < note_count; i++)
		put("%s\"%s\"", i ? "," : "", notes[i]);
	put("]}");
	flush_line();
}

void truth_reply(const char *key, const char *what)
{
	put("{\"%s\":\"%s\",\"pid\":%d}", key, what, (int)getpid());
	flush_line();
}

void die(const char *why)
{
	write_all(STDERR_FILENO, "oracle: ", 8);
	write_all(STDERR_FILENO, why, strlen(why));
	write_all(STDERR_FILENO, "\n", 1);
	_exit(97);
}
