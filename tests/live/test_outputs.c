// SPDX-License-Identifier: Apache-2.0
/* The files that a run writes in addition to its reports. */
#include <limits.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/files.h"
#include "live/trace.h"
#include "util/cleanup.h"

#define TIMEOUT_S 30

static struct live_process *oracle;

/* The content of the file, owned. Its mode must be 0600. */
static char *read_file(const char *path)
{
	struct stat st;

	REQUIRE(!lstat(path, &st));
	CHECK_INT(st.st_mode, S_IFREG | 0600);
	return files_read("%s", path);
}

static int64_t svg_bytes(const char *text)
{
	static const char attribute[] = " data-bytes=\"";
	const char *at = strstr(text, attribute);

	REQUIRE(at);
	return strtoll(at + strlen(attribute), NULL, 10);
}

/* Every file has all stacks and the same sum, although only one stack is printed. */
static void files_agree(void)
{
	char options[2048];
	_cleanup_(freep) char *dir = live_path("files");

	REQUIRE(!mkdir(dir, 0700));
	snprintf(options, sizeof(options),
		 "--top 1 --flamegraph %s/%%n.folded --flame %s/f.svg --pprof "
		 "%s/%%p.pb.gz --csv %s/f.csv --json %s/f.json --html %s/f.html",
		 dir, dir, dir, dir, dir, dir);

	struct live_process *memtrace = memtrace_start(live_pid(oracle), options);

	oracle_do(oracle, "run mixed 2000 1");

	json_t *first = memtrace_report(memtrace), *report, *all;
	char path[512];

	/* No file before the end. */
	snprintf(path, sizeof(path), "%s/f.csv", dir);
	CHECK(access(path, F_OK));
	report = memtrace_stop(memtrace);
	CHECK_INT(json_array_size(live_get(report, "heap.stacks")), 1);

	int64_t bytes = live_int(report, "heap.listed_bytes");
	_cleanup_(freep) char *csv = read_file(path);

	CHECK(bytes > 0);
	CHECK_INT(files_sum_csv(csv, live_pid(oracle)), bytes);
	snprintf(path, sizeof(path), "%s/2.folded", dir);
	_cleanup_(freep) char *collapsed = read_file(path);

	CHECK_INT(files_sum_collapsed(collapsed), bytes);
	CHECK_CONTAINS(collapsed, ";scenario_mixed;");
	snprintf(path, sizeof(path), "%s/f.svg", dir);
	_cleanup_(freep) char *svg = read_file(path);

	CHECK_INT(svg_bytes(svg), bytes);
	snprintf(path, sizeof(path), "%s/f.html", dir);
	_cleanup_(freep) char *html = read_file(path);

	CHECK(!strncmp(html, "<!DOCTYPE html>", 15));
	CHECK_INT(svg_bytes(html), bytes);
	CHECK_CONTAINS(html, ">scenario_mixed</code>");
	snprintf(path, sizeof(path), "%s/%d.pb.gz", dir, (int)live_pid(oracle));
	_cleanup_(freep) char *pprof = read_file(path);

	CHECK(!memcmp(pprof, "\x1f\x8b", 2));
	snprintf(path, sizeof(path), "%s/f.json", dir);
	_cleanup_(freep) char *json = read_file(path);

	all = json_loads(json, 0, NULL);
	REQUIRE(all);
	CHECK_INT(live_int(all, "sequence"), 2);
	CHECK_INT(live_int(all, "heap.listed_bytes"), bytes);
	CHECK(live_int(all, "heap.stack_count") > 1);
	CHECK_INT(json_array_size(live_get(all, "heap.stacks")),
		  live_int(all, "heap.stack_count"));
	/* Growth counts from the previous printed report. */
	CHECK_INT(
		live_int(json_array_get(live_get(all, "heap.stacks"), 0), "growth_bytes"),
		0);
	json_decref(first);
	json_decref(report);
	json_decref(all);
	oracle_do(oracle, "run release 1 1");
}

/* The disk is full: one line, status 1, the old file stays, and the other files are
 * written if they fit. */
static void full_disk(void)
{
	char options[2048], path[512];
	_cleanup_(freep) char *dir = live_path("small");

	REQUIRE(!mkdir(dir, 0700));
	/* Two pages. */
	REQUIRE(!mount("none", dir, "tmpfs", 0, "size=8k"));
	snprintf(path, sizeof(path), "%s/f.svg", dir);

	FILE *old = fopen(path, "we");

	REQUIRE(old && fputs("old", old) >= 0 && !fchmod(fileno(old), 0600));
	REQUIRE(!fclose(old));
	snprintf(options, sizeof(options), "-i 3600 -f --flame %s --csv %s/f.csv", path,
		 dir);

	struct live_process *memtrace = memtrace_start_plain(live_pid(oracle), options);
	char *line;
	bool reported = false;

	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");
	live_sleep(0.6);
	live_signal(memtrace, SIGINT);
	while ((line = live_read_line(memtrace, TIMEOUT_S))) {
		reported = reported || strstr(line, " bytes in 512 allocations");
		free(line);
	}
	CHECK(reported);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "memtrace: cannot write --flame ");
	CHECK_CONTAINS(live_stderr(memtrace), "/f.svg: No space left on device\n");
	live_destroy(memtrace);

	_cleanup_(freep) char *kept = read_file(path);

	CHECK_STR(kept, "old");
	snprintf(path, sizeof(path), "%s/f.csv", dir);

	_cleanup_(freep) char *csv = read_file(path);

	CHECK_CONTAINS(csv, "pid,stack_id,total,count,");
	CHECK(!umount(dir));
	oracle_do(oracle, "run release 1 1");
}

/* The content of the file with the highest number. */
static char *read_last(const char *dir)
{
	char path[512], *last = NULL;

	for (unsigned n = 1; n < 100; n++) {
		snprintf(path, sizeof(path), "%s/%u.csv", dir, n);
		if (access(path, F_OK))
			continue;
		free(last);
		last = read_file(path);
	}
	REQUIRE(last);
	return last;
}

/* Writes a file until the disk is full. */
static void fill_disk(const char *path)
{
	char block[4096] = "full";
	FILE *file = fopen(path, "we");

	REQUIRE(file);
	while (fwrite(block, sizeof(block), 1, file) == 1 && !fflush(file))
		;
	fclose(file);
}

/* Reads text reports from standard output until `most` showed the 512 blocks, or the end.
 * Returns how many did. */
static unsigned count_reports(struct live_process *memtrace, unsigned most)
{
	unsigned count = 0;
	char *line;

	while (count < most && (line = live_read_line(memtrace, TIMEOUT_S))) {
		count += strstr(line, " bytes in 512 allocations") != NULL;
		free(line);
	}
	return count;
}

/* The disk is full for a while: the run continues and writes the later files. */
static void full_for_a_while(void)
{
	char options[2048], filler[512];
	_cleanup_(freep) char *dir = live_path("filled");
	struct live_process *memtrace;
	unsigned reports;

	REQUIRE(!mkdir(dir, 0700));
	REQUIRE(!mount("none", dir, "tmpfs", 0, "size=1m"));
	snprintf(filler, sizeof(filler), "%s/filler", dir);
	snprintf(options, sizeof(options), "-i 0.5 --output-every --csv %s/%%n.csv", dir);
	memtrace = memtrace_start_plain(live_pid(oracle), options);
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");

	fill_disk(filler);
	REQUIRE(live_wait_stderr(memtrace, "tracing goes on", TIMEOUT_S));
	live_sleep(1.2);
	REQUIRE(!unlink(filler));
	live_sleep(1.2);
	/* Reports come late on a busy machine. */
	reports = count_reports(memtrace, 3);
	live_signal(memtrace, SIGINT);
	reports += count_reports(memtrace, UINT_MAX);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	/* Some at intervals, and the final one. */
	CHECK(reports >= 4);
	CHECK_INT(live_count(live_stderr(memtrace), "No space left on device"), 1);
	CHECK_CONTAINS(live_stderr(memtrace), " without one of the outputs\n");
	live_destroy(memtrace);

	_cleanup_(freep) char *last = read_last(dir);

	CHECK_CONTAINS(last, "pid,stack_id,total,count,");
	CHECK(!umount(dir));
	oracle_do(oracle, "run release 1 1");
}

/* The disk of --output is full for a while. The other files are written, and so are later
 * reports. */
static void report_file_full_for_a_while(void)
{
	char options[2048], filler[512], path[512];
	_cleanup_(freep) char *small = live_path("small"), *large = live_path("large");
	struct live_process *memtrace;

	REQUIRE(!mkdir(large, 0700) && (!mkdir(small, 0700) || errno == EEXIST));
	REQUIRE(!mount("none", small, "tmpfs", 0, "size=256k"));
	snprintf(path, sizeof(path), "%s/report", small);
	snprintf(filler, sizeof(filler), "%s/filler", small);
	snprintf(options, sizeof(options), "-i 0.3 --output-every --csv %s/%%n.csv -o %s",
		 large, path);
	memtrace = memtrace_start_plain(live_pid(oracle), options);
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");

	fill_disk(filler);
	if (!live_wait_stderr(memtrace, ": tracing goes on", TIMEOUT_S))
		CHECK_FAIL("the run has ended: %s", live_stderr(memtrace));
	live_sleep(0.7);
	REQUIRE(!unlink(filler));
	live_sleep(0.7);
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_INT(live_count(live_stderr(memtrace), "cannot write --output "), 1);
	CHECK_CONTAINS(live_stderr(memtrace), " without one of the outputs\n");
	live_destroy(memtrace);

	_cleanup_(freep) char *last = read_last(large), *reports = read_file(path);

	CHECK_CONTAINS(last, "pid,stack_id,total,count,");
	CHECK_CONTAINS(reports, " bytes in 512 allocations");
	CHECK(!umount(small));
	oracle_do(oracle, "run release 1 1");
}

/* The reports go to a terminal that is closed (EIO). */
static void terminal_goes_away(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
	_cleanup_(freep) char *dir = live_path("terminal");
	char pid[16], csv[512], name[64];
	struct live_process *memtrace;

	REQUIRE(master >= 0 && !grantpt(master) && !unlockpt(master));
	REQUIRE(!ptsname_r(master, name, sizeof(name)) && !mkdir(dir, 0700));
	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	snprintf(csv, sizeof(csv), "%s/%%n.csv", dir);

	const char *const argv[] = {
		"sh", "-c",  "exec \"$@\" >\"$0\"", name,    memtrace_path, "--pid", pid,
		"-i", "0.3", "--output-every",      "--csv", csv,           NULL};

	memtrace = live_start(argv);
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");
	close(master);
	if (!live_wait_stderr(memtrace, ": tracing goes on", TIMEOUT_S))
		CHECK_FAIL("the run has ended: %s", live_stderr(memtrace));
	live_sleep(0.7);
	live_signal(memtrace, SIGINT);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	/* One line when the error begins, one at the end. */
	CHECK_INT(live_count(live_stderr(memtrace), "to standard output: Input/output "),
		  2);
	CHECK_CONTAINS(live_stderr(memtrace), " without one of the outputs\n");
	live_destroy(memtrace);

	_cleanup_(freep) char *last = read_last(dir);

	CHECK_CONTAINS(last, "pid,stack_id,total,count,");
	oracle_do(oracle, "run release 1 1");
}

/* The number of files in the directory, also hidden ones. */
static unsigned count_files(const char *path)
{
	DIR *dir = opendir(path);
	unsigned count = 0;

	REQUIRE(dir);
	for (const struct dirent *e; (e = readdir(dir));)
		count += strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0;
	closedir(dir);
	return count;
}

/* Reads at most so many reports from standard output. Each must be whole. */
static unsigned read_reports_up_to(struct live_process *memtrace, unsigned most)
{
	unsigned begun = 0, whole = 0;
	char *line;

	while (begun < most && (line = live_read_line(memtrace, TIMEOUT_S))) {
		json_t *report = json_loads(line, 0, NULL);

		begun++;
		whole += report && live_get(report, "heap.stacks");
		json_decref(report);
		free(line);
	}
	CHECK_INT(whole, begun);
	return whole;
}

static unsigned read_reports(struct live_process *memtrace)
{
	return read_reports_up_to(memtrace, UINT_MAX);
}

/* The disk of two outputs has bad blocks (EIO). The reports on standard output are whole,
 * each trouble is said when it begins and at the end, and no file is left. */
static void disk_has_bad_blocks(void)
{
	_cleanup_(freep) char *dir = live_path("bad");
	char pid[16], csv[512], save[512];
	struct live_process *memtrace;

	REQUIRE(!mkdir(dir, 0700));
	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	snprintf(csv, sizeof(csv), "%s/%%n.csv", dir);
	snprintf(save, sizeof(save), "%s/%%n.mts", dir);

	const char *const argv[] = {BAD_DISK_BINARY,
				    memtrace_path,
				    "--pid",
				    pid,
				    "-i",
				    "0.3",
				    "--format",
				    "json",
				    "--older",
				    "0",
				    "--output-every",
				    "--csv",
				    csv,
				    "--save",
				    save,
				    NULL};

	memtrace = live_start(argv);
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");
	if (!live_wait_stderr(memtrace, ": tracing goes on", TIMEOUT_S))
		CHECK_FAIL("the run has ended: %s", live_stderr(memtrace));
	live_sleep(1);
	CHECK_INT(read_reports_up_to(memtrace, 2), 2);
	live_signal(memtrace, SIGINT);
	CHECK(read_reports(memtrace) >= 1);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_INT(live_count(live_stderr(memtrace), ".csv: Input/output error"), 2);
	CHECK_INT(live_count(live_stderr(memtrace), ".mts: Input/output error"), 2);
	CHECK_CONTAINS(live_stderr(memtrace), " without one of the outputs\n");
	live_destroy(memtrace);
	CHECK_INT(count_files(dir), 0);
	oracle_do(oracle, "run release 1 1");
}

/* One file becomes larger than a file may be (EFBIG, RLIMIT_FSIZE). The other one and the
 * reports are whole. */
static void file_is_too_large(void)
{
	_cleanup_(freep) char *dir = live_path("limited");
	char pid[16], csv[512], html[512];
	struct live_process *memtrace;

	REQUIRE(!mkdir(dir, 0700));
	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));
	snprintf(csv, sizeof(csv), "%s/last.csv", dir);
	snprintf(html, sizeof(html), "%s/last.html", dir);

	/* 8 KiB. */
	const char *const argv[] = {
		"sh",          "-c",       "ulimit -f 16; exec \"$0\" \"$@\"",
		memtrace_path, "-p",       pid,
		"-i",          "0.3",      "-n",
		"4",           "--format", "json",
		"--older",     "0",        "--csv",
		csv,           "--html",   html,
		NULL};

	memtrace = live_start(argv);
	REQUIRE(live_wait_stderr(memtrace, "tracing pid", TIMEOUT_S));
	oracle_do(oracle, "run keep 512 1");
	CHECK_INT(read_reports(memtrace), 4);
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 1);
	CHECK_INT(live_count(live_stderr(memtrace), "File too large"), 1);
	CHECK_CONTAINS(live_stderr(memtrace), "/last.html: File too large");
	live_destroy(memtrace);

	_cleanup_(freep) char *rows = read_file(csv);

	CHECK_CONTAINS(rows, "pid,stack_id,total,count,");
	CHECK_INT(count_files(dir), 1);
	oracle_do(oracle, "run release 1 1");
}

/* The reader of the reports has ended, and the run has no other output: it ends. */
static void nobody_reads_any_more(void)
{
	char pid[16];
	struct live_process *memtrace;

	snprintf(pid, sizeof(pid), "%d", (int)live_pid(oracle));

	const char *const argv[] = {
		"bash",        "-c", "\"$0\" --pid $1 -i 0.2 > >(read line)",
		memtrace_path, pid,  NULL};

	memtrace = live_start(argv);
	/* As if SIGPIPE had ended it, and without a message. */
	CHECK_INT(live_wait(memtrace, TIMEOUT_S), 128 + SIGPIPE);
	CHECK(!strstr(live_stderr(memtrace), "standard output"));
	live_destroy(memtrace);
}

int main(void)
{
	live_require_root();
	oracle = oracle_start();
	RUN(files_agree);
	RUN(full_disk);
	RUN(full_for_a_while);
	RUN(report_file_full_for_a_while);
	RUN(terminal_goes_away);
	RUN(disk_has_bad_blocks);
	RUN(file_is_too_large);
	RUN(nobody_reads_any_more);
	live_destroy(oracle);
	return check_done();
}
