// SPDX-License-Identifier: Apache-2.0
/* Files with several names: kernels before 6.8, from 6.8 to 6.17 and later name files of
 * an overlay differently in events and in /proc/PID/maps. This test provides the names
 * instead of the kernel. */
#include "check.h"
#include "descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "process/file_names.h"
#include "unit/unwind/image_file.h"
#include "unit/unwind/section.h"
#include "unwind/image_store.h"
#include "unwind/images.h"

/* Names of the next opened file, instead of the kernel's answer. */
static struct file_names names_now;
static unsigned asked;

bool file_names_check(int place, const struct file_name *name, struct file_names *ret)
{
	asked++;
	*ret = names_now;
	return place >= 0 && file_names_have(ret, name);
}

static const struct file_name layer = {16, 0, 0x21}, overlay = {9, 0, 0x23},
			      other_overlay = {9, 0, 0x2a}, nothing;

/* A mapping of our own code with this name. Like in an event, the path may lead
 * nowhere. */
static struct proc_mapping mapping_by(const struct file_name *name, char *path)
{
	return (struct proc_mapping){
		.start = 0x7f0000000000,
		.end = 0x7f0000010000,
		.inode = name->inode,
		.dev_major = name->dev_major,
		.dev_minor = name->dev_minor,
		.executable = true,
		.path = path,
	};
}

static char own[PATH_MAX];

static struct image *get(struct image_store *store, const struct file_name *name)
{
	struct proc_mapping m = mapping_by(name, own);

	return image_store_get(store, getpid(), &m);
}

static void by_both_names(void)
{
	struct image_store *store = NULL;

	REQUIRE(!image_store_create(NULL, NULL, &store));
	names_now = (struct file_names){.reported = layer, .listed = overlay};

	struct image *reported = get(store, &layer), *listed = get(store, &overlay);

	REQUIRE(reported);
	CHECK(listed == reported);
	CHECK(image_is_same(reported, listed));
	CHECK_INT(image_store_count(store), 1);
	image_release(reported);
	image_release(listed);
	image_store_destroy(store);
}

/* The same file of a layer in two containers, and a file of another layer with the inode
 * number of the first overlay's file. */
static void of_two_overlays(void)
{
	struct file_name others = layer;
	struct image_store *store = NULL;

	others.inode++;
	REQUIRE(!image_store_create(NULL, NULL, &store));
	names_now = (struct file_names){.reported = layer, .listed = overlay};

	struct image *one = get(store, &overlay);

	names_now.listed = other_overlay;

	struct image *two = get(store, &other_overlay);

	names_now = (struct file_names){.reported = others, .listed = {16, 0, 0x2a}};

	struct image *three = get(store, &others);

	REQUIRE(one && two && three);
	CHECK(image_is_same(one, two));
	CHECK(!image_is_same(one, three));
	CHECK(!image_is_same(two, three));
	CHECK(!image_is_same(one, NULL));
	CHECK(image_is_same(NULL, NULL));
	image_release(one);
	image_release(two);
	image_release(three);
	image_store_destroy(store);
}

/* The path leads to another file: neither of its names is the reported one. */
static void not_the_file(void)
{
	struct image_store *store = NULL;

	REQUIRE(!image_store_create(NULL, NULL, &store));
	names_now = (struct file_names){.reported = overlay, .listed = other_overlay};
	asked = 0;
	CHECK(!get(store, &layer));
	CHECK(asked > 0);
	CHECK_INT(image_store_count(store), 0);
	image_store_destroy(store);
}

/* How many times code counts as replaced if an event reports it at 10, /proc lists it at
 * 20, and both again. */
static unsigned replaced_times(const struct file_name *reported,
			       const struct file_name *listed, const char *path)
{
	const struct file_name *const order[] = {reported, listed, reported, listed};
	struct image_store *store = NULL;
	struct images *images = NULL;
	unsigned replaced = 0;
	char name[PATH_MAX];

	snprintf(name, sizeof(name), "%s", path);
	REQUIRE(!image_store_create(NULL, NULL, &store) &&
		!images_create(store, &images));
	names_now = (struct file_names){.reported = *reported, .listed = *listed};
	for (unsigned i = 0; i < 4; i++) {
		struct proc_mapping m = mapping_by(order[i], name);
		struct images_change change;

		CHECK(!images_add(images, getpid(), &m, images_since(10 * (i + 1)), 1,
				  &change));
		replaced += change.is_replaced;
		CHECK_INT(change.is_new, i == 0 || change.is_replaced);
	}
	images_destroy(images);
	image_store_destroy(store);
	return replaced;
}

static void events_and_maps(void)
{
	CHECK_INT(replaced_times(&layer, &layer, own), 0);     /* Linux 6.7 */
	CHECK_INT(replaced_times(&layer, &overlay, own), 0);   /* 6.8 to 6.17 */
	CHECK_INT(replaced_times(&overlay, &overlay, own), 0); /* 6.18 */
	/* The file cannot be opened. */
	CHECK_INT(replaced_times(&layer, &overlay, "/nowhere"), 0);
}

/* Later the inode number belongs to another library. */
static void another_file(void)
{
	struct image_store *store = NULL;
	struct images *images = NULL;
	struct images_change change;
	struct proc_mapping m = mapping_by(&layer, own);

	REQUIRE(!image_store_create(NULL, NULL, &store) &&
		!images_create(store, &images));
	names_now = (struct file_names){.reported = layer, .listed = overlay};
	CHECK(!images_add(images, getpid(), &m, images_since(10), 1, &change));
	CHECK(change.is_new && !change.is_replaced);
	names_now =
		(struct file_names){.reported = {17, 0, 0x21}, .listed = {10, 0, 0x23}};
	m = mapping_by(&names_now.listed, own);
	CHECK(!images_add(images, getpid(), &m, images_since(20), 1, &change));
	CHECK(change.is_new && change.is_replaced);
	/* Anonymous memory, and a file that cannot be read. */
	m = mapping_by(&nothing, (char[]){""});
	CHECK(!images_add(images, getpid(), &m, images_since(30), 1, &change));
	CHECK(change.is_new && change.is_replaced);
	m = mapping_by(&other_overlay, (char[]){"/nowhere"});
	CHECK(!images_add(images, getpid(), &m, images_since(40), 1, &change));
	CHECK(change.is_new && change.is_replaced);
	images_destroy(images);
	image_store_destroy(store);
}

/* --- what the store keeps --------------------------------------------------------- */

/* The next opened file has the inode number `number`. */
static struct file_name numbered(uint64_t number)
{
	struct file_name name = {number, 0, 0x21};

	names_now = (struct file_names){.reported = name, .listed = name};
	return name;
}

#define MANY 500

static void no_descriptors(void)
{
	struct image_store *store = NULL;
	struct image *images[MANY];
	unsigned before = count_descriptors(getpid());

	REQUIRE(!image_store_create(NULL, NULL, &store));
	for (unsigned i = 0; i < MANY; i++) {
		struct file_name name = numbered(100 + i);

		images[i] = get(store, &name);
		REQUIRE(images[i]);
	}
	CHECK_INT(count_descriptors(getpid()), before);
	CHECK_INT(image_store_count(store), MANY);
	for (unsigned i = 0; i < MANY; i++)
		image_release(images[i]);
	image_store_tidy(store);
	CHECK_INT(image_store_count(store), 128);
	/* The last ones are kept. */
	image_release(get(store, &(struct file_name){100 + MANY - 1, 0, 0x21}));
	CHECK_INT(image_store_count(store), 128);
	image_store_destroy(store);
}

/* Functions that all have the same unwind information. */
static void make_file(char *path, unsigned functions)
{
	static struct built_section eh;
	const uint64_t address[2] = {IMAGE_CODE, 1};
	size_t cie;

	eh.size = 0;
	cie = put_cie(&eh, 1, "", NULL, 0);
	for (unsigned i = 0; i < functions; i++)
		put_fde(&eh, cie, (const uint8_t *)address, sizeof(address), NULL, 0);
	put_number(&eh, 0, 4);
	image_file(path, 0x1000, &(struct image_section){".eh_frame", eh.bytes, eh.size},
		   1);
}

/* How many such files are kept that all are in use. */
static unsigned fill(unsigned functions, uint64_t *ret_bytes)
{
	char path[] = "/tmp/memtrace-image-XXXXXX";
	struct image_store *store = NULL;
	struct image *image;
	unsigned count = 0;

	make_file(path, functions);
	REQUIRE(!image_store_create(NULL, NULL, &store));
	do {
		struct file_name name = numbered(100 + count);
		struct proc_mapping m = mapping_by(&name, path);

		image = image_store_get(store, getpid(), &m);
		if (image)
			*ret_bytes = cfi_size_bytes(image_cfi(image));
	} while (image && ++count < 10000);
	CHECK_INT(image_store_count(store), count);
	image_store_destroy(store);
	unlink(path);
	return count;
}

/* What a target can make memtrace keep is bounded. */
static void full(void)
{
	const uint64_t most = (uint64_t)256 << 20;
	unsigned count;
	uint64_t bytes;

	CHECK_INT(fill(1, &bytes), 8192);
	CHECK(8192 * bytes < most);
	count = fill(15000, &bytes);
	CHECK(count * bytes > most && (count - 1) * bytes <= most);
}

/* One library after another at the same address, in quick succession. */
static void unloaded(void)
{
	struct image_store *store = NULL;
	struct images *images = NULL;
	struct images_change change;

	REQUIRE(!image_store_create(NULL, NULL, &store) &&
		!images_create(store, &images));
	for (unsigned i = 0; i < MANY; i++) {
		struct file_name name = numbered(100 + i);
		struct proc_mapping m = mapping_by(&name, own);

		REQUIRE(!images_add(images, getpid(), &m, images_since(10 * (i + 1)), 1,
				    &change));
	}
	CHECK_INT(image_store_count(store), MANY);
	images_prune(images, UINT64_MAX - 1);
	CHECK_INT(images_count(images), 1);
	CHECK_INT(image_store_count(store), 128 + 1);
	images_destroy(images);
	image_store_destroy(store);
}

/* So far apart two addresses are in different pages. */
#define FAR_BYTES 4096

/* The code of a closed file can be read. If the file is truncated, this does no harm:
 * what was read before can be read again, and the rest cannot. */
static void code_without_descriptor(void)
{
	char copy[] = "/tmp/memtrace-image-XXXXXX", bytes[64], same[64];
	int from = open(own, O_RDONLY | O_CLOEXEC), to = mkstemp(copy);
	struct file_name name = numbered(100);
	struct proc_mapping m = mapping_by(&name, copy);
	struct image_store *store = NULL;
	struct image *image;
	struct cfi *cfi = NULL;
	uint64_t entry;
	struct stat st;
	ssize_t size;

	REQUIRE(from >= 0 && to >= 0 && !fstat(from, &st));
	while ((size = copy_file_range(from, NULL, to, NULL, (size_t)st.st_size, 0)) > 0)
		;
	REQUIRE(!size && !cfi_open_file(dup(from), &cfi));
	REQUIRE(!image_store_create(NULL, NULL, &store));
	image = image_store_get(store, getpid(), &m);
	REQUIRE(image);
	entry = cfi_entry_point(image_cfi(image));
	REQUIRE(cfi_read_code(cfi, entry, same, sizeof(same)));
	REQUIRE(cfi_read_code(image_cfi(image), entry, bytes, sizeof(bytes)));
	CHECK(!memcmp(bytes, same, sizeof(bytes)));
	CHECK(!cfi_read_code(image_cfi(image), 0, bytes, sizeof(bytes)));
	REQUIRE(!ftruncate(to, 0));
	CHECK(cfi_read_code(image_cfi(image), entry, bytes, sizeof(bytes)));
	CHECK(!memcmp(bytes, same, sizeof(bytes)));
	REQUIRE(cfi_read_code(cfi, entry + FAR_BYTES, same, sizeof(same)));
	CHECK(!cfi_read_code(image_cfi(image), entry + FAR_BYTES, bytes, sizeof(bytes)));
	image_release(image);
	image_store_destroy(store);
	cfi_close(cfi);
	close(from);
	close(to);
	unlink(copy);
}

int main(void)
{
	REQUIRE(realpath("/proc/self/exe", own));
	RUN(by_both_names);
	RUN(of_two_overlays);
	RUN(not_the_file);
	RUN(events_and_maps);
	RUN(another_file);
	RUN(no_descriptors);
	RUN(full);
	RUN(unloaded);
	RUN(code_without_descriptor);
	return check_done();
}
