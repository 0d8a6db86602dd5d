// SPDX-License-Identifier: Apache-2.0
/* The numbers of probed files, and what is attached to each file. */
#include "check.h"
#include "descriptors.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "attach/attach.h"
#include "bpf/file_numbers.h"

static char folder[] = "/tmp/memtrace-test-XXXXXX";

static const char *make_file(const char *name)
{
	static char path[64];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "we");
	REQUIRE(file);
	fputs(name, file);
	fclose(file);
	return path;
}

static uint64_t number_of(struct file_numbers *files, const char *name)
{
	char path[64];
	uint64_t number;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	REQUIRE(!file_numbers_get(files, path, &number));
	CHECK_INT(file_numbers_known(files, path), number);
	return number;
}

static void a_number_is_not_used_twice(void)
{
	struct file_numbers files = {0};
	unsigned open_before = count_descriptors(getpid());
	uint64_t a, b;

	make_file("a");
	make_file("b");
	a = number_of(&files, "a");
	b = number_of(&files, "b");
	CHECK(a && b && a != b);
	CHECK_INT(number_of(&files, "a"), a);
	file_numbers_drop(&files, a);
	CHECK_INT(count_descriptors(getpid()), open_before + 1);
	CHECK_INT(number_of(&files, "b"), b);
	CHECK(number_of(&files, "a") > b);
	file_numbers_deinit(&files);
	CHECK_INT(count_descriptors(getpid()), open_before);
}

/* Asking for a file's number must not keep the file open. */
static void a_file_without_a_number(void)
{
	struct file_numbers files = {0};
	unsigned open_before = count_descriptors(getpid());

	CHECK_INT(file_numbers_known(&files, make_file("a")), 0);
	CHECK_INT(file_numbers_known(&files, "/nowhere"), 0);
	CHECK_INT(files.list.len, 0);
	CHECK_INT(count_descriptors(getpid()), open_before);
}

/* Removes the probes of one file, and those for one process. The others keep their
 * order. */
static void what_is_attached_to_a_file(void)
{
	struct attachment from = {.ops = &attach_uprobe_multi}, to = from;
	static const struct attached all[] = {
		{10, 1, 7}, {11, 1, 8}, {12, 2, 7}, {13, 1, 7}, {14, 1, 0}};

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		REQUIRE(vec_push(&from.list, all[i]));
	REQUIRE(vec_push(&from.places,
			 ((struct attached_place){.pid = 1, .number = 7, .offset = 5})));
	REQUIRE(vec_push(&from.places,
			 ((struct attached_place){.pid = 1, .number = 8, .offset = 6})));
	REQUIRE(attachment_take_file(&from, 1, 7, &to));
	CHECK_INT(to.list.len, 2);
	CHECK_INT(to.list.data[0].fd, 10);
	CHECK_INT(to.list.data[1].fd, 13);
	CHECK_INT(from.list.len, 3);
	CHECK_INT(from.list.data[0].fd, 11);
	CHECK_INT(from.list.data[1].fd, 12);
	CHECK_INT(from.list.data[2].fd, 14);
	CHECK_INT(to.places.len, 1);
	CHECK_INT(to.places.data[0].offset, 5);
	CHECK_INT(from.places.len, 1);
	CHECK_INT(from.places.data[0].offset, 6);
	vec_deinit(&from.list);
	vec_deinit(&from.places);
	vec_deinit(&to.list);
	vec_deinit(&to.places);
}

int main(void)
{
	REQUIRE(mkdtemp(folder));
	RUN(a_number_is_not_used_twice);
	RUN(a_file_without_a_number);
	RUN(what_is_attached_to_a_file);
	for (const char *name = "ab"; *name; name++) {
		char one[2] = {*name, 0};

		unlink(make_file(one));
	}
	rmdir(folder);
	return check_done();
}
