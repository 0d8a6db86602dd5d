// SPDX-License-Identifier: Apache-2.0
/* Symbols and lines from a confined child: the same as without one, and what is lost if
 * the child ends. */
#include "check.h"
#include "descriptors.h"

#include <signal.h>
#include <stdbool.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "symbol/reader.h"
#include "util/cleanup.h"

__attribute__((noinline)) static int reader_test_function(int n)
{
	return n * 5 + getpid() % 3;
}

static char *code; /* anonymous code, which the targets have, too */

/* A process with this one's code at the same addresses. */
static struct proc *start_target(void)
{
	struct proc *proc = NULL;
	struct error *err;
	pid_t pid;

	fflush(stdout);
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	err = proc_open(pid, &proc);
	if (err)
		fprintf(stderr, "%s\n", err->message);
	REQUIRE(!err);
	return proc;
}

static void end_target_only(const struct proc *proc)
{
	kill(proc->pid, SIGKILL);
	REQUIRE(waitpid(proc->pid, NULL, 0) == proc->pid);
}

static void end_target(struct proc *proc)
{
	end_target_only(proc);
	proc_close(proc);
}

static char warned[512];
static unsigned warnings;

static void hear(void *arg, const char *text)
{
	(void)arg;
	warnings++;
	snprintf(warned, sizeof(warned), "%s", text);
}

static struct reader *create_with(struct reader_options options)
{
	struct reader *reader = NULL;
	struct error *err;

	options.warn = hear;
	warnings = 0;
	warned[0] = '\0';
	err = reader_create(&options, &reader);
	if (err)
		fprintf(stderr, "%s\n", err->message);
	REQUIRE(!err);
	/* If the child had no filter, there would be a warning. */
	CHECK_STR(warned, "");
	return reader;
}

static struct reader *create_for(size_t open_max)
{
	return create_with((struct reader_options){.open_max = open_max});
}

static struct reader *create(void)
{
	return create_for(0);
}

static struct symbolizer *open_target(struct reader *reader, const struct proc *proc)
{
	struct symbolizer *symbolizer = NULL;

	REQUIRE(!reader_symbolizer_create(reader, proc, &symbolizer));
	return symbolizer;
}

static void check_name(struct symbolizer *symbolizer, const void *at, const char *name)
{
	struct symbol symbol;

	REQUIRE(!symbolizer->ops->resolve(symbolizer, (uintptr_t)at, &symbol));
	if (name)
		CHECK_STR(symbol.name, name);
	else
		CHECK(!symbol.name);
	symbol_deinit(&symbol);
}

static void check_function(struct symbolizer *symbolizer)
{
	check_name(symbolizer, (const char *)(uintptr_t)reader_test_function + 3,
		   "reader_test_function");
}

static void names_and_lines(void)
{
	struct proc *proc = start_target(), *other = start_target();
	struct reader *reader = create();
	struct symbolizer *symbolizer = open_target(reader, proc);
	struct symbolizer *second = open_target(reader, other);
	struct source_frames sources;

	check_function(symbolizer);
	REQUIRE(!symbolizer->ops->find_sources(
		symbolizer, (uintptr_t)reader_test_function + 3, &sources));
	REQUIRE(sources.list.len > 0);
	CHECK_CONTAINS(sources.list.data[0].file, "test_reader.c");
	CHECK(sources.list.data[0].line >= 18 && sources.list.data[0].line < 22);
	source_frames_deinit(&sources);
	check_function(second);
	CHECK(!symbolizer->ops->mappings_changed(symbolizer));
	/* If one symbolizer is closed, the other one works, and symbols are available
	 * after the process has ended. */
	symbolizer_destroy(second);
	end_target_only(proc);
	check_name(symbolizer, code, NULL);
	check_function(symbolizer);
	symbolizer_destroy(symbolizer);
	proc_close(proc);
	reader_destroy(reader);
	end_target(other);
	CHECK_INT(warnings, 0);
}

/* No symbol was requested before the exit: still, symbols of the program and of a
 * library, which are read at the first request, are available. */
static void names_after_exit(void)
{
	struct proc *proc = start_target();
	struct reader *reader = create();
	struct symbolizer *symbolizer = open_target(reader, proc);
	struct symbol symbol;

	end_target_only(proc);
	check_function(symbolizer);
	REQUIRE(!symbolizer->ops->resolve(symbolizer, (uintptr_t)(void *)qsort + 1,
					  &symbol));
	CHECK_CONTAINS(symbol.name, "qsort");
	symbol_deinit(&symbol);
	symbolizer_destroy(symbolizer);
	reader_destroy(reader);
	proc_close(proc);
}

/* The child was killed while it read symbols of one process. That process gets no new
 * symbols, the next one does. */
static void killed_child(void)
{
	struct proc *proc = start_target(), *other = start_target();
	struct reader *reader = create();
	struct symbolizer *symbolizer = open_target(reader, proc);
	struct symbolizer *second = open_target(reader, other);
	int pid = reader_pid(reader);

	REQUIRE(!kill(pid, SIGKILL));
	check_name(symbolizer, (const void *)(uintptr_t)reader_test_function, NULL);
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "was ended by signal 9 while it read symbols of process");
	check_name(symbolizer, (const void *)(uintptr_t)reader_test_function, NULL);
	CHECK(!symbolizer->ops->mappings_changed(symbolizer));
	check_function(second);
	CHECK(reader_pid(reader) && reader_pid(reader) != pid);
	CHECK_INT(warnings, 1);
	symbolizer_destroy(symbolizer);
	symbolizer_destroy(second);
	reader_destroy(reader);
	end_target(proc);
	end_target(other);
}

/* After several killed children no more are started, and a message says so. */
static void killed_each_time(void)
{
	struct reader *reader = create();
	struct proc *proc[6];
	struct symbolizer *symbolizer[6];

	for (int i = 0; i < 6; i++)
		proc[i] = start_target();
	for (int i = 0; i < 6; i++) {
		symbolizer[i] = open_target(reader, proc[i]);
		if (reader_pid(reader))
			REQUIRE(!kill(reader_pid(reader), SIGKILL));
		check_name(symbolizer[i], (const void *)(uintptr_t)reader_test_function,
			   NULL);
	}
	CHECK_CONTAINS(warned, "symbols are read no more");
	CHECK_INT(warnings, 5);
	CHECK_INT(reader_pid(reader), 0);
	for (int i = 0; i < 6; i++) {
		symbolizer_destroy(symbolizer[i]);
		end_target(proc[i]);
	}
	reader_destroy(reader);
}

/* A FIFO without a writer is not opened, neither by memtrace nor by libbcc. */
static void map_is_a_fifo(void)
{
	struct proc *proc = start_target();
	struct reader *reader = create();
	struct symbolizer *symbolizer;
	time_t start = time(NULL);
	char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", proc->pid);
	REQUIRE(!mkfifo(path, 0666));
	symbolizer = open_target(reader, proc);
	check_name(symbolizer, code + 0x10, NULL);
	check_function(symbolizer);
	CHECK(time(NULL) - start < 20);
	CHECK_INT(warnings, 0);
	symbolizer_destroy(symbolizer);
	reader_destroy(reader);
	end_target(proc);
	unlink(path);
}

/* A perf map that is larger than the limit: one message. */
static void map_is_too_large(void)
{
	struct proc *proc = start_target();
	struct reader *reader = create();
	struct symbolizer *symbolizer;
	char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", proc->pid);
	file = fopen(path, "we");
	REQUIRE(file &&
		fprintf(file, "%lx 10 jitted\n", (unsigned long)(uintptr_t)code) > 0);
	REQUIRE(!fflush(file) && !ftruncate(fileno(file), (off_t)257 << 20));
	fclose(file);
	symbolizer = open_target(reader, proc);
	check_name(symbolizer, code + 1, "jitted");
	for (int i = 0; i < 3; i++)
		(void)symbolizer->ops->mappings_changed(symbolizer);
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "is beyond 256 MiB or 4 million names");
	symbolizer_destroy(symbolizer);
	reader_destroy(reader);
	end_target(proc);
	unlink(path);
}

#define MANY 40
#define OPEN 24

static unsigned count_named(struct symbolizer *const symbolizers[])
{
	unsigned named = 0;

	for (size_t i = 0; i < MANY; i++) {
		struct symbol symbol;

		REQUIRE(!symbolizers[i]->ops->resolve(
			symbolizers[i], (uintptr_t)reader_test_function + 3, &symbol));
		named += symbol.name && !strcmp(symbol.name, "reader_test_function");
		symbol_deinit(&symbol);
	}
	return named;
}

/* However many processes there are, the child keeps at most OPEN of them open. A running
 * process is opened again. */
static void very_many_processes(void)
{
	struct symbolizer *symbolizers[MANY];
	struct proc *proc[MANY];
	struct reader *reader = create_for(OPEN);
	unsigned before = 0;

	for (size_t i = 0; i < MANY; i++) {
		proc[i] = start_target();
		symbolizers[i] = open_target(reader, proc[i]);
		if (i == OPEN - 1)
			before = count_descriptors(reader_pid(reader));
	}
	CHECK(before > OPEN);
	CHECK_INT(count_descriptors(reader_pid(reader)), before);
	CHECK_INT(count_named(symbolizers), MANY);
	CHECK_INT(count_named(symbolizers), MANY);
	CHECK(count_descriptors(reader_pid(reader)) <= before + 16);
	CHECK_INT(warnings, 0);
	for (size_t i = 0; i < MANY; i++)
		end_target_only(proc[i]);
	/* Processes that ended while they were closed have no symbols. */
	CHECK_INT(count_named(symbolizers), OPEN);
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "more processes have exited");
	CHECK(!symbolizers[0]->ops->mappings_changed(symbolizers[0]));
	for (size_t i = 0; i < MANY; i++) {
		symbolizer_destroy(symbolizers[i]);
		proc_close(proc[i]);
	}
	reader_destroy(reader);
}

static bool puts_off(struct symbolizer *symbolizer)
{
	uintptr_t at = (uintptr_t)reader_test_function + 3;
	struct symbol symbol;

	REQUIRE(!symbolizer->ops->resolve(symbolizer, at, &symbol));
	CHECK(symbol.is_put_off == !symbol.name);
	bool ret = symbol.is_put_off;

	symbol_deinit(&symbol);
	return ret;
}

/* A report looks up names until its time is over, the next report the rest. */
static void names_of_later_reports(void)
{
	struct proc *proc = start_target(), *other = start_target();
	struct reader *reader = create_with((struct reader_options){.report_ns = 1});
	struct symbolizer *symbolizer = open_target(reader, proc);
	struct symbolizer *second = open_target(reader, other);

	/* The time was spent when the processes were opened. */
	CHECK(puts_off(symbolizer));
	CHECK(puts_off(second));
	CHECK_INT(warnings, 1);
	CHECK_CONTAINS(warned, "later reports");
	reader_begin_report(reader);
	CHECK(!puts_off(second));
	CHECK(puts_off(symbolizer));
	reader_begin_observation(reader);
	CHECK(!puts_off(symbolizer));
	CHECK_INT(warnings, 1);
	symbolizer_destroy(symbolizer);
	symbolizer_destroy(second);
	reader_destroy(reader);
	end_target(proc);
	end_target(other);
}

int main(void)
{
	code = mmap(NULL, 8192, PROT_READ | PROT_WRITE | PROT_EXEC,
		    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(code != MAP_FAILED);
	RUN(names_and_lines);
	RUN(names_after_exit);
	RUN(names_of_later_reports);
	RUN(killed_child);
	RUN(killed_each_time);
	RUN(map_is_a_fifo);
	RUN(map_is_too_large);
	RUN(very_many_processes);
	return check_done();
}
