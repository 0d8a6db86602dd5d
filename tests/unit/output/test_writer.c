// SPDX-License-Identifier: Apache-2.0
/* Output files that a child process creates after memtrace has given up root's user id.
 */
#include "apart.h"
#include "unit/files/temp_dir.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "output/writer.h"
#include "confined/shed.h"

/* The file system lacks O_TMPFILE. The linker replaces the system call by this
 * function. */
static bool no_tmpfile;

int __real_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, mode_t mode)
{
	if (no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_openat(dir, path, flags, mode);
}

static struct writer *start(const struct options *options)
{
	struct writer *writer;

	REQUIRE(!writer_start(options, &writer));
	REQUIRE(writer);
	REQUIRE(!geteuid());
	REQUIRE(!shed_for_report());
	CHECK_INT(geteuid(), SHED_USER);
	return writer;
}

static void check_refused(struct error *err, const char *text)
{
	REQUIRE(err);
	CHECK_CONTAINS(err->message, text);
	error_destroy(err);
}

static void not_needed(void)
{
	const struct options nothing = {0};
	const struct options direct = {.output = "-",
				       .files = {[OUTPUT_CSV] = "/dev/null"}};
	struct writer *writer;

	REQUIRE(!writer_start(&nothing, &writer));
	CHECK(!writer);
	REQUIRE(!writer_start(&direct, &writer));
	CHECK(!writer);
}

static const struct file_name_values values = {.pid = 12, .number = 3};

/* A file in a directory of root alone. */
static void create(struct temp_dir *dir)
{
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	struct file_identity own = {0}, other = {0};
	char pattern[128];
	struct options options = {.files = {[OUTPUT_JSON] = pattern}};
	struct writer *writer;
	bool exists;

	snprintf(pattern, sizeof(pattern), "%s/%%p-%%n", dir->path);
	writer = start(&options);
	REQUIRE(!writer_open(writer, OUTPUT_JSON, &values, "12-3", &file));
	fputs("text", file.stream);
	REQUIRE(!new_file_check(&file, false, &own, &exists));
	CHECK(!exists);
	REQUIRE(!new_file_give_name(&file, false, &own));
	CHECK(own.inode);
	/* Once more: the name is taken, and each output is written once. */
	check_refused(new_file_check(&file, false, &own, &exists), "12-3 exists");
	check_refused(new_file_give_name(&file, false, &other), "is written already");
	new_file_deinit(&file);
	check_refused(writer_open(writer, OUTPUT_JSON, &values, "12-3", &file),
		      "is written already");
	/* Only outputs of the options. */
	check_refused(writer_open(writer, OUTPUT_CSV, &values, "x", &file),
		      "unknown output");
	check_refused(writer_open(writer, WRITER_REPORT, NULL, "x", &file),
		      "unknown output");
	check_refused(writer_open(writer, WRITER_REPORT + 1, &values, "x", &file),
		      "unknown output");
	check_refused(writer_open(writer, UINT32_MAX, &values, "x", &file),
		      "unknown output");
	writer_stop(writer);
}

/* A snapshot cannot choose which of many files are overwritten. */
static void force(struct temp_dir *dir)
{
	const struct file_name_values more = {.pid = 13, .number = 3};
	const struct file_name_values wrong[] = {{.pid = -1}, {.pid = 1 << 30}};
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	struct file_identity own = {0};
	char pattern[128];
	struct options options = {.force = true, .files = {[OUTPUT_JSON] = pattern}};
	struct writer *writer;

	snprintf(pattern, sizeof(pattern), "%s/%%p-%%n", dir->path);
	writer = start(&options);
	for (size_t i = 0; i < 2; i++)
		check_refused(writer_open(writer, OUTPUT_JSON, &wrong[i], "x", &file),
			      "no process has the id");
	REQUIRE(!writer_open(writer, OUTPUT_JSON, &values, "12-3", &file));
	fputs("text", file.stream);
	REQUIRE(!new_file_give_name(&file, true, &own));
	check_refused(new_file_give_name(&file, true, &own), "is written already");
	new_file_deinit(&file);
	check_refused(writer_open(writer, OUTPUT_JSON, &more, "13-3", &file),
		      "is written already");
	writer_stop(writer);
}

/* The screen of --live writes a file at each key, and overwrites none. */
static void live(struct temp_dir *dir)
{
	struct options options = {.live = true};
	struct file_identity own = {0};
	char pattern[128];
	struct writer *writer;

	snprintf(pattern, sizeof(pattern), "%s/%%p-%%n", dir->path);
	options.files[OUTPUT_JSON] = pattern;
	writer = start(&options);
	for (uint64_t number = 1; number < 4; number++) {
		const struct file_name_values next = {.pid = 12, .number = number};
		_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;

		REQUIRE(!writer_open(writer, OUTPUT_JSON, &next, "file", &file));
		fputs("text", file.stream);
		if (number == 3)
			check_refused(new_file_give_name(&file, false, &own), "exists");
		else
			REQUIRE(!new_file_give_name(&file, false, &own));
	}
	writer_stop(writer);
}

static void several_files_for_the_screen(void)
{
	struct temp_dir dir = temp_dir_create();
	char text[16];

	temp_dir_write(&dir, "12-3", "old");
	CHECK_APART(live(&dir));
	CHECK_INT(temp_dir_count(&dir, false), 3);
	CHECK_STR(temp_dir_read(&dir, "12-2", text, sizeof(text)), "text");
	CHECK_STR(temp_dir_read(&dir, "12-3", text, sizeof(text)), "old");
	temp_dir_destroy(&dir);
}

static void one_file_for_each_output(void)
{
	struct temp_dir dir = temp_dir_create();
	char text[16];

	temp_dir_write(&dir, "12-3", "old");
	temp_dir_write(&dir, "13-3", "old");
	CHECK_APART(force(&dir));
	CHECK_INT(temp_dir_count(&dir, false), 2);
	CHECK_STR(temp_dir_read(&dir, "12-3", text, sizeof(text)), "text");
	CHECK_STR(temp_dir_read(&dir, "13-3", text, sizeof(text)), "old");
	temp_dir_destroy(&dir);
}

static void after_root_is_given_up(void)
{
	struct temp_dir dir = temp_dir_create();
	struct stat st;
	char text[16];

	CHECK_APART(create(&dir));
	CHECK_INT(temp_dir_count(&dir, false), 1);
	CHECK_STR(temp_dir_read(&dir, "12-3", text, sizeof(text)), "text");
	REQUIRE(!stat(temp_dir_path(&dir, "12-3"), &st));
	CHECK_INT(st.st_uid, 0);
	CHECK_INT(st.st_mode & 07777, 0600);
	temp_dir_destroy(&dir);
}

/* Open a file and leave it unfinished. */
static void leave(struct temp_dir *dir)
{
	static struct new_file file;
	char path[128];
	struct options options = {.output = path};
	struct writer *writer;

	snprintf(path, sizeof(path), "%s/report", dir->path);
	REQUIRE(!writer_start(&options, &writer));
	REQUIRE(!writer_open(writer, WRITER_REPORT, NULL, path, &file));
	CHECK_INT(temp_dir_count(dir, false), 1);
	REQUIRE(!shed_for_report());
	/* The process ends without destructors, as if it were killed. */
}

static void unfinished_files_go(void)
{
	struct temp_dir dir = temp_dir_create();

	no_tmpfile = true;
	CHECK_APART(leave(&dir));
	/* The child may take a moment. */
	for (int i = 0; i < 500 && temp_dir_count(&dir, false); i++)
		usleep(10000);
	CHECK_INT(temp_dir_count(&dir, false), 0);
	no_tmpfile = false;
	temp_dir_destroy(&dir);
}

int main(void)
{
	RUN(not_needed);
	if (geteuid())
		check_skip("not root");
	RUN(after_root_is_given_up);
	RUN(one_file_for_each_output);
	RUN(several_files_for_the_screen);
	RUN(unfinished_files_go);
	return check_done();
}
