// SPDX-License-Identifier: Apache-2.0
#include "unwind/images.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "util/cleanup.h"
#include "util/vec.h"

/* Bounds on what a process can make us open and keep. Large ones (browsers, compilers)
 * have some hundred images with 100 MiB of unwind information. */
#define IMAGES_MAX      4096u
#define TOTAL_MAX_BYTES ((uint64_t)256 << 20)
#define VDSO_MAX_BYTES  ((size_t)1 << 20)

#define VDSO            "[vdso]"

struct image {
	/* Which file; of the vDSO the inode is 0, and `start` is where it is mapped. */
	uint32_t dev_major, dev_minor;
	uint64_t inode, start;
	struct cfi *cfi; /* NULL: unread */
	void *memory;    /* of the vDSO */
};

struct range {
	uint64_t start, end;
	uint64_t inode; /* so that another unread file is a change */
	struct walk_code code;
};

struct images {
	const struct proc *proc;
	VEC(struct image) list;   /* by file, each once */
	VEC(struct range) ranges; /* by address */
	uint64_t generation, total_bytes;
};

DEFINE_CLEANUP(struct images *, images_destroy);

static void image_deinit(struct image *image)
{
	cfi_close(image->cfi);
	free(image->memory);
	*image = (struct image){0};
}

/* --- order ------------------------------------------------------------------------ */

static int compare(uint64_t a, uint64_t b)
{
	return (a > b) - (a < b);
}

static int by_file(const void *pa, const void *pb)
{
	const struct image *a = pa, *b = pb;
	int order = compare(a->inode, b->inode);

	if (!order)
		order = compare(a->dev_major, b->dev_major);
	if (!order)
		order = compare(a->dev_minor, b->dev_minor);
	return order ? order : compare(a->start, b->start);
}

static struct image key_of(const struct proc_mapping *m)
{
	if (!strcmp(m->path, VDSO))
		return (struct image){.start = m->start};
	return (struct image){
		.dev_major = m->dev_major, .dev_minor = m->dev_minor, .inode = m->inode};
}

static int by_mapped_file(const void *pa, const void *pb)
{
	const struct proc_mapping *a = *(const struct proc_mapping *const *)pa,
				  *b = *(const struct proc_mapping *const *)pb;
	const struct image ka = key_of(a), kb = key_of(b);
	int order = by_file(&ka, &kb);

	return order ? order : compare(a->start, b->start);
}

static int by_address(const void *pa, const void *pb)
{
	const struct range *a = pa, *b = pb;

	return compare(a->start, b->start);
}

static bool has_image(const struct proc_mapping *m)
{
	return !strcmp(m->path, VDSO) || (m->path[0] == '/' && m->inode);
}

/* --- opening ---------------------------------------------------------------------- */

static struct error *open_file(const struct images *images, const struct proc_mapping *m,
			       struct image *image)
{
	_cleanup_(freep) char *path = NULL;
	struct error *err = proc_mapping_path(images->proc, m, &path);
	struct stat st;

	if (err)
		return err;

	/* The path is the target's to choose: it may lead to a FIFO, or by now to another
	 * file. Devices may differ (target/maps.h). */
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0)
		return error_errno(ERROR_IO, errno, "cannot open %s", path);
	if (fstat(fd, &st) < 0 || st.st_ino != m->inode) {
		close(fd);
		return error_create(ERROR_NOT_FOUND, "%s: another file by now", path);
	}
	return cfi_open_file(fd, &image->cfi);
}

static struct error *open_vdso(const struct images *images, const struct proc_mapping *m,
			       struct image *image)
{
	uint64_t size = m->end - m->start;
	char path[32];

	if (size > VDSO_MAX_BYTES)
		return error_create(ERROR_MALFORMED, "the vDSO is too large");
	snprintf(path, sizeof(path), "/proc/%d/mem", images->proc->pid);

	_cleanup_(closep) int fd = open(path, O_RDONLY | O_CLOEXEC);
	_cleanup_(freep) void *memory = malloc((size_t)size);

	if (fd < 0)
		return error_errno(ERROR_IO, errno, "cannot open %s", path);
	if (!memory)
		return error_no_memory();
	if (pread(fd, memory, (size_t)size, (off_t)m->start) != (ssize_t)size)
		return error_errno(ERROR_IO, errno, "cannot read %s", path);

	struct error *err = cfi_open_memory(memory, (size_t)size, &image->cfi);

	if (!err)
		image->memory = take(memory);
	return err;
}

/* Each image holds a file open. Half of what the process may open is for others. */
static size_t images_max(void)
{
	struct rlimit limit;

	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur / 2 > IMAGES_MAX)
		return IMAGES_MAX;
	return (size_t)limit.rlim_cur / 2;
}

/* Open the image of a mapping. Only a lack of memory is an error. */
static struct error *open_image(struct images *images, const struct proc_mapping *m,
				struct image *ret)
{
	struct error *err;

	*ret = key_of(m);
	if (images->list.len >= images_max() || images->total_bytes > TOTAL_MAX_BYTES)
		return NULL;
	err = ret->inode ? open_file(images, m, ret) : open_vdso(images, m, ret);
	if (err && err->code == ERROR_NO_MEMORY)
		return err;
	error_destroy(err);
	return NULL;
}

/* --- refresh ---------------------------------------------------------------------- */

static struct image *find_image(const struct images *images, const struct image *key)
{
	return images->list.len ? bsearch(key, images->list.data, images->list.len,
					  sizeof(*key), by_file)
				: NULL;
}

/* The image that `m` maps: taken from `old` (whose place is then empty), or opened. It
 * goes to the end of `images`. */
static struct error *add_image(struct images *images, struct images *old,
			       const struct proc_mapping *m)
{
	const struct image key = key_of(m);
	struct image image, *kept = find_image(old, &key);
	struct error *err = NULL;

	if (!vec_reserve(&images->list, images->list.len + 1))
		return error_no_memory();
	/* One that could not be read is tried again: it holds no file open, so that its
	 * inode number may be another's by now. */
	if (kept && kept->cfi) {
		image = *kept;
		/* Its key stays, for the search. */
		kept->cfi = NULL;
		kept->memory = NULL;
	} else {
		err = open_image(images, m, &image);
		if (err)
			return err;
	}
	images->total_bytes += image.cfi ? cfi_size_bytes(image.cfi) : 0;
	images->list.data[images->list.len++] = image;
	return NULL;
}

static bool add_range(struct images *images, const struct proc_mapping *m,
		      const struct cfi *cfi)
{
	struct range range = {.start = m->start, .end = m->end, .inode = m->inode};

	if (cfi && cfi_bias(cfi, m->start, m->file_offset, &range.code.bias))
		range.code.cfi = cfi;
	return vec_push(&images->ranges, range);
}

static struct error *build(struct images *images, struct images *old,
			   const struct proc_maps *maps)
{
	_cleanup_(freep) const struct proc_mapping **mappings =
		calloc(maps->mappings.len + 1, sizeof(*mappings));
	size_t count = 0;

	if (!mappings)
		return error_no_memory();
	vec_foreach (m, &maps->mappings) {
		if (!m->executable)
			continue;
		if (has_image(m))
			mappings[count++] = m;
		else if (!add_range(images, m, NULL))
			return error_no_memory();
	}
	qsort(mappings, count, sizeof(*mappings), by_mapped_file);
	for (size_t i = 0; i < count; i++) {
		const struct image key = key_of(mappings[i]);
		size_t len = images->list.len;

		if (!len || by_file(&images->list.data[len - 1], &key)) {
			struct error *err = add_image(images, old, mappings[i]);

			if (err)
				return err;
		}
		if (!add_range(images, mappings[i],
			       images->list.data[images->list.len - 1].cfi))
			return error_no_memory();
	}
	if (images->ranges.len)
		qsort(images->ranges.data, images->ranges.len,
		      sizeof(*images->ranges.data), by_address);
	return NULL;
}

static bool same_range(const struct range *x, const struct range *y)
{
	return x->start == y->start && x->end == y->end && x->inode == y->inode &&
	       x->code.cfi == y->code.cfi && x->code.bias == y->code.bias;
}

/* Ranges that are as they were keep their generation. */
static void inherit(struct images *images, const struct images *old)
{
	size_t i = 0;

	vec_foreach (range, &images->ranges) {
		while (i < old->ranges.len && old->ranges.data[i].start < range->start)
			i++;
		range->code.since =
			i < old->ranges.len && same_range(range, &old->ranges.data[i])
				? old->ranges.data[i].code.since
				: images->generation;
	}
}

static bool same_ranges(const struct images *a, const struct images *b)
{
	if (a->ranges.len != b->ranges.len)
		return false;
	for (size_t i = 0; i < a->ranges.len; i++) {
		if (!same_range(&a->ranges.data[i], &b->ranges.data[i]))
			return false;
	}
	return true;
}

/* Give images that `images` had taken from `old` back to it. */
static void give_back(struct images *images, struct images *old)
{
	vec_foreach (image, &images->list) {
		struct image *was = find_image(old, image);

		if (was) {
			was->cfi = take(image->cfi);
			was->memory = take(image->memory);
		}
	}
}

static void deinit(struct images *images)
{
	vec_foreach (image, &images->list)
		image_deinit(image);
	vec_deinit(&images->list);
	vec_deinit(&images->ranges);
}

struct error *images_refresh(struct images *images)
{
	struct images fresh = {.proc = images->proc, .generation = images->generation};
	struct proc_maps maps = {0};
	struct error *err = proc_read_maps(images->proc, &maps);

	if (err)
		return err;
	err = build(&fresh, images, &maps);
	proc_maps_deinit(&maps);
	if (err) {
		give_back(&fresh, images);
		deinit(&fresh);
		return err;
	}
	if (!same_ranges(&fresh, images))
		fresh.generation++;
	inherit(&fresh, images);
	deinit(images);
	*images = fresh;
	return NULL;
}

struct error *images_create(const struct proc *proc, struct images **ret)
{
	_cleanup_(images_destroyp) struct images *images = calloc(1, sizeof(*images));

	if (!images)
		return error_no_memory();
	images->proc = proc;

	struct error *err = images_refresh(images);

	if (!err)
		*ret = take(images);
	return err;
}

void images_destroy(struct images *images)
{
	if (!images)
		return;
	deinit(images);
	free(images);
}

uint64_t images_generation(const struct images *images)
{
	return images->generation;
}

size_t images_unread(const struct images *images)
{
	size_t count = 0;

	vec_foreach (image, &images->list)
		count += !image->cfi;
	return count;
}

bool images_find(void *argument, uint64_t pc, struct walk_code *ret)
{
	const struct images *images = argument;
	size_t low = 0, high = images->ranges.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (images->ranges.data[middle].start <= pc)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || pc >= images->ranges.data[low - 1].end)
		return false;
	*ret = images->ranges.data[low - 1].code;
	return true;
}
