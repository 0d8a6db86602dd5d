// SPDX-License-Identifier: Apache-2.0
/* --replay and --diff with files that are not snapshots, and with reports that cannot be
 * written. */
#include "offline_apart.h"
#include "unit/options/options_check.h"
#include "unit/files/temp_dir.h"
#include "unit/render/fixture.h"

#include <signal.h>
#include <sys/resource.h>

#include "report/recorded.h"
#include "snapshot/file.h"

/* Writes a snapshot with symbols, as --save does, to the file `name`. */
static void save(struct temp_dir *dir, const char *name, bool ages_unknown)
{
	_cleanup_(fixture_deinit) struct fixture f;
	FILE *out = fopen(temp_dir_path(dir, name), "we");

	fixture_init(&f);
	fixture_fill(&f);
	fixture_report(&f);
	f.snap->ages_unknown = ages_unknown;
	f.snap->before.reports = ages_unknown ? 0 : 6;
	REQUIRE(out);
	REQUIRE(!report_record_names(f.snap, f.frames, NULL, NULL));
	REQUIRE(!snapshot_write(f.snap, out));
	REQUIRE(!fclose(out));
}

static struct error *replay(char *const *argv)
{
	struct options options;
	struct error *err = parse_list(argv, &options);

	if (err)
		CHECK_FAIL("%s", err->message);
	REQUIRE(!err);
	return offline_apart(&options);
}

#define REPLAY(...) replay(ARGV(__VA_ARGS__))

#define FAILS(want_, ...)                                                                \
	do {                                                                             \
		_cleanup_(error_destroyp) struct error *err_ = REPLAY(__VA_ARGS__);      \
		CHECK_STR(err_ ? err_->message : NULL, (want_));                         \
	} while (0)

static void what_is_no_snapshot(void)
{
	struct temp_dir dir = temp_dir_create();
	char path[128], out[128], good[128], want[256];

	snprintf(path, sizeof(path), "%s/x", dir.path);
	snprintf(out, sizeof(out), "%s/out", dir.path);

	snprintf(want, sizeof(want),
		 "--replay %s cannot be read: No such file or directory", path);
	FAILS(want, "--replay", path, "-o", out);
	snprintf(want, sizeof(want), "--replay %s is a directory: name a file in it",
		 dir.path);
	FAILS(want, "--replay", dir.path, "-o", out);
	REQUIRE(!mkfifo(path, 0600));
	snprintf(want, sizeof(want),
		 "--replay %s is not a regular file: write the snapshot to a file first",
		 path);
	FAILS(want, "--replay", path, "-o", out);
	FAILS("--replay /dev/zero is not a regular file: write the snapshot to a file "
	      "first",
	      "--replay", "/dev/zero", "-o", out);
	FAILS("--replay /proc/self/mem cannot be read: Input/output error", "--replay",
	      "/proc/self/mem", "-o", out);
	REQUIRE(!unlink(path));
	temp_dir_write(&dir, "x", "");
	snprintf(want, sizeof(want),
		 "--replay %s is not a memtrace snapshot (a file that --save wrote)",
		 path);
	FAILS(want, "--replay", path, "-o", out);
	temp_dir_write(&dir, "x", "{\"schema\":\"memtrace-report\"}\n");
	FAILS(want, "--replay", path, "-o", out);
	/* Whichever of the two files it is. */
	save(&dir, "y", false);
	snprintf(good, sizeof(good), "%s/y", dir.path);
	snprintf(want, sizeof(want),
		 "--diff %s is not a memtrace snapshot (a file that --save wrote)", path);
	FAILS(want, "--diff", path, good, "-o", out);
	FAILS(want, "--diff", good, path, "-o", out);
	REQUIRE(!unlink(good));
	snprintf(want, sizeof(want),
		 "--diff %s cannot be read: No such file or directory", good);
	FAILS(want, "--diff", good, path, "-o", out);
	/* Without a report no file is written. */
	CHECK_INT(temp_dir_count(&dir, false), 1);
	temp_dir_destroy(&dir);
}

/* Runs with a file size limit of a few bytes, and with stdout on /dev/null. */
static struct error *run_on_full_disk(char *const *argv)
{
	const struct rlimit small = {.rlim_cur = 10, .rlim_max = RLIM_INFINITY};
	_cleanup_(closep) int null_fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	_cleanup_(closep) int stdout_fd = -1;
	struct rlimit old;
	struct error *err;

	fflush(stdout);
	/* By default the signal kills the process: memtrace must ignore it. */
	signal(SIGXFSZ, SIG_DFL);
	REQUIRE((stdout_fd = dup(STDOUT_FILENO)) >= 0 && null_fd >= 0);
	REQUIRE(dup2(null_fd, STDOUT_FILENO) >= 0);
	REQUIRE(!getrlimit(RLIMIT_FSIZE, &old) && !setrlimit(RLIMIT_FSIZE, &small));
	err = replay(argv);
	fflush(stdout);
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &old));
	REQUIRE(dup2(stdout_fd, STDOUT_FILENO) >= 0);
	return err;
}

/* Checks the error of a run that must leave only the old file. */
static void check_full_disk(struct temp_dir *dir, const char *option, char *const *argv)
{
	_cleanup_(error_destroyp) struct error *err = run_on_full_disk(argv);
	char want[256], buf[32];

	snprintf(want, sizeof(want), "cannot write %s %s/out: File too large", option,
		 dir->path);
	CHECK_STR(err ? err->message : NULL, want);
	CHECK_STR(temp_dir_read(dir, "out", buf, sizeof(buf)), "theirs");
	CHECK_INT(temp_dir_count(dir, false), 2);
}

/* A full disk, for each output: the old file stays, and no other file is left. */
static void what_cannot_be_written(void)
{
	static char *const options[] = {"--output", "--flamegraph", "--flame", "--pprof",
					"--csv",    "--json",       "--html",  "--save"};
	struct temp_dir dir = temp_dir_create();
	char path[128], out[128], want[256];

	save(&dir, "x", false);
	temp_dir_write(&dir, "out", "theirs");
	snprintf(path, sizeof(path), "%s/x", dir.path);
	snprintf(out, sizeof(out), "%s/out", dir.path);
	for (size_t i = 0; i < sizeof(options) / sizeof(*options); i++) {
		if (i) {
			snprintf(want, sizeof(want),
				 "%s %s exists: use --force (-f) to overwrite it, or "
				 "another name",
				 options[i], out);
			FAILS(want, "--replay", path, options[i], out);
		}
		check_full_disk(&dir, options[i],
				ARGV("--replay", path, "-f", options[i], out));
	}
	/* --diff has these formats. Between a file and itself the diff is short. */
	check_full_disk(&dir, "--output", ARGV("--diff", path, path, "-f", "-o", out));
	for (size_t i = 2; i < 6; i++) {
		if (strcmp(options[i], "--pprof") != 0)
			check_full_disk(
				&dir, options[i],
				ARGV("--diff", path, path, "-f", options[i], out));
	}
	temp_dir_destroy(&dir);
}

/* One output in a pipe: only the file is on stdout, and the report where it was sent. */
static void to_standard_output(void)
{
	struct temp_dir dir = temp_dir_create();
	char path[128], stacks[128], text[128], got[4096], want[4096];
	int saved = dup(STDOUT_FILENO), fd;

	save(&dir, "x", false);
	snprintf(path, sizeof(path), "%s/x", dir.path);
	snprintf(stacks, sizeof(stacks), "%s/stacks", dir.path);
	snprintf(text, sizeof(text), "%s/text", dir.path);
	temp_dir_write(&dir, "stdout", "");
	REQUIRE(!REPLAY("--replay", path, "--flamegraph", stacks, "-o", "/dev/null"));
	for (int i = 0; i < 2; i++) {
		fd = open(temp_dir_path(&dir, "stdout"), O_WRONLY | O_TRUNC | O_CLOEXEC);
		fflush(stdout);
		REQUIRE(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
		close(fd);

		struct error *err =
			i ? REPLAY("--replay", path, "--flamegraph", "-", "-o", text)
			  : REPLAY("--replay", path, "--flamegraph", "-");

		fflush(stdout);
		REQUIRE(dup2(saved, STDOUT_FILENO) >= 0);
		REQUIRE(!err);
		temp_dir_read(&dir, "stacks", want, sizeof(want));
		CHECK_STR(temp_dir_read(&dir, "stdout", got, sizeof(got)), want);
		CHECK(*want);
	}
	close(saved);
	CHECK_CONTAINS(temp_dir_read(&dir, "text", got, sizeof(got)), "memtrace report ");
	CHECK_INT(temp_dir_count(&dir, false), 4);
	temp_dir_destroy(&dir);
}

/* A snapshot that is saved again is the same, and its report has the same number. */
static void saved_again(void)
{
	struct temp_dir dir = temp_dir_create();
	char path[128], second[128], a[128], b[128];
	static char text_a[65536], text_b[65536];

	save(&dir, "x", false);
	snprintf(path, sizeof(path), "%s/x", dir.path);
	snprintf(second, sizeof(second), "%s/%%p-%%n.mts", dir.path);
	snprintf(a, sizeof(a), "%s/a", dir.path);
	snprintf(b, sizeof(b), "%s/b", dir.path);
	REQUIRE(!REPLAY("--replay", path, "--save", second, "--json", a));
	snprintf(second, sizeof(second), "%s/4321-7.mts", dir.path);
	REQUIRE(!REPLAY("--replay", second, "--json", b));
	temp_dir_read(&dir, "a", text_a, sizeof(text_a));
	CHECK_CONTAINS(text_a, "\"Cache::insert(std::string const&)\"");
	CHECK_STR(temp_dir_read(&dir, "b", text_b, sizeof(text_b)), text_a);
	temp_dir_destroy(&dir);
}

/* If blocks have no times, the report has no ages, whatever the options are. */
static void ages_are_not_made_up(void)
{
	struct temp_dir dir = temp_dir_create();
	char path[128], out[128], text[8192];

	save(&dir, "x", true);
	snprintf(path, sizeof(path), "%s/x", dir.path);
	snprintf(out, sizeof(out), "%s/out", dir.path);
	REQUIRE(!REPLAY("--replay", path, "-o", out, "--older=1h", "-a"));
	temp_dir_read(&dir, "out", text, sizeof(text));
	CHECK_CONTAINS(text,
		       "2097152 bytes in 2 allocations from stack  (99.8 %, 2.0 MiB)");
	CHECK(!strstr(text, "older") && !strstr(text, "age ="));
	temp_dir_destroy(&dir);
}

int main(void)
{
	RUN(what_is_no_snapshot);
	RUN(what_cannot_be_written);
	RUN(to_standard_output);
	RUN(saved_again);
	RUN(ages_are_not_made_up);
	return check_done();
}
