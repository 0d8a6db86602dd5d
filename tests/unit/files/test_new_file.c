// SPDX-License-Identifier: Apache-2.0
#include "unit/files/temp_dir.h"

#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include "files/new_file.h"

static const struct file_identity nobodys;

/* File systems that lack a feature. The linker replaces the system calls by these
 * functions. */
static struct {
	bool no_tmpfile, no_noreplace;
} lacks;

int __real_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, mode_t mode);
int __wrap_openat(int dir, const char *path, int flags, mode_t mode)
{
	if (lacks.no_tmpfile && (flags & O_TMPFILE) == O_TMPFILE) {
		errno = EOPNOTSUPP;
		return -1;
	}
	return __real_openat(dir, path, flags, mode);
}

int __real_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags);
int __wrap_renameat2(int from_dir, const char *from, int to_dir, const char *to,
		     unsigned flags)
{
	if (lacks.no_noreplace && flags) {
		errno = EINVAL;
		return -1;
	}
	return __real_renameat2(from_dir, from, to_dir, to, flags);
}

/* Writes `text` to NAME. Returns NULL or the error message, to be freed. */
static char *write_file(struct temp_dir *p, const char *name, const char *text,
			bool force, struct file_identity *own)
{
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	_cleanup_(error_destroyp) struct error *err = NULL;
	_cleanup_(freep) char *path = strdup(temp_dir_path(p, name));

	REQUIRE(path);
	err = new_file_open("csv", path, &file);
	if (!err) {
		fputs(text, file.stream);
		/* The file must not exist yet. */
		err = new_file_give_name(&file, force, own);
	}
	return err ? strdup(err->message) : NULL;
}

static void check_refused(char *message, const char *want)
{
	CHECK_CONTAINS(message, want);
	/* One line. */
	CHECK(message && !strchr(message, '\n'));
	free(message);
}

static void a_new_file(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	struct file_identity own = nobodys;
	struct stat st;
	char buf[64];

	umask(0);
	CHECK(!write_file(&p, "new", "text", false, &own));
	CHECK_STR(temp_dir_read(&p, "new", buf, sizeof(buf)), "text");
	REQUIRE(!stat(temp_dir_path(&p, "new"), &st));
	CHECK_INT(st.st_mode, S_IFREG | 0600);
	CHECK_INT(st.st_nlink, 1);
	CHECK(own.inode == st.st_ino && own.device == st.st_dev);
	CHECK_INT(temp_dir_count(&p, false), 1);
	/* The process made the file, so it may write it again. */
	CHECK(!write_file(&p, "new", "other", false, &own));
	CHECK_STR(temp_dir_read(&p, "new", buf, sizeof(buf)), "other");
	CHECK_INT(temp_dir_count(&p, false), 1);
}

static void nothing_is_seen_before_the_end(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	struct file_identity own = nobodys;
	char path[256], buf[64];

	temp_dir_write(&p, "old", "old");
	snprintf(path, sizeof(path), "%s/old", p.path);
	REQUIRE(!new_file_open("csv", path, &file));
	for (int i = 0; i < 100000; i++)
		fputs("0123456789", file.stream);
	CHECK_STR(temp_dir_read(&p, "old", buf, sizeof(buf)), "old");
	CHECK_INT(temp_dir_count(&p, false), lacks.no_tmpfile ? 2 : 1);
	REQUIRE(!new_file_give_name(&file, true, &own));
	CHECK_STR(temp_dir_read(&p, "old", buf, 5), "0123");
	CHECK_INT(temp_dir_count(&p, false), 1);
	/* Once more: it has its name already. */
	REQUIRE(!new_file_give_name(&file, true, &own));
	CHECK_INT(temp_dir_count(&p, false), 1);
}

/* Before the process is killed, it removes the temporary names of unfinished files. */
static void temporary_names_go(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	struct file_identity own = nobodys;
	char path[256];

	/* An open file with a similar name stays. */
	temp_dir_write(&p, ".memtrace-0123456789abcdef0", "longer");
	snprintf(path, sizeof(path), "%s/.memtrace-0123456789abcdef0", p.path);

	_cleanup_(closep) int other = open(path, O_RDONLY | O_CLOEXEC);

	REQUIRE(other >= 0);
	CHECK(!write_file(&p, "whole", "text", false, &own));

	snprintf(path, sizeof(path), "%s/new", p.path);
	REQUIRE(!new_file_open("csv", path, &file));
	CHECK_INT(temp_dir_count(&p, false), lacks.no_tmpfile ? 3 : 2);
	new_file_remove_temporaries();
	CHECK_INT(temp_dir_count(&p, false), 2);
}

static void an_existing_file_needs_force(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	struct file_identity own = nobodys;
	struct stat before, after;
	char buf[64];

	temp_dir_write(&p, "old", "old");
	check_refused(write_file(&p, "old", "new", false, &own),
		      "/old exists: use --force (-f) to overwrite it, or another name");
	CHECK_STR(temp_dir_read(&p, "old", buf, sizeof(buf)), "old");
	CHECK_INT(temp_dir_count(&p, false), 1);
	REQUIRE(!stat(temp_dir_path(&p, "old"), &before));
	CHECK(!write_file(&p, "old", "new", true, &own));
	CHECK_STR(temp_dir_read(&p, "old", buf, sizeof(buf)), "new");
	CHECK_INT(temp_dir_count(&p, false), 1);
	/* A new file, with neither the old content nor the old mode. */
	REQUIRE(!stat(temp_dir_path(&p, "old"), &after));
	CHECK(before.st_ino != after.st_ino);
	CHECK_INT(after.st_mode, S_IFREG | 0600);
}

static void a_foreign_file_is_not_ours(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	struct file_identity own = nobodys;
	char other[128];

	CHECK(!write_file(&p, "name", "ours", false, &own));
	/* Another program replaces the file, whose inode still exists under another
	 * name. */
	snprintf(other, sizeof(other), "%s/other", p.path);
	REQUIRE(!link(temp_dir_path(&p, "name"), other));
	REQUIRE(!unlink(temp_dir_path(&p, "name")));
	temp_dir_write(&p, "name", "theirs");
	check_refused(write_file(&p, "name", "ours", false, &own), "exists");
}

static void links_and_others_are_refused(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	struct file_identity own = nobodys;
	char buf[64];

	temp_dir_write(&p, "file", "old");
	REQUIRE(!symlink("file", temp_dir_path(&p, "link")));
	REQUIRE(!symlink("nothing", temp_dir_path(&p, "dangling")));
	REQUIRE(!mkdir(temp_dir_path(&p, "dir"), 0700));
	REQUIRE(!mkfifo(temp_dir_path(&p, "fifo"), 0600));
	for (int force = 0; force < 2; force++) {
		check_refused(write_file(&p, "link", "x", force, &own),
			      "/link is a symbolic link: name the file");
		check_refused(write_file(&p, "dangling", "x", force, &own),
			      "/dangling is a symbolic link: name the file");
		check_refused(write_file(&p, "dir", "x", force, &own),
			      "/dir is not a regular file");
		check_refused(write_file(&p, "fifo", "x", force, &own),
			      "/fifo is not a regular file");
		check_refused(write_file(&p, "dir/", "x", force, &own),
			      "/dir/ is not a file name");
		check_refused(write_file(&p, "none/x", "x", force, &own),
			      "cannot write --csv ");
		check_refused(write_file(&p, "file/x", "x", force, &own),
			      "/file/x: Not a directory");
	}
	CHECK_STR(temp_dir_read(&p, "file", buf, sizeof(buf)), "old");
	CHECK_INT(temp_dir_count(&p, false), 5);
}

/* Like on a full disk: a resource limit makes a write fail halfway. */
static void a_failed_write_leaves_the_old_file(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	const struct rlimit small = {100 * 1000, RLIM_INFINITY};
	struct file_identity own = nobodys;
	struct rlimit before;
	char buf[64], *large = malloc(1000001);

	REQUIRE(large);
	memset(large, 'x', 1000000);
	large[1000000] = '\0';
	temp_dir_write(&p, "old", "old");
	signal(SIGXFSZ, SIG_IGN);
	REQUIRE(!getrlimit(RLIMIT_FSIZE, &before));
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &small));
	check_refused(write_file(&p, "old", large, true, &own), "/old: File too large");
	check_refused(write_file(&p, "new", large, true, &own), "/new: File too large");
	/* Also if only the last part fails, which stdio had buffered. */
	large[100 * 1000 + 1] = '\0';
	check_refused(write_file(&p, "new", large, true, &own), "/new: File too large");
	REQUIRE(!setrlimit(RLIMIT_FSIZE, &before));
	signal(SIGXFSZ, SIG_DFL);
	CHECK_STR(temp_dir_read(&p, "old", buf, sizeof(buf)), "old");
	CHECK_INT(temp_dir_count(&p, false), 1);
	free(large);
}

static void a_dropped_file_is_gone(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	char path[256];

	snprintf(path, sizeof(path), "%s/x", p.path);
	for (int i = 0; i < 3; i++) {
		struct new_file file;

		REQUIRE(!new_file_open("csv", path, &file));
		fputs("text", file.stream);
		new_file_deinit(&file);
	}
	CHECK_INT(temp_dir_count(&p, false), 0);
}

/* The name is taken after the check: that file is not overwritten. */
static void a_name_taken_meanwhile(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	struct file_identity own = nobodys;
	char path[256], buf[64];
	bool in_place;

	snprintf(path, sizeof(path), "%s/x", p.path);
	REQUIRE(!new_file_open("csv", path, &file));
	REQUIRE(!new_file_check(&file, false, &own, &in_place));
	CHECK(!in_place);
	temp_dir_write(&p, "x", "theirs");

	_cleanup_(error_destroyp) struct error *err =
		new_file_give_name(&file, false, &own);

	CHECK_CONTAINS(err ? err->message : NULL, "/x exists");
	CHECK_STR(temp_dir_read(&p, "x", buf, sizeof(buf)), "theirs");
}

static void a_removed_directory(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	char before[PATH_MAX];

	REQUIRE(getcwd(before, sizeof(before)));
	REQUIRE(!mkdir(temp_dir_path(&p, "gone"), 0700));
	REQUIRE(!chdir(temp_dir_path(&p, "gone")));
	REQUIRE(!rmdir(temp_dir_path(&p, "gone")));

	_cleanup_(error_destroyp) struct error *err =
		new_file_open("csv", "x.csv", &file);

	CHECK_STR(err ? err->message : NULL,
		  "cannot write --csv x.csv: the current directory was removed");
	REQUIRE(!chdir(before));
}

/* Redirects stdout to a file until standard_output_back(). */
static int standard_output_to(const char *path)
{
	int saved = dup(STDOUT_FILENO), fd = open(path, O_WRONLY | O_CLOEXEC);

	fflush(stdout);
	REQUIRE(saved >= 0 && fd >= 0 && dup2(fd, STDOUT_FILENO) >= 0);
	close(fd);
	return saved;
}

static void standard_output_back(int saved)
{
	REQUIRE(dup2(saved, STDOUT_FILENO) >= 0);
	close(saved);
}

/* Standard output is only written to, even if it is a file. */
static void standard_output(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir p = temp_dir_create();
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	struct file_identity own = nobodys;
	char buf[64];
	bool in_place;
	int saved;

	temp_dir_write(&p, "out", "0123456789");
	saved = standard_output_to(temp_dir_path(&p, "out"));

	struct error *err = new_file_open("csv", "-", &file);

	standard_output_back(saved);
	REQUIRE(!err);
	REQUIRE(!new_file_check(&file, false, &own, &in_place));
	fputs("text", file.stream);
	REQUIRE(!new_file_give_name(&file, false, &own));
	CHECK_STR(temp_dir_read(&p, "out", buf, sizeof(buf)), "text456789");
	new_file_truncate(&file, 0);
	new_file_deinit(&file);
	CHECK_STR(temp_dir_read(&p, "out", buf, sizeof(buf)), "text456789");
	CHECK_INT(temp_dir_count(&p, false), 1);
	CHECK_INT(own.inode, 0);

	/* Write errors must be noticed. */
	saved = standard_output_to("/dev/full");
	err = new_file_open("csv", "-", &file);
	standard_output_back(saved);
	REQUIRE(!err);
	fputs("text", file.stream);
	err = new_file_give_name(&file, false, &own);
	CHECK_STR(err ? err->message : NULL,
		  "cannot write --csv -: No space left on device");
	error_destroy(err);
}

/* /dev/null is accepted, no other device is. */
static void the_null_device(void)
{
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	struct file_identity own = nobodys;
	struct stat st;

	for (int i = 0; i < 2; i++) {
		REQUIRE(!new_file_open("csv", "/dev/null", &file));
		fputs("text", file.stream);
		CHECK(!new_file_give_name(&file, i, &own));
		new_file_truncate(&file, 0);
		CHECK_INT(file.write_errno, 0);
		new_file_deinit(&file);
	}
	REQUIRE(!lstat("/dev/null", &st));
	CHECK(S_ISCHR(st.st_mode));
	for (int force = 0; force < 2; force++) {
		_cleanup_(new_file_deinit) struct new_file other = NEW_FILE_NONE;
		_cleanup_(error_destroyp) struct error *err = NULL;
		bool in_place;

		err = new_file_open("csv", "/dev/zero", &other);
		if (!err)
			err = new_file_check(&other, force, &own, &in_place);
		/* Only root gets as far as the type check. */
		CHECK_STR(err ? err->message : NULL,
			  geteuid() ? "cannot write --csv /dev/zero: Permission denied"
				    : "--csv /dev/zero is not a regular file");
	}
}

static void the_name_of_standard_output(void)
{
	_cleanup_(new_file_deinit) struct new_file file = NEW_FILE_NONE;
	_cleanup_(error_destroyp) struct error *err = NULL;
	bool in_place;

	err = new_file_open("csv", "/dev/stdout", &file);
	if (!err)
		err = new_file_check(&file, true, &nobodys, &in_place);
	CHECK_STR(err ? err->message : NULL,
		  geteuid() ? "cannot write --csv /dev/stdout: Permission denied"
			    : "--csv /dev/stdout is a symbolic link: '-' is standard "
			      "output");
}

static void run_all(void)
{
	RUN(a_new_file);
	RUN(nothing_is_seen_before_the_end);
	RUN(temporary_names_go);
	RUN(an_existing_file_needs_force);
	RUN(a_foreign_file_is_not_ours);
	RUN(links_and_others_are_refused);
	RUN(a_failed_write_leaves_the_old_file);
	RUN(a_dropped_file_is_gone);
	RUN(a_name_taken_meanwhile);
	RUN(a_removed_directory);
	RUN(standard_output);
	RUN(the_null_device);
	RUN(the_name_of_standard_output);
}

int main(void)
{
	run_all();
	lacks.no_tmpfile = true;
	run_all();
	lacks.no_noreplace = true;
	run_all();
	return check_done();
}
