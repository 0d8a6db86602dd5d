// SPDX-License-Identifier: Apache-2.0
/* The images of a real process over time: found while libraries are loaded and unloaded,
 * after its end, and in its child. */
#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "decoy.h"
#include "unit/unwind/images_child.h"
#include "unwind/images.h"

#define NOW (UINT64_MAX - 1)

/* The FDE at an address of the child, with addresses of the child. */
static bool fde_at(const struct images *images, uint64_t pc, uint64_t at_ns,
		   struct cfi_fde *ret)
{
	struct walk_code code;

	if (!images_find(images, pc, at_ns, &code) || !code.cfi ||
	    !cfi_find_fde(code.cfi, pc - code.bias, ret))
		return false;
	ret->start += code.bias;
	ret->end += code.bias;
	return true;
}

static void functions(void)
{
	struct child c = start();
	struct walk_code code;
	struct cfi_fde fde;
	const uint64_t addresses[] = {
		/* A forked child has the same mappings. */
		(uint64_t)(uintptr_t)functions,
		(uint64_t)(uintptr_t)&qsort,
		(uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "snprintf"),
	};

	CHECK(!images_find(c.images, addresses[0], NOW, &code));
	CHECK(read_maps(&c, 0, 0).added > 2);
	CHECK_INT(images_unread(c.images), 0);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		REQUIRE(fde_at(c.images, addresses[i], 0, &fde));
		CHECK_INT(fde.start, addresses[i]);
	}
	/* Not code: NULL, the stack, the end of the address space. */
	CHECK(!images_find(c.images, 0, NOW, &code));
	CHECK(!images_find(c.images, (uint64_t)(uintptr_t)&c, NOW, &code));
	CHECK(!images_find(c.images, UINT64_MAX, NOW, &code));
	stop(&c);
}

static void vdso(void)
{
	struct child c = start();
	const uint64_t base = getauxval(AT_SYSINFO_EHDR);
	struct cfi_fde fde = {0};
	struct walk_code code;
	unsigned found = 0;

	REQUIRE(base);
	read_maps(&c, 0, 0);
	REQUIRE(images_find(c.images, base, NOW, &code));
	REQUIRE(code.cfi);
	CHECK_INT(code.bias, base); /* it is linked at address 0 */
	for (uint64_t pc = base; pc < base + 4096; pc++)
		found += fde_at(c.images, pc, NOW, &fde);
	CHECK(found > 500);

	/* It is the same in all processes, so that it is known for one that has ended. */
	struct images *other;
	struct images_change change;
	const struct proc_mapping elsewhere = {
		.start = 0x10000000, .end = 0x10002000, .path = (char[]){"[vdso]"}};

	REQUIRE(!images_create(c.store, &other));
	REQUIRE(!images_add(other, -1, &elsewhere, images_since(1), 0, &change));
	REQUIRE(images_find(other, 0x10000000, 1, &code));
	CHECK(code.cfi && code.bias == 0x10000000);
	images_destroy(other);
	stop(&c);
}

static void libraries(void)
{
	struct child c = start();
	uint64_t leaf;
	struct walk_code kept, code;
	struct cfi_fde fde;

	read_maps(&c, 100, 1);
	REQUIRE(images_find(c.images, (uint64_t)(uintptr_t)libraries, NOW, &kept));
	CHECK(!images_find(c.images, (uint64_t)(uintptr_t)libraries, 99, &code));
	CHECK_INT(read_maps(&c, 150, 2).added, 0);

	leaf = command(&c, 'o');
	CHECK(!images_find(c.images, leaf, NOW, &code));
	CHECK_INT(read_maps(&c, 200, 3).added, 1);
	REQUIRE(fde_at(c.images, leaf, 200, &fde));
	CHECK_INT(fde.start, leaf);
	CHECK(!images_find(c.images, leaf, 199, &code));
	/* Earlier mappings are unchanged. */
	REQUIRE(images_find(c.images, (uint64_t)(uintptr_t)libraries, NOW, &code));
	CHECK(code.cfi == kept.cfi && code.bias == kept.bias);

	/* An unmapped library is not reported, and does no harm. */
	command(&c, 'c');
	CHECK_INT(read_maps(&c, 300, 4).added, 0);
	CHECK(images_find(c.images, leaf, 300, &code));
	CHECK_INT(images_unread(c.images), 0);

	/* An exec ends all earlier mappings. They are still found for times before it. */
	images_end(c.images, 400);
	CHECK(images_find(c.images, leaf, 399, &code));
	CHECK(!images_find(c.images, leaf, 400, &code));
	CHECK(read_maps(&c, 401, 5).added > 2);
	CHECK(images_find(c.images, (uint64_t)(uintptr_t)libraries, 500, &code));
	CHECK(!images_find(c.images, (uint64_t)(uintptr_t)libraries, 400, &code));
	images_prune(c.images, 399);
	CHECK(images_find(c.images, leaf, 399, &code));
	images_prune(c.images, 401);
	CHECK(!images_find(c.images, leaf, 399, &code));
	CHECK(images_find(c.images, (uint64_t)(uintptr_t)libraries, 401, &code));
	stop(&c);
}

static void odd_code(void)
{
	struct child c = start();
	uint64_t address;
	struct walk_code code;
	struct news news;

	read_maps(&c, 0, 1);
	address = command(&c, 'a');
	CHECK_INT(read_maps(&c, 100, 2).added, 1);
	REQUIRE(images_find(c.images, address + 4095, 100, &code));
	CHECK(!code.cfi);
	CHECK_INT(images_unread(c.images), 0);
	command(&c, 'u');

	/* In place of that code. */
	CHECK_INT(command(&c, 'd'), address);
	news = read_maps(&c, 200, 3);
	CHECK_INT(news.added, 1);
	CHECK_INT(news.replaced, 1);
	CHECK_INT(news.tag, 2);
	REQUIRE(images_find(c.images, address, 200, &code));
	CHECK(!code.cfi);
	CHECK_INT(images_unread(c.images), 1);
	CHECK_INT(read_maps(&c, 250, 4).added, 0);
	/* Another file at the same address, which may have the same inode number. */
	command(&c, 'u');
	CHECK_INT(command(&c, 'e'), address);
	news = read_maps(&c, 300, 5);
	CHECK_INT(news.added, 1);
	CHECK_INT(news.tag, 3);
	REQUIRE(images_find(c.images, address, 300, &code));
	CHECK(code.cfi);
	CHECK_INT(images_unread(c.images), 0);
	/* Each is found for its own time. */
	REQUIRE(images_find(c.images, address, 299, &code));
	CHECK(!code.cfi);
	/* Images that can be read are kept open, so their inode numbers are not
	 * reused. */
	command(&c, 'u');
	CHECK_INT(command(&c, 'e'), address);
	CHECK_INT(read_maps(&c, 400, 6).replaced, 1);

	size_t before = images_count(c.images);

	images_prune(c.images, 350);
	CHECK_INT(images_count(c.images), before - 2);
	CHECK(images_find(c.images, address, 350, &code));
	CHECK(!images_find(c.images, address, 299, &code));
	stop(&c);
}

/* A smaller range within another one, and one that covers it: at each address the latest
 * counts. */
static void overlaps(void)
{
	struct child c = start();
	struct walk_code code;
	struct images_change change;
	struct proc_mapping library = {.start = (uint64_t)(uintptr_t)overlaps & ~4095ull};
	struct proc_maps maps = {0};

	REQUIRE(!proc_read_maps(c.proc, &maps));
	vec_foreach (m, &maps.mappings)
		if (m->start <= library.start && library.start < m->end)
			library = *m;
	REQUIRE(library.path);

	struct proc_mapping large = library, small = library,
			    jit = {.path = (char[]){""}};

	large.start = 0x10000000;
	large.end = 0x10100000;
	small.start = 0x10010000;
	small.end = 0x10011000;
	jit.start = 0x10010000;
	jit.end = 0x10200000;
	REQUIRE(!images_add(c.images, c.pid, &large, images_since(10), 1, &change));
	REQUIRE(!images_add(c.images, c.pid, &small, images_since(20), 2, &change));
	CHECK(change.is_new && change.is_replaced && change.tag == 1);
	CHECK(images_find(c.images, 0x10010fff, 20, &code));

	uint64_t inner = code.bias;

	CHECK(images_find(c.images, 0x10011000, 20, &code));
	CHECK(code.bias < inner);
	CHECK(images_find(c.images, 0x1000ffff, 20, &code));
	CHECK(code.bias < inner);
	CHECK(images_find(c.images, 0x10010000, 19, &code));
	CHECK(code.bias < inner);
	REQUIRE(!images_add(c.images, c.pid, &jit, images_since(30), 3, &change));
	CHECK(change.is_replaced && change.tag == 2);
	CHECK(images_find(c.images, 0x10010000, 30, &code) && !code.cfi);
	CHECK(images_find(c.images, 0x100fffff, 30, &code) && !code.cfi);
	CHECK(images_find(c.images, 0x1000ffff, 30, &code) && code.cfi);
	/* The small one is unused now, the large one is used. */
	images_prune(c.images, 31);
	CHECK_INT(images_count(c.images), 2);
	/* A larger range of the same does not count as a change, and an empty range is
	 * ignored. */
	jit.end = 0x10020000;
	REQUIRE(!images_add(c.images, c.pid, &jit, images_since(40), 4, &change));
	CHECK(!change.is_new);
	jit.end = jit.start;
	REQUIRE(!images_add(c.images, c.pid, &jit, images_since(50), 5, &change));
	CHECK(!change.is_new);
	proc_maps_deinit(&maps);
	stop(&c);
}

/* Two pages of other code within a range, and then everything as at first: outside of
 * these pages nothing has changed. Code that appeared at an unknown time is not found
 * before the time at which it was seen. */
static void back_again(void)
{
	struct child c = start();
	struct walk_code code;
	struct images_change change;
	struct proc_mapping library = {.start = (uint64_t)(uintptr_t)back_again &
						~4095ull};
	struct proc_maps maps = {0};
	uint64_t first, last, bias;

	REQUIRE(!proc_read_maps(c.proc, &maps));
	vec_foreach (m, &maps.mappings)
		if (m->start <= library.start && library.start < m->end)
			library = *m;
	REQUIRE(library.path);

	struct proc_mapping all = library, inner = library;

	all.start = 0x10000000;
	all.end = 0x10100000;
	inner.start = 0x10010000;
	inner.end = 0x10012000;
	REQUIRE(!images_add(c.images, c.pid, &all, images_since(10), 1, &change));
	REQUIRE(images_find(c.images, inner.start, 10, &code));
	bias = code.bias;
	/* It appeared after 20, and was seen at 30. */
	REQUIRE(!images_add(c.images, c.pid, &inner, (struct images_time){30, 20, 0}, 2,
			    &change));
	CHECK(change.is_replaced && change.tag == 1);
	REQUIRE(images_find(c.images, inner.start, 30, &code));
	CHECK(code.bias != bias);
	CHECK(!images_find(c.images, inner.start, 29, &code));
	CHECK(!images_find(c.images, inner.end - 1, 20, &code));
	CHECK(images_find(c.images, inner.start, 19, &code) && code.bias == bias);
	CHECK(images_find(c.images, inner.end, 25, &code) && code.bias == bias);
	CHECK(!images_extent(c.images, inner.start, 29, &first, &last));
	REQUIRE(images_extent(c.images, inner.start, 30, &first, &last));
	CHECK(first == inner.start && last == inner.end);

	REQUIRE(!images_add(c.images, c.pid, &all, (struct images_time){50, 5, 0}, 3,
			    &change));
	CHECK(change.is_new && change.is_replaced && change.tag == 2);
	CHECK(images_find(c.images, inner.start, 50, &code) && code.bias == bias);
	CHECK(images_find(c.images, inner.start, 30, &code) && code.bias != bias);
	CHECK(!images_find(c.images, inner.start, 31, &code));
	REQUIRE(!images_add(c.images, c.pid, &all, images_since(60), 4, &change));
	CHECK(!change.is_new);

	/* Addresses where nothing was known are not doubtful. */
	all.start += 0x10000000;
	all.end += 0x10000000;
	REQUIRE(!images_add(c.images, c.pid, &all, (struct images_time){70, 5, 6}, 5,
			    &change));
	CHECK(change.is_new && !change.is_replaced);
	CHECK(images_find(c.images, all.start, 6, &code));
	CHECK(!images_find(c.images, all.start, 5, &code));
	proc_maps_deinit(&maps);
	stop(&c);
}

/* Anonymous memory that replaces a part of a file's text or continues it: it counts as
 * the file's text if its content is equal. */
static void text_of_no_file(void)
{
	struct child c = start();
	struct walk_code code, known;
	struct images_change change;
	struct proc_mapping library = {.start = (uint64_t)(uintptr_t)back_again &
						~4095ull};
	struct proc_maps maps = {0};

	REQUIRE(command(&c, 't'));
	REQUIRE(!proc_read_maps(c.proc, &maps));
	vec_foreach (m, &maps.mappings)
		if (m->start <= library.start && library.start < m->end)
			library = *m;
	REQUIRE(library.path && library.end - library.start > 3 * 4096);

	struct proc_mapping bare = {.start = library.start + 4096,
				    .end = library.start + 2 * 4096,
				    .path = (char[]){""}},
			    first = library, last = library, false_one = library;

	/* In place of the text. */
	REQUIRE(!images_add(c.images, c.pid, &library, images_since(10), 1, &change));
	REQUIRE(images_find(c.images, bare.start, 10, &known));
	REQUIRE(!images_add(c.images, c.pid, &bare, images_since(20), 2, &change));
	CHECK(!change.is_new);

	/* The memory of a process that has ended cannot be compared. */
	images_destroy(c.images);
	REQUIRE(!images_create(c.store, &c.images));
	REQUIRE(!images_add(c.images, -1, &library, images_since(10), 1, &change));
	REQUIRE(!images_add(c.images, -1, &bare, images_since(20), 2, &change));
	CHECK(change.is_new && change.is_replaced);
	CHECK(images_find(c.images, bare.start, 20, &code) && !code.cfi);

	/* After the text, and before it. */
	first.end = bare.start;
	last.start = bare.end;
	last.file_offset += last.start - library.start;
	for (int i = 0; i < 2; i++) {
		images_destroy(c.images);
		REQUIRE(!images_create(c.store, &c.images));
		REQUIRE(!images_add(c.images, c.pid, i ? &last : &first, images_since(10),
				    1, &change));
		REQUIRE(!images_add(c.images, c.pid, &bare, images_since(20), 2,
				    &change));
		CHECK(change.is_new && !change.is_replaced);
		CHECK(images_find(c.images, bare.start, 20, &code));
		CHECK(code.cfi == known.cfi && code.bias == known.bias);
	}

	/* Other content than the file would have there. */
	images_destroy(c.images);
	REQUIRE(!images_create(c.store, &c.images));
	false_one.start += 4096;
	REQUIRE(!images_add(c.images, c.pid, &false_one, images_since(10), 1, &change));
	REQUIRE(!images_add(c.images, c.pid, &bare, images_since(20), 2, &change));
	CHECK(change.is_new && change.is_replaced);
	CHECK(images_find(c.images, bare.start, 20, &code) && !code.cfi);
	proc_maps_deinit(&maps);
	stop(&c);
}

static void gone(void)
{
	struct child c = start();
	struct walk_code code;
	struct proc_maps maps = {0};
	struct images_change change;
	struct images *copy, *late;

	REQUIRE(!proc_read_maps(c.proc, &maps));
	kill_child(&c);
	/* Its files are opened by path. */
	vec_foreach (m, &maps.mappings)
		if (m->executable && m->inode)
			REQUIRE(!images_add(c.images, c.proc->pid, m, images_since(100),
					    0, &change));
	CHECK(images_find(c.images, (uint64_t)(uintptr_t)gone, 100, &code) && code.cfi);
	CHECK_INT(images_unread(c.images), 0);

	/* The child gets the mappings at the time of the fork. */
	REQUIRE(!images_copy(c.images, 100, &copy));
	REQUIRE(!images_copy(c.images, 99, &late));
	images_destroy(c.images);
	c.images = NULL;
	CHECK(images_find(copy, (uint64_t)(uintptr_t)gone, 100, &code) && code.cfi);
	CHECK(!images_find(late, (uint64_t)(uintptr_t)gone, 100, &code));
	CHECK_INT(images_count(late), 0);
	images_destroy(copy);
	images_destroy(late);
	/* The images are kept for other processes. */
	CHECK(image_store_count(c.store) > 1);
	proc_maps_deinit(&maps);
	stop(&c);
}

/* A file that is not the mapped one is not opened, to which a path or a link leads. */
static void others_stay_closed(void)
{
	char path[] = "/dev/shm/memtrace-image-XXXXXX", link[64];
	int fd = mkstemp(path);
	struct image_store *store = NULL;
	struct proc_mapping m = {.start = 0x1000, .end = 0x2000, .path = path};
	struct decoy decoy;
	struct stat st;

	snprintf(link, sizeof(link), "%s.link", path);
	REQUIRE(fd >= 0 && !fstat(fd, &st) && !symlink(path, link));
	REQUIRE(!image_store_create(NULL, NULL, &store));
	m.dev_major = major(st.st_dev);
	m.dev_minor = minor(st.st_dev);
	decoy = decoy_watch(path);
	m.inode = st.st_ino + 1;
	CHECK(!image_store_get(store, getpid(), &m));
	m.path = link;
	m.inode = st.st_ino;
	CHECK(!image_store_get(store, getpid(), &m));
	decoy_check(&decoy, path);
	/* The file itself is opened, and is no ELF file. */
	decoy = decoy_watch(path);
	m.path = path;
	CHECK(!image_store_get(store, getpid(), &m));
	CHECK(read(decoy.watch, (char[4096]){0}, 4096) > 0);
	close(decoy.watch);
	image_store_destroy(store);
	unlink(link);
	unlink(path);
	close(fd);
}

int main(void)
{
	RUN(functions);
	RUN(vdso);
	RUN(libraries);
	RUN(others_stay_closed);
	RUN(odd_code);
	RUN(overlaps);
	RUN(back_again);
	RUN(text_of_no_file);
	RUN(gone);
	images_destroy(NULL);
	image_store_destroy(NULL);
	return check_done();
}
