/* SPDX-License-Identifier: Apache-2.0 */
#include "live/served_file.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/fuse.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "check.h"
#include "live/hung_files.h"

#define ROOT_NODE 1
#define FILE_NODE 2

/* Names and attributes stay valid for so long. */
#define VALID_S 10000

/* More than FUSE_MIN_READ_BUFFER and the largest read. */
#define MESSAGE_BYTES (1 << 18)

struct served_file {
	struct hung_files mount;
	const char *name;
	char *path;
	unsigned char *bytes;
	size_t size;
	pthread_t thread;
	int held_pid;          /* accessed atomically */
	unsigned held;         /* accessed atomically */
	bool sticks;           /* accessed atomically */
	unsigned opened;       /* since `sticks` */
	uint64_t stuck_unique; /* of the request; accessed atomically */
};

static struct fuse_attr attr_of(const struct served_file *f, uint64_t node)
{
	if (node == ROOT_NODE)
		return (struct fuse_attr){
			.ino = ROOT_NODE, .mode = S_IFDIR | 0755, .nlink = 2};
	return (struct fuse_attr){.ino = FILE_NODE,
				  .size = f->size,
				  .blocks = f->size / 512,
				  .mode = S_IFREG | 0755,
				  .nlink = 1};
}

static void reply(const struct served_file *f, const struct fuse_in_header *in, int error,
		  const void *body, size_t size)
{
	static unsigned char bytes[MESSAGE_BYTES];
	const struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + size),
					     .error = error,
					     .unique = in->unique};

	memcpy(bytes, &head, sizeof(head));
	memcpy(bytes + sizeof(head), body, size);
	/* The request may have been interrupted. */
	(void)!write(f->mount.fd, bytes, sizeof(head) + size);
}

static void answer_lookup(const struct served_file *f, const struct fuse_in_header *in)
{
	const struct fuse_entry_out out = {.nodeid = FILE_NODE,
					   .entry_valid = VALID_S,
					   .attr_valid = VALID_S,
					   .attr = attr_of(f, FILE_NODE)};

	if (strcmp((const char *)(in + 1), f->name) != 0)
		reply(f, in, -ENOENT, NULL, 0);
	else
		reply(f, in, 0, &out, sizeof(out));
}

static bool is_held(const struct served_file *f, const struct fuse_in_header *in)
{
	int pid = __atomic_load_n(&f->held_pid, __ATOMIC_SEQ_CST);
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%u", pid, in->pid);
	return pid && !access(path, F_OK);
}

static void answer_read(struct served_file *f, const struct fuse_in_header *in)
{
	const struct fuse_read_in *read = (const struct fuse_read_in *)(in + 1);
	size_t from = read->offset < f->size ? read->offset : f->size;
	size_t size = f->size - from < read->size ? f->size - from : read->size;

	if (__atomic_load_n(&f->sticks, __ATOMIC_SEQ_CST)) {
		__atomic_store_n(&f->stuck_unique, in->unique, __ATOMIC_SEQ_CST);
		__atomic_add_fetch(&f->held, 1, __ATOMIC_SEQ_CST);
	} else if (is_held(f, in))
		__atomic_add_fetch(&f->held, 1, __ATOMIC_SEQ_CST);
	else
		reply(f, in, 0, f->bytes + from, size);
}

static void answer_open(struct served_file *f, const struct fuse_in_header *in)
{
	struct fuse_open_out out = {.fh = 0};

	if (in->opcode == FUSE_OPEN && __atomic_load_n(&f->sticks, __ATOMIC_SEQ_CST))
		out.open_flags = FOPEN_KEEP_CACHE | (f->opened++ ? FOPEN_DIRECT_IO : 0);
	reply(f, in, 0, &out, sizeof(out));
}

static void answer(struct served_file *f, const struct fuse_in_header *in)
{
	const struct fuse_attr_out attr = {.attr_valid = VALID_S,
					   .attr = attr_of(f, in->nodeid)};
	const struct fuse_statfs_out statfs = {.st = {.bsize = 4096, .namelen = 255}};

	switch (in->opcode) {
	case FUSE_LOOKUP:
		answer_lookup(f, in);
		break;
	case FUSE_GETATTR:
		reply(f, in, 0, &attr, sizeof(attr));
		break;
	case FUSE_OPEN:
	case FUSE_OPENDIR:
		answer_open(f, in);
		break;
	case FUSE_READ:
		answer_read(f, in);
		break;
	case FUSE_STATFS:
		reply(f, in, 0, &statfs, sizeof(statfs));
		break;
	case FUSE_RELEASE:
	case FUSE_RELEASEDIR:
		reply(f, in, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break; /* these have no answer */
	default:
		reply(f, in, -ENOSYS, NULL, 0);
	}
}

static void *serve(void *arg)
{
	static unsigned char request[MESSAGE_BYTES];
	struct served_file *f = arg;

	for (;;) {
		ssize_t n = read(f->mount.fd, request, sizeof(request));

		if (n >= (ssize_t)sizeof(struct fuse_in_header))
			answer(f, (const struct fuse_in_header *)request);
		else if (n >= 0 || (errno != EINTR && errno != ENOENT))
			return NULL; /* unmounted */
	}
}

struct served_file *served_file_create(const char *from, const char *name)
{
	struct served_file *f = calloc(1, sizeof(*f));
	int fd = open(from, O_RDONLY | O_CLOEXEC);
	struct stat st;

	REQUIRE(f && fd >= 0 && !fstat(fd, &st));
	f->name = name;
	f->size = (size_t)st.st_size;
	f->bytes = mmap(NULL, f->size, PROT_READ, MAP_PRIVATE | MAP_POPULATE, fd, 0);
	REQUIRE(f->bytes != MAP_FAILED);
	close(fd);
	if (!hung_files_mount(&f->mount)) {
		munmap(f->bytes, f->size);
		free(f);
		return NULL;
	}
	REQUIRE(asprintf(&f->path, "%s/%s", f->mount.path, name) > 0);
	REQUIRE(!pthread_create(&f->thread, NULL, serve, f));
	return f;
}

const char *served_file_path(const struct served_file *f)
{
	return f->path;
}

void served_file_hold(struct served_file *f, int pid)
{
	int fd;

	__atomic_store_n(&f->held_pid, pid, __ATOMIC_SEQ_CST);
	/* The kernel drops the pages whenever the file is opened. */
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	close(fd);
}

void served_file_stick(struct served_file *f)
{
	int fd;

	/* As above. */
	fd = open(f->path, O_RDONLY | O_CLOEXEC);
	REQUIRE(fd >= 0);
	close(fd);
	__atomic_store_n(&f->sticks, true, __ATOMIC_SEQ_CST);
}

void served_file_unstick(struct served_file *f)
{
	const struct fuse_out_header head = {
		.len = sizeof(head),
		.error = -EIO,
		.unique = __atomic_load_n(&f->stuck_unique, __ATOMIC_SEQ_CST)};

	/* The kernel asks again. */
	__atomic_store_n(&f->sticks, false, __ATOMIC_SEQ_CST);
	(void)!write(f->mount.fd, &head, sizeof(head));
}

unsigned served_file_held(const struct served_file *f)
{
	return __atomic_load_n(&f->held, __ATOMIC_SEQ_CST);
}

void served_file_destroy(struct served_file *f)
{
	/* read(2) is a cancellation point. */
	pthread_cancel(f->thread);
	pthread_join(f->thread, NULL);
	hung_files_unmount(&f->mount);
	munmap(f->bytes, f->size);
	free(f->path);
	free(f);
}
