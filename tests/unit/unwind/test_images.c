// SPDX-License-Identifier: Apache-2.0
/* The images of a real process over time: found while libraries are loaded and unloaded,
 * after its end, and in its child. */
#include "check.h"
#include "decoy.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind/images.h"
#include "util/clock.h"

struct child {
	pid_t pid;
	int to, from;
	struct proc *proc;
	struct image_store *store;
	struct images *images;
};

/* --- the process ------------------------------------------------------------------ */

/* The linker puts the code of a small library at this offset. */
#define TEXT_OFFSET 0x1000

/* A deleted file: a page of zeros or the library. -1 on failure. */
static int deleted_file(bool is_library)
{
	char name[] = "/tmp/memtrace-images-XXXXXX";
	int fd = mkstemp(name), from;

	if (fd < 0 || unlink(name) || ftruncate(fd, 4096))
		return -1;
	if (is_library) {
		from = open(TEST_LIBRARY, O_RDONLY | O_CLOEXEC);
		while (sendfile(fd, from, NULL, 1 << 20) > 0)
			;
		close(from);
	}
	return fd;
}

extern const char __executable_start, etext; /* defined by the linker */

/* The child executes this for each command, and answers with an address. */
static uint64_t obey(char command)
{
	static void *library, *code;
	int fd;

	switch (command) {
	case 'o':
		library = dlopen(TEST_LIBRARY, RTLD_NOW | RTLD_LOCAL);
		return library ? (uint64_t)(uintptr_t)dlsym(library, "library_function")
			       : 0;
	case 'c':
		return dlclose(library) == 0;
	case 'a': /* anonymous code */
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return (uint64_t)(uintptr_t)code;
	case 'd': /* code of a deleted file that is not ELF */
	case 'e': /* code of a deleted copy of the library */
		fd = deleted_file(command == 'e');
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    command == 'e' ? (off_t)TEXT_OFFSET : 0);
		close(fd);
		return code == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)code;
	case 'u':
		return munmap(code, 4096) == 0;
	case 't': /* our text: touch it, so that all of it is in memory */
		for (const volatile char *at = &__executable_start; at < &etext;
		     at += 4096)
			(void)*at;
		return 1;
	}
	return 0;
}

static struct child start(void)
{
	int to[2], from[2];
	struct child c = {0};

	REQUIRE(pipe2(to, O_CLOEXEC) == 0 && pipe2(from, O_CLOEXEC) == 0);
	fflush(stdout);
	c.pid = fork();
	REQUIRE(c.pid >= 0);
	if (!c.pid) {
		char command;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (read(to[0], &command, 1) == 1) {
			uint64_t answer = obey(command);

			if (write(from[1], &answer, sizeof(answer)) != sizeof(answer))
				break;
		}
		_exit(0);
	}
	close(to[0]);
	close(from[1]);
	c.to = to[1];
	c.from = from[0];
	REQUIRE(!proc_open(c.pid, &c.proc));
	REQUIRE(!image_store_create(NULL, NULL, &c.store));
	REQUIRE(!images_create(c.store, &c.images));
	return c;
}

static uint64_t command(struct child *c, char letter)
{
	uint64_t answer;

	REQUIRE(write(c->to, &letter, 1) == 1);
	REQUIRE(read(c->from, &answer, sizeof(answer)) == sizeof(answer));
	REQUIRE(answer);
	return answer;
}

static void kill_child(struct child *c)
{
	if (c->pid > 0) {
		kill(c->pid, SIGKILL);
		waitpid(c->pid, NULL, 0);
	}
	c->pid = 0;
}

static void stop(struct child *c)
{
	images_destroy(c->images);
	image_store_destroy(c->store);
	proc_close(c->proc);
	kill_child(c);
	close(c->to);
	close(c->from);
}

/* Changes that one reading of the mappings finds. */
struct news {
	unsigned added, replaced;
	uint64_t tag;
};

static struct news read_maps(struct child *c, uint64_t since_ns, uint64_t tag)
{
	struct news news = {0};
	struct proc_maps maps = {0};

	REQUIRE(!proc_read_maps(c->proc, &maps));
	vec_foreach (m, &maps.mappings) {
		struct images_change change;

		if (!m->executable)
			continue;
		REQUIRE(!images_add(c->images, c->pid, m, images_since(since_ns), tag,
				    &change));
		news.added += change.is_new;
		news.replaced += change.is_replaced;
		news.tag = change.tag > news.tag ? change.tag : news.tag;
	}
	proc_maps_deinit(&maps);
	return news;
}

/* --- tests ------------------------------------------------------------------------ */

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

/* --- many ranges ------------------------------------------------------------------ */

#define SMALL_BYTES 0x2000 /* of the vDSO's mapping */
#define MANY        3500   /* 8 times as many are fewer than the limit */

enum order {
	ASCENDING,
	DESCENDING,
	AT_ONE_PLACE, /* one after the other, in turn with other code */
};

static void add_at(struct images *images, uint64_t start, uint64_t end, const char *path,
		   uint64_t since_ns)
{
	const struct proc_mapping m = {
		.start = start, .end = end, .path = (char *)(uintptr_t)path};
	struct images_change change;

	REQUIRE(!images_add(images, getpid(), &m, images_since(since_ns), since_ns,
			    &change));
	REQUIRE(change.is_new);
}

static uint64_t place_of(enum order order, size_t i, size_t count)
{
	size_t nth = order == DESCENDING ? count - i : order == ASCENDING ? i + 1 : 1;

	return 0x100000000 + nth * 2 * SMALL_BYTES;
}

/* The processor time for adding that many ranges above one that contains them all, for
 * looking each of them up, listing and pruning them. */
static uint64_t time_of_many(enum order order, size_t count)
{
	struct images_range *list = calloc(count + 2, sizeof(*list));
	struct image_store *store = NULL;
	struct images *images = NULL;
	uint64_t begun_ns;

	REQUIRE(list && !image_store_create(NULL, NULL, &store));
	REQUIRE(!images_create(store, &images));
	/* Found here, the vDSO is known everywhere. */
	add_at(images, getauxval(AT_SYSINFO_EHDR),
	       getauxval(AT_SYSINFO_EHDR) + SMALL_BYTES, "[vdso]", 1);
	begun_ns = clock_thread_cpu_ns();
	add_at(images, 0x100000000, 0x200000000, "", 1);
	for (size_t i = 0; i < count; i++) {
		uint64_t start = place_of(order, i, count);
		bool is_other = order == AT_ONE_PLACE && i % 2;

		add_at(images, start, start + SMALL_BYTES, is_other ? "" : "[vdso]",
		       i + 2);
	}
	for (size_t i = 0; i < count; i++) {
		uint64_t pc = place_of(order, i, count);
		struct walk_code code;

		REQUIRE(images_find(images, pc, i + 2, &code) &&
			!code.cfi == (order == AT_ONE_PLACE && i % 2));
		CHECK(images_find(images, pc + SMALL_BYTES, i + 2, &code) && !code.cfi);
	}
	CHECK_INT(images_list(images, NOW, list, count + 2),
		  order == AT_ONE_PLACE ? 1 : count + 1);
	images_prune(images, 2);
	CHECK_INT(images_count(images), count + 2);
	images_prune(images, count + 2);
	CHECK_INT(images_count(images), order == AT_ONE_PLACE ? 3 : count + 2);
	begun_ns = clock_thread_cpu_ns() - begun_ns;
	images_destroy(images);
	image_store_destroy(store);
	free(list);
	return begun_ns;
}

/* A program can map a huge range and thousands of small ones above it, or other code at
 * one place all the time. The time for each mapping must not depend on their number. */
static void many_ranges(void)
{
	for (enum order order = ASCENDING; order <= AT_ONE_PLACE; order++) {
		uint64_t few_ns, many_ns;
		unsigned attempts = 10; /* others use the caches and the cores, too */

		do {
			few_ns = time_of_many(order, MANY);
			many_ns = time_of_many(order, (size_t)8 * MANY);
		} while (many_ns >= 32 * few_ns && --attempts);
		printf("# order %u: %.1f ms, 8 times as many %.1f ms\n", order,
		       (double)few_ns / 1e6, (double)many_ns / 1e6);
		CHECK(attempts);
	}
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
	RUN(many_ranges);
	images_destroy(NULL);
	image_store_destroy(NULL);
	return check_done();
}
