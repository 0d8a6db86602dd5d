// SPDX-License-Identifier: Apache-2.0
/* Starts and ends of runs that earlier versions got wrong: exec, signals, full devices,
 * files of failed runs. The comment of each test says how it would fail. */
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/family.h"
#include "live/trace.h"

#define TIMEOUT_S 30

static struct probes *probes_before;

static const char *text_at(const json_t *report, const char *path)
{
	const char *text = json_string_value(live_get(report, path));

	return text ? text : "(null)";
}

/*
 * The process executes another program. If memtrace did not notice, it would list the
 * blocks of the old program for ever under the new name, and its probes would be in a
 * file that the process does not run.
 */
static void exec_starts_anew(void)
{
	const char *const argv[] = {EXECER_BINARY, MOVER_BINARY, "steady", NULL};
	struct live_process *target = live_start(argv);
	json_t *ready = live_read_json(target, TIMEOUT_S);
	double until_s;

	REQUIRE(ready);
	json_decref(ready);

	struct live_process *memtrace = memtrace_start(live_pid(target), "");

	oracle_do(target, "allocate");

	json_t *report = memtrace_report(memtrace);

	CHECK_INT(report_site(report, "heap", "site_before_exec").blocks, 100);
	CHECK_INT(live_int(report, "heap.live_bytes"), 10000000);
	CHECK_STR(text_at(report, "target.command"), "execer");
	json_decref(report);

	live_send(target, "exec");
	CHECK(live_wait_stderr(memtrace, "executed", TIMEOUT_S));
	until_s = live_now_s() + 10;
	do {
		live_sleep(0.2);
		report = memtrace_report(memtrace);
		if (report_site(report, "heap", "site_steady").blocks)
			break;
		json_decref(report);
		report = NULL;
	} while (live_now_s() < until_s);
	CHECK(report);
	json_decref(report);

	report = memtrace_stop(memtrace);
	CHECK(report_site(report, "heap", "site_steady").blocks > 0);
	CHECK_INT(report_site(report, "heap", "site_before_exec").blocks, 0);
	CHECK_INT(live_int(report, "heap.live_bytes"),
		  1000 * live_int(report, "heap.live_blocks"));
	CHECK_INT(live_int(report, "heap.totals.allocations") -
			  live_int(report, "heap.totals.frees") -
			  live_int(report, "heap.totals.gone"),
		  live_int(report, "heap.live_blocks"));
	CHECK_INT(live_int(report, "target.pid"), live_pid(target));
	CHECK_STR(text_at(report, "target.command"), "mover");
	CHECK_CONTAINS(text_at(report, "target.executable"), "mover");
	json_decref(report);
	CHECK(live_is_running(target));
	live_destroy(target);
	CHECK(probes_gone(probes_before));
}

/* A report on request does not count for --count. Otherwise there would be fewer interval
 * reports. */
static void demand_does_not_count(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace =
		memtrace_start(live_pid(oracle), "--interval 1 --count 2");
	unsigned intervals = 0, demands = 0, finals = 0;
	char last[32] = "";

	for (int i = 1;; i++) {
		/* The second signal only after the first was answered: two pending
		 * signals are one. */
		if (i <= 2)
			live_signal(memtrace, SIGUSR1);

		json_t *report = live_read_json(memtrace, TIMEOUT_S);

		if (!report)
			break;
		snprintf(last, sizeof(last), "%s", text_at(report, "cause"));
		intervals += !strcmp(last, "interval") || !strcmp(last, "count");
		demands += !strcmp(last, "demand");
		finals += json_is_true(live_get(report, "final"));
		CHECK_INT(live_int(report, "sequence"), i);
		json_decref(report);
	}
	CHECK_INT(intervals, 2);
	CHECK_INT(demands, 2);
	CHECK_INT(finals, 1);
	CHECK_STR(last, "count");
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(oracle);
}

/* Started by nohup, memtrace continues when its terminal is closed. Otherwise a SIGHUP
 * ends it like Ctrl-C. If it ignored every SIGHUP, or died of it, the second half would
 * fail. */
static void hangup(void)
{
	struct live_process *oracle = oracle_start();

	signal(SIGHUP, SIG_IGN);

	struct live_process *memtrace = memtrace_start(live_pid(oracle), "");

	signal(SIGHUP, SIG_DFL);
	live_signal(memtrace, SIGHUP);
	live_sleep(0.5);
	CHECK(live_is_running(memtrace));
	live_signal(memtrace, SIGUSR1);

	json_t *report = live_read_json(memtrace, TIMEOUT_S);

	REQUIRE(report);
	CHECK_STR(text_at(report, "cause"), "demand");
	json_decref(report);
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);

	memtrace = memtrace_start(live_pid(oracle), "");
	live_signal(memtrace, SIGHUP);
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK_STR(text_at(report, "cause"), "hangup");
	CHECK(json_is_true(live_get(report, "final")));
	json_decref(report);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	live_destroy(memtrace);
	live_destroy(oracle);
	CHECK(probes_gone(probes_before));
}

/* The pid of a process that has ended and was reaped. */
static pid_t no_pid(void)
{
	const char *const argv[] = {"true", NULL};
	struct live_process *process = live_start(argv);
	pid_t pid = live_pid(process);

	CHECK_INT(live_wait(process, TIMEOUT_S), 0);
	live_destroy(process);
	return pid;
}

static void fail_with_output(const char *path, const char *options)
{
	char words[256];

	snprintf(words, sizeof(words), "%s -o %s", options, path);

	struct live_process *memtrace = memtrace_start_plain(no_pid(), words);

	CHECK(live_wait(memtrace, TIMEOUT_S) > 0);
	CHECK_CONTAINS(live_stderr(memtrace), "memtrace: ");
	live_destroy(memtrace);
}

/* A run that fails before its first report. If memtrace emptied the file of --output at
 * the start, the old reports would be lost. If it created the file at the start, an empty
 * file would stay. */
static void a_failed_run_leaves_files_alone(void)
{
	static const char old[] = "old reports\n";
	char *path = live_path("old"), *new_path = live_path("new"), got[64];
	FILE *file = fopen(path, "we");

	REQUIRE(file && fputs(old, file) >= 0 && !fclose(file));
	fail_with_output(path, "-f");
	file = fopen(path, "re");
	REQUIRE(file);
	got[fread(got, 1, sizeof(got) - 1, file)] = '\0';
	CHECK_STR(got, old);
	fclose(file);

	fail_with_output(new_path, "");
	CHECK(access(new_path, F_OK) != 0 && errno == ENOENT);
	fail_with_output(new_path, "-f");
	CHECK(access(new_path, F_OK) != 0 && errno == ENOENT);
	free(path);
	free(new_path);
}

static void check_full(const char *option)
{
	const char *const argv[] = {
		"sh", "-c", "exec \"$0\" \"$1\" >/dev/full", memtrace_path, option, NULL};
	struct live_process *memtrace = live_start(argv);

	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);

	const char *text = live_stderr(memtrace), *end = strchr(text, '\n');

	CHECK_CONTAINS(text, "memtrace: ");
	CHECK(end && !end[1]);
	live_destroy(memtrace);
}

/* If memtrace did not check the result of write(), the status would be 0. */
static void help_to_a_full_device_fails(void)
{
	check_full("--help");
	check_full("--version");
}

static bool ends_within(struct live_process *process, double seconds)
{
	double until_s = live_now_s() + seconds;

	/* Not live_wait(), which would read the output. */
	while (live_is_running(process)) {
		if (live_now_s() > until_s)
			return false;
		live_sleep(0.02);
	}
	return true;
}

/* The reader of the final report stalls. If signals stayed blocked, another Ctrl-C would
 * do nothing, and only kill -9 would help. */
static void second_ctrl_c_ends_a_stalled_run(void)
{
	struct live_process *oracle = oracle_start();
	struct live_process *memtrace = memtrace_start(live_pid(oracle), "");

	/* Many call paths: the report is larger than a pipe's buffer. */
	oracle_do(oracle, "run paths 5000 1");
	live_signal(memtrace, SIGINT);
	REQUIRE(live_wait_stdout(memtrace, TIMEOUT_S));
	live_signal(memtrace, SIGINT);
	CHECK(ends_within(memtrace, TIMEOUT_S));

	int status = live_wait(memtrace, TIMEOUT_S);

	CHECK(status == 128 + SIGINT || (status > 0 && status < 128));
	live_destroy(memtrace);
	CHECK(probes_gone(probes_before));
	oracle_do(oracle, "run keep 10 1");
	live_destroy(oracle);
}

/* A user who ends the target and then memtrace wants the last report: a signal that comes
 * while memtrace writes it does not end memtrace. The next signal does. */
static void signals_during_the_last_report(int signal, bool is_impatient)
{
	struct live_process *oracle = oracle_start();
	pid_t pid = live_pid(oracle);
	struct live_process *memtrace = memtrace_start(pid, "");

	oracle_do(oracle, "run paths 5000 1");
	live_signal(oracle, SIGKILL);
	/* memtrace cannot end before the whole report is read. */
	REQUIRE(live_wait_stdout(memtrace, TIMEOUT_S));
	live_signal(memtrace, signal);
	if (is_impatient) {
		live_sleep(0.1);
		live_signal(memtrace, signal);
		CHECK(ends_within(memtrace, TIMEOUT_S));
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + signal);
	} else {
		json_t *report = live_read_json(memtrace, TIMEOUT_S);

		REQUIRE(report);
		CHECK(json_is_true(live_get(report, "final")));
		CHECK_STR(json_string_value(live_get(report, "cause")), "exited");
		CHECK_INT(live_int(report, "heap.live_blocks"), 5000);
		CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
		json_decref(report);
	}
	live_destroy(memtrace);
	live_destroy(oracle);
	CHECK(probes_gone(probes_before));
}

static void a_signal_during_the_last_report(void)
{
	signals_during_the_last_report(SIGINT, false);
	signals_during_the_last_report(SIGTERM, false);
	signals_during_the_last_report(SIGINT, true);
}

static void copy_program(const char *from, const char *to)
{
	FILE *in = fopen(from, "re"), *out = fopen(to, "we");
	char bytes[4096];
	size_t size;

	REQUIRE(in && out);
	while ((size = fread(bytes, 1, sizeof(bytes), in)) > 0)
		REQUIRE(fwrite(bytes, 1, size, out) == size);
	fclose(in);
	REQUIRE(!fchmod(fileno(out), 0755) && !fclose(out));
}

/* The target chooses the path of a library: unescaped, it could control the terminal. */
static void notes_are_escaped(void)
{
	char *path = live_path("own\033[31mmalloc");

	copy_program(OWN_MALLOC_BINARY, path);

	struct live_process *target = target_start(path);
	struct live_process *memtrace = memtrace_start(live_pid(target), "-v");
	const char *text = live_stderr(memtrace);

	CHECK_CONTAINS(text, "own\\x1b[31mmalloc has no ");
	CHECK(!strchr(text, '\033'));
	json_decref(memtrace_stop(memtrace));
	live_destroy(target);
	free(path);
}

/* Write a program for i386 that waits for ever: pause(2) again and again. */
static void write_i386_program(const char *path)
{
	struct {
		Elf32_Ehdr header;
		Elf32_Phdr segment;
		uint8_t code[9];
	} program = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS32,
				       ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_EXEC,
			   .e_machine = EM_386,
			   .e_version = EV_CURRENT,
			   .e_entry = 0x10000 + sizeof(Elf32_Ehdr) + sizeof(Elf32_Phdr),
			   .e_phoff = sizeof(Elf32_Ehdr),
			   .e_ehsize = sizeof(Elf32_Ehdr),
			   .e_phentsize = sizeof(Elf32_Phdr),
			   .e_phnum = 1},
		.segment = {.p_type = PT_LOAD,
			    .p_vaddr = 0x10000,
			    .p_filesz = sizeof(program),
			    .p_memsz = sizeof(program),
			    .p_flags = PF_R | PF_X,
			    .p_align = 0x1000},
		/* mov eax, 29; int 0x80; jmp to the beginning */
		.code = {0xb8, 29, 0, 0, 0, 0xcd, 0x80, 0xeb, 0xf7},
	};
	FILE *file = fopen(path, "w");

	REQUIRE(file && fwrite(&program, sizeof(program), 1, file) == 1);
	REQUIRE(!fclose(file) && !chmod(path, 0755));
}

/* Some kernels execute no programs for i386. */
static bool is_executed(const char *path)
{
	const char *const argv[] = {path, NULL};
	struct live_process *process = live_start(argv);
	bool runs =
		!live_wait_stderr(process, "cannot run", 1) && live_is_running(process);

	live_destroy(process);
	return runs;
}

/* The process executes a program that memtrace cannot trace. If memtrace did not say so,
 * the run would end as if the process had exited. */
static void exec_of_a_program_for_32_bits(void)
{
	char *path = live_path("for-32-bits");
	const char *const argv[] = {EXECER_BINARY, path, NULL};
	struct live_process *target, *memtrace;
	json_t *report;

	write_i386_program(path);
	if (!is_executed(path)) {
		puts("     this kernel executes no program for i386");
		free(path);
		return;
	}
	target = live_start(argv);
	json_decref(live_read_json(target, TIMEOUT_S));
	memtrace = memtrace_start(live_pid(target), "");
	oracle_do(target, "allocate");
	live_send(target, "exec");
	CHECK(live_wait_stderr(memtrace,
			       "(execer) executed another program (exec) that memtrace "
			       "cannot trace, and counts as exited: process ",
			       TIMEOUT_S));
	report = live_read_json(memtrace, TIMEOUT_S);
	REQUIRE(report);
	CHECK_STR(text_at(report, "cause"), "exited");
	CHECK_INT(live_int(report, "heap.totals.allocations"), 100);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 0);
	CHECK_CONTAINS(live_stderr(memtrace), "(for-32-bits) cannot be traced: /proc/");
	CHECK_CONTAINS(live_stderr(memtrace), "a 32-bit program or library");
	CHECK(live_is_running(target));
	CHECK(probes_gone(probes_before));
	json_decref(report);
	live_destroy(memtrace);
	live_destroy(target);
	free(path);
}

/* The supervisor is a shell, which goes on. */
static void a_supervisor_starts_a_program_for_32_bits(void)
{
	char *path = live_path("for-32-bits");
	const char *const argv[] = {"sh", "-c", "read line; \"$0\" & read line; kill $!",
				    path, NULL};
	struct live_process *shell, *memtrace;

	write_i386_program(path);
	if (!is_executed(path)) {
		puts("     this kernel executes no program for i386");
		free(path);
		return;
	}
	shell = live_start(argv);
	memtrace = memtrace_by_path("--follow-exec-of %d", live_pid(shell));
	memtrace_await(memtrace);
	live_send(shell, "start");
	CHECK(live_wait_stderr(memtrace, "it is not traced, but what it executes next is",
			       TIMEOUT_S));
	CHECK_CONTAINS(live_stderr(memtrace), "(for-32-bits) cannot be traced: /proc/");
	CHECK(live_is_running(memtrace));
	live_send(shell, "end");
	json_decref(memtrace_end(memtrace, 0));
	CHECK(probes_gone(probes_before));
	live_destroy(shell);
	free(path);
}

int main(void)
{
	live_require_root();
	probes_before = probes_find();
	RUN(exec_starts_anew);
	RUN(exec_of_a_program_for_32_bits);
	RUN(a_supervisor_starts_a_program_for_32_bits);
	RUN(demand_does_not_count);
	RUN(hangup);
	RUN(a_failed_run_leaves_files_alone);
	RUN(help_to_a_full_device_fails);
	RUN(second_ctrl_c_ends_a_stalled_run);
	RUN(a_signal_during_the_last_report);
	RUN(notes_are_escaped);
	probes_destroy(probes_before);
	return check_done();
}
