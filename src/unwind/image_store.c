// SPDX-License-Identifier: Apache-2.0
#include "unwind/image_store.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "process/file_names.h"
#include "process/live_thread.h"
#include "unwind/code_pages.h"
#include "util/cleanup.h"
#include "util/fd_table.h"
#include "util/regular_file.h"
#include "util/vec.h"

/* Bounds on the memory and mappings that traced processes can cause. Large ones
 * (browsers, compilers) have some hundred images with 100 MiB of unwind information. Each
 * image takes one of our mappings. The kernel permits 65,530 (vm.max_map_count). */
#define IMAGES_MAX      8192u
#define UNUSED_MAX      128u
#define TOTAL_MAX_BYTES ((uint64_t)256 << 20)
/* Later images get number 0. Users may keep one bit or slot for each number. */
#define NUMBER_MAX     (1u << 20)
#define VDSO_MAX_BYTES ((uint64_t)1 << 20)

#define VDSO           "[vdso]"

struct image {
	struct image_store *store;
	struct file_names names; /* vDSO: inode 0 */
	struct cfi *cfi;
	void *memory; /* of the vDSO; NULL: a file */
	uint32_t number;
	uint64_t uses;      /* reference count; 0: unused */
	uint64_t last_used; /* image_store.clock at its last use */
};

struct image_store {
	VEC(struct image *) list;
	struct code_pages *pages;
	uint32_t last_number; /* given to an image; 0: none yet */
	size_t unused;        /* images without references */
	uint64_t total_bytes, clock;
	image_closed_fn *closed;
	void *arg;
};

static void image_close(struct image *image)
{
	if (!image)
		return;
	cfi_close(image->cfi);
	free(image->memory);
	free(image);
}

DEFINE_CLEANUP(struct image *, image_close);

struct error *image_store_create(image_closed_fn *closed, void *arg,
				 struct image_store **ret)
{
	*ret = calloc(1, sizeof(**ret));
	if (*ret)
		(*ret)->pages = code_pages_create();
	if (!*ret || !(*ret)->pages) {
		free(*ret);
		*ret = NULL;
		return error_no_memory();
	}
	(*ret)->closed = closed;
	(*ret)->arg = arg;
	return NULL;
}

void image_store_destroy(struct image_store *store)
{
	if (!store)
		return;
	vec_foreach (image, &store->list)
		image_close(*image);
	vec_deinit(&store->list);
	code_pages_destroy(store->pages);
	free(store);
}

/* --- opening ---------------------------------------------------------------------- */

/* Open `place` for reading if it is a regular file with that name. It may be a FIFO, or
 * another file by now. Takes ownership of `place`. */
static int open_same(int place, const struct file_name *name, struct file_names *ret)
{
	int fd = file_names_check(place, name, ret) ? regular_file_reopen(place) : -1;

	closep(&place);
	return fd;
}

#define ROOT_FLAGS (O_PATH | O_DIRECTORY | O_CLOEXEC)

/* Find a path below a root directory. The kernel reports paths without symbolic links.
 * Takes ownership of `root_fd`. */
static int find_below(int root_fd, const char *path)
{
	int place = root_fd < 0 ? -1 : place_find_plain(root_fd, path);

	closep(&root_fd);
	return place;
}

/* Try map_files, the process's root directory and our root directory, in this order.
 * map_files leads to the file even if it was deleted or replaced, but needs more than
 * CAP_SYS_PTRACE, and the mapping may have been split since. Our root directory serves
 * processes that have exited. */
static int open_mapped(int pid, const struct proc_mapping *m, struct file_names *ret)
{
	const struct file_name name = file_name_of(m);
	char range[64];
	int fd;

	snprintf(range, sizeof(range), "map_files/%" PRIx64 "-%" PRIx64, m->start,
		 m->end);
	fd = open_same(live_thread_open(pid, range, O_PATH | O_CLOEXEC), &name, ret);
	if (fd < 0 && m->path[0] == '/')
		fd = open_same(
			find_below(live_thread_open(pid, "root", ROOT_FLAGS), m->path),
			&name, ret);
	if (fd < 0 && m->path[0] == '/')
		fd = open_same(find_below(open("/", ROOT_FLAGS), m->path), &name, ret);
	return fd;
}

static struct error *open_vdso(int pid, const struct proc_mapping *m, struct image *image)
{
	uint64_t size = m->end - m->start;

	if (size > VDSO_MAX_BYTES)
		return error_create(ERROR_MALFORMED, "the vDSO is too large");

	_cleanup_(closep) int fd = live_thread_open(pid, "mem", O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) void *memory = malloc((size_t)size);

	if (!memory)
		return error_no_memory();
	if (fd < 0 || pread(fd, memory, (size_t)size, (off_t)m->start) != (ssize_t)size)
		return error_create(ERROR_GONE, "cannot read the vDSO of process %d",
				    pid);

	struct error *err = cfi_open_memory(memory, (size_t)size, &image->cfi);

	if (!err)
		image->memory = take(memory);
	return err;
}

static struct image *open_image(const struct image_store *store, int pid,
				const struct proc_mapping *m)
{
	_cleanup_(image_closep) struct image *image = calloc(1, sizeof(*image));
	struct error *err = NULL;

	if (!image)
		return NULL;
	if (m->inode) {
		int fd = open_mapped(pid, m, &image->names);

		if (fd >= 0)
			err = cfi_open_file(fd, &image->cfi);
		if (image->cfi)
			err = cfi_close_fd(image->cfi, store->pages);
	} else {
		err = open_vdso(pid, m, image);
	}
	if (err) {
		error_destroy(err);
		return NULL;
	}
	return image->cfi ? take(image) : NULL;
}

/* --- keeping ---------------------------------------------------------------------- */

static void close_at(struct image_store *store, size_t i)
{
	struct image *image = store->list.data[i];

	if (store->closed)
		store->closed(store->arg, image->number);
	store->total_bytes -= cfi_size_bytes(image->cfi);
	store->list.data[i] = store->list.data[--store->list.len];
	image_close(image);
}

static void close_oldest(struct image_store *store)
{
	size_t oldest = store->list.len;

	for (size_t i = 0; i < store->list.len; i++) {
		const struct image *image = store->list.data[i];

		if (!image->uses &&
		    (oldest == store->list.len ||
		     image->last_used < store->list.data[oldest]->last_used))
			oldest = i;
	}
	close_at(store, oldest);
	store->unused--;
}

static bool is_full(const struct image_store *store)
{
	return store->list.len >= IMAGES_MAX || store->total_bytes > TOTAL_MAX_BYTES;
}

void image_store_tidy(struct image_store *store)
{
	while (store->unused && (store->unused > UNUSED_MAX || is_full(store)))
		close_oldest(store);
}

static struct image *find(const struct image_store *store, const struct file_name *name)
{
	/* With inode 0 only the vDSO is found. 32-bit programs have another vDSO, but
	 * are not traced. */
	vec_foreach (image, &store->list)
		if (file_names_have(&(*image)->names, name))
			return *image;
	return NULL;
}

struct image *image_store_get(struct image_store *store, int pid,
			      const struct proc_mapping *m)
{
	const struct file_name name = file_name_of(m);
	_cleanup_(image_closep) struct image *fresh = NULL;
	struct image *image;

	if (!m->inode && strcmp(m->path, VDSO) != 0)
		return NULL;
	store->clock++;
	image = find(store, &name);
	if (image) {
		image->last_used = store->clock;
		return image_ref(image);
	}
	fd_table_hold();
	image_store_tidy(store);
	if (!is_full(store))
		fresh = open_image(store, pid, m);
	fd_table_release();
	if (!fresh || !vec_push(&store->list, fresh))
		return NULL;
	if (store->last_number < NUMBER_MAX)
		fresh->number = ++store->last_number;
	fresh->store = store;
	store->unused++;
	fresh->last_used = store->clock;
	store->total_bytes += cfi_size_bytes(fresh->cfi);
	return image_ref(take(fresh));
}

struct image *image_ref(struct image *image)
{
	if (image && !image->uses++)
		image->store->unused--;
	return image;
}

void image_release(struct image *image)
{
	if (image && !--image->uses)
		image->store->unused++;
}

bool image_is_same(const struct image *a, const struct image *b)
{
	return a == b || (a && b && a->names.reported.inode &&
			  file_name_is(&a->names.reported, &b->names.reported));
}

const struct cfi *image_cfi(const struct image *image)
{
	return image ? image->cfi : NULL;
}

uint32_t image_number(const struct image *image)
{
	return image ? image->number : 0;
}

size_t image_store_count(const struct image_store *store)
{
	return store->list.len;
}
