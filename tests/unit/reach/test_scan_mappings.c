// SPDX-License-Identifier: Apache-2.0
/* The search reads mappings of all kinds, and of none more than there is: no holes, no
 * devices, and no file that is leased. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>

#include "unit/reach/arranged.h"
#include "util/clock.h"

static volatile uint64_t zeroed[1];

/* Memory that was written before it became read-only, shared memory, and memory far from
 * what was used before. */
static uint64_t *map_shared(int fd, size_t size)
{
	uint64_t *memory = mmap(NULL, size, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_NORESERVE, fd, 0);

	REQUIRE(memory != MAP_FAILED);
	return memory;
}

/* Shared memory that was written before it became read-only. */
static void arrange_sealed(void *unused)
{
	uint64_t *nameless = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("sealed", MFD_CLOEXEC);
	uint64_t *named;

	(void)unused;
	REQUIRE(nameless != MAP_FAILED && fd >= 0 && !ftruncate(fd, 8192));
	named = map_shared(fd, 8192);
	put(&nameless[5], 0, 0);
	put(&named[1000], 1, 0);
	REQUIRE(!mprotect(nameless, 8192, PROT_READ) &&
		!mprotect(named, 8192, PROT_READ));
	close(fd);
	wash();
}

static void shared_memory_that_became_read_only(void)
{
	search(arrange_sealed);
	check_level(0, REACH_REACHED);
	check_level(1, REACH_REACHED);
	check_rest(2);
}

static void arrange_mappings(void *unused)
{
	uint64_t *sealed = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t *shared = mmap(NULL, 8192, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	uint64_t *sparse = mmap(NULL, (size_t)64 << 30, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	(void)unused;
	REQUIRE(sealed != MAP_FAILED && shared != MAP_FAILED && sparse != MAP_FAILED);
	put(&sealed[5], 0, 0);
	REQUIRE(mprotect(sealed, 8192, PROT_READ) == 0);
	put(&shared[1000], 1, 0);
	put(&sparse[((size_t)50 << 30) / 8], 2, 0);
	wash();
}

static void mappings_of_all_kinds(void)
{
	search(arrange_mappings);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

#define SPARSE_BYTES ((size_t)1 << 30)
#define BEHIND_BYTES ((size_t)1 << 40)

/* Blocks of 512 bytes that a few written pages take at most; they may be huge pages. */
#define WRITTEN_BLOCKS_MAX ((16 << 20) / 512)

static int sparse, ending;

static void arrange_shared(void *unused)
{
	uint64_t *words = map_shared(sparse, SPARSE_BYTES), *last;
	uint64_t *behind = map_shared(ending, BEHIND_BYTES);
	uint64_t *part = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, sparse,
			      (off_t)SPARSE_BYTES / 2);

	(void)unused;
	REQUIRE(part != MAP_FAILED);
	last = words + SPARSE_BYTES / sizeof(*words) - 1;
	put(&words[3], 0, 0);
	put(&words[SPARSE_BYTES / 4 / sizeof(*words)], 1, 0);
	put(last, 2, 0);
	put(&behind[1000], 3, 0);
	/* Only the other mapping is left. */
	put(&part[2 * 512], 4, 0);
	REQUIRE(munmap(words + SPARSE_BYTES / 2 / sizeof(*words), 8 * 4096) == 0);
	wash();
}

static blkcnt_t blocks_of(int fd)
{
	struct stat st;

	REQUIRE(fstat(fd, &st) == 0);
	return st.st_blocks;
}

/* Holes in shared memory stay holes, and nothing behind the end of a file is tried. */
static void holes_of_shared_memory_are_not_read(void)
{
	uint64_t began_ns;

	sparse = memfd_create("sparse", MFD_CLOEXEC);
	ending = memfd_create("ending", MFD_CLOEXEC);
	REQUIRE(sparse >= 0 && ending >= 0);
	REQUIRE(ftruncate(sparse, (off_t)SPARSE_BYTES) == 0);
	REQUIRE(ftruncate(ending, 8192) == 0);
	began_ns = clock_now_ns();
	search(arrange_shared);
	printf("searched in %.3f s\n", (double)(clock_now_ns() - began_ns) / 1e9);
	for (unsigned i = 0; i < 5; i++)
		check_level(i, REACH_REACHED);
	check_rest(5);
	CHECK(blocks_of(sparse) < WRITTEN_BLOCKS_MAX);
	CHECK(blocks_of(ending) < WRITTEN_BLOCKS_MAX);
	close(sparse);
	close(ending);
}

/* More than memory has, and than the machine has huge pages. */
#define HUGE_BYTES ((size_t)1 << 40)

static bool has_huge_page;

static void arrange_huge(void *unused)
{
	uint64_t *memory =
		mmap(NULL, HUGE_BYTES, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_HUGETLB | MAP_NORESERVE, -1, 0);

	(void)unused;
	REQUIRE(memory != MAP_FAILED);
	if (has_huge_page)
		put(&memory[HUGE_BYTES / 2 / sizeof(*memory)], 0, 0);
	wash();
}

/* The number of huge pages that the machine keeps, or sets it. */
static long huge_pages(long set)
{
	FILE *file = fopen("/proc/sys/vm/nr_hugepages", set < 0 ? "re" : "we");
	long ret = 0;

	if (!file)
		return 0;
	if (set >= 0)
		fprintf(file, "%ld\n", set);
	else if (fscanf(file, "%ld", &ret) != 1)
		ret = 0;
	fclose(file);
	return ret;
}

static long huge_pages_before;

static void restore_huge_pages(void)
{
	huge_pages(huge_pages_before);
}

/* To read a hole takes a huge page of the machine. If none is left, the read fails, and
 * the search would try 268 million pages of 4 KiB one by one. The one huge page that is
 * there is read. */
static void holes_of_hugetlbfs_are_not_read(void)
{
	uint64_t began_ns;

	huge_pages_before = huge_pages(-1);
	REQUIRE(!atexit(restore_huge_pages));
	huge_pages(huge_pages_before + 2);
	has_huge_page = huge_pages(-1) >= huge_pages_before + 2;
	printf("%s huge pages\n", has_huge_page ? "with" : "without");
	began_ns = clock_now_ns();
	search(arrange_huge);
	printf("searched in %.3f s\n", (double)(clock_now_ns() - began_ns) / 1e9);
	if (has_huge_page)
		check_level(0, REACH_REACHED);
	check_rest(has_huge_page);
	restore_huge_pages();
}

/* The kernel refuses to read these addresses, as it does for a device. */
static struct {
	uint64_t start, end;
	unsigned tries;
} * device;

/* Instead of the C library's. */
ssize_t process_vm_readv(pid_t pid, const struct iovec *here, unsigned long here_count,
			 const struct iovec *there, unsigned long there_count,
			 unsigned long flags)
{
	uint64_t at = (uint64_t)(uintptr_t)there->iov_base;

	if (device && at >= device->start && at < device->end) {
		__atomic_add_fetch(&device->tries, 1, __ATOMIC_RELAXED);
		errno = EFAULT;
		return -1;
	}
	return syscall(SYS_process_vm_readv, pid, here, here_count, there, there_count,
		       flags);
}

#define DEVICE_BYTES ((size_t)(1 + 1024) * 4096)

/* The ring of a perf event is not a file. */
static void arrange_device(void *unused)
{
	struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
				       .size = sizeof(attr),
				       .config = PERF_COUNT_SW_DUMMY};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	char *ring = mmap(NULL, DEVICE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	(void)unused;
	REQUIRE(ring != MAP_FAILED);
	device->start = (uint64_t)(uintptr_t)ring;
	device->end = device->start + DEVICE_BYTES;
	put(&zeroed[0], 0, 0);
	wash();
}

static void devices_are_given_up(void)
{
	device = mmap(NULL, sizeof(*device), PROT_READ | PROT_WRITE,
		      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	REQUIRE(device != MAP_FAILED);
	search(arrange_device);
	check_level(0, REACH_REACHED);
	check_rest(1);
	printf("%u tries\n", device->tries);
	CHECK(device->tries > 0 && device->tries < 512);
	munmap(device, sizeof(*device));
	device = NULL;
}

/* A target can make open(2) wait for 45 s (/proc/sys/fs/lease-break-time). */
static void arrange_leased(void *unused)
{
	char path[] = "/dev/shm/memtrace-test-XXXXXX";
	int fd = mkostemp(path, O_CLOEXEC);

	(void)unused;
	REQUIRE(fd >= 0 && !unlink(path) && !ftruncate(fd, 1 << 20));
	put(map_shared(fd, 1 << 20), 0, 0);
	signal(SIGIO, SIG_IGN);
	REQUIRE(!fcntl(fd, F_SETLEASE, F_WRLCK));
	wash();
}

static void leases_are_not_waited_for(void)
{
	uint64_t began_ns = clock_now_ns();

	search(arrange_leased);
	CHECK(clock_now_ns() - began_ns < UINT64_C(20000000000));
	check_level(0, REACH_REACHED);
	check_rest(1);
}

int main(void)
{
	RUN(mappings_of_all_kinds);
	RUN(shared_memory_that_became_read_only);
	RUN(holes_of_shared_memory_are_not_read);
	RUN(holes_of_hugetlbfs_are_not_read);
	RUN(devices_are_given_up);
	RUN(leases_are_not_waited_for);
	return check_done();
}
