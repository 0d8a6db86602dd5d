// SPDX-License-Identifier: Apache-2.0
/*
 * The search for unreachable blocks in a process that this test has arranged.
 */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <linux/aio_abi.h>
#include <linux/io_uring.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <ucontext.h>

#include "process_state.h"
#include "reach/scan.h"
#include "unit/reach/arranged.h"
#include "unit/process/child.h"
#include "util/clock.h"

/* The child keeps its pointers to blocks here. */
static volatile uint64_t initialized[2] = {1, 1};
static volatile uint64_t zeroed[2];
static __thread uint64_t thread_local[2];

static void arrange_data(void *unused)
{
	(void)unused;
	put(&initialized[0], 0, 0);
	put(&zeroed[0], 1, 0);
	put(&thread_local[0], 2, 0);
	put(&zeroed[1], 3, 8);                /* interior */
	put(&initialized[1], 4, BLOCK_BYTES); /* the end */
	put(word(0, 7), 5, 0);                /* a chain */
	put(word(5, 0), 6, 0);
	put(word(3, 1), 7, 0); /* from a block that is possibly reached */
	wash();
}

static void pointers_in_data_and_blocks(void)
{
	search(arrange_data);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_level(3, REACH_POSSIBLE);
	check_level(4, REACH_POSSIBLE);
	check_level(5, REACH_REACHED);
	check_level(6, REACH_REACHED);
	check_level(7, REACH_POSSIBLE);
	check_rest(8);
	CHECK_INT(found.head[0], REACH_NONE);
	CHECK_INT(found.head[3], REACH_NONE);
	CHECK_INT(found.head[8], 8);
}

/* Lost groups: a chain, a cycle, a cycle that a block leads to, and a shared member. */
static void arrange_groups(void *unused)
{
	(void)unused;
	put(word(10, 0), 11, 0);
	put(word(11, 0), 12, 0);

	put(word(20, 0), 21, 0);
	put(word(21, 0), 22, 0);
	put(word(22, 0), 20, 0);

	put(word(30, 0), 31, 16);
	put(word(31, 0), 32, 0);
	put(word(32, 0), 31, 0);

	put(word(40, 0), 42, 0);
	put(word(41, 0), 42, 0);
	put(word(43, 0), 43, 0);
	wash();
}

static void lost_groups_have_one_head(void)
{
	search(arrange_groups);
	check_rest(0);
	CHECK_INT(found.head[10], 10);
	CHECK_INT(found.head[11], 10);
	CHECK_INT(found.head[12], 10);
	CHECK_INT(found.head[20], 20);
	CHECK_INT(found.head[21], 20);
	CHECK_INT(found.head[22], 20);
	for (unsigned i = 30; i < 33; i++)
		CHECK_INT(found.head[i], 30);
	CHECK_INT(found.head[40], 40);
	CHECK_INT(found.head[41], 41);
	CHECK_INT(found.head[42], 40);
	CHECK_INT(found.head[43], 43);
	CHECK_INT(found.head[0], 0);
}

static int kept_epoll;

static void arrange_kernel(void *unused)
{
	struct epoll_event event = {.events = EPOLLIN};
	struct sigevent notify = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1};
	const struct itimerspec later = {.it_value.tv_sec = 1000};
	union sigval value;
	sigset_t blocked;
	timer_t timer;
	int ends[2];

	(void)unused;
	REQUIRE(pipe(ends) == 0);
	kept_epoll = epoll_create1(0);
	event.data.u64 = BLOCK(0);
	REQUIRE(epoll_ctl(kept_epoll, EPOLL_CTL_ADD, ends[0], &event) == 0);
	event.data.u64 = 0;
	notify.sigev_value.sival_ptr = (void *)(uintptr_t)BLOCK(1);
	REQUIRE(timer_create(CLOCK_MONOTONIC, &notify, &timer) == 0);
	REQUIRE(timer_settime(timer, 0, &later, NULL) == 0);
	memset(&notify, 0, sizeof(notify));
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	REQUIRE(sigprocmask(SIG_BLOCK, &blocked, NULL) == 0);
	value.sival_ptr = (void *)(uintptr_t)BLOCK(2);
	REQUIRE(sigqueue(getpid(), SIGUSR2, value) == 0);
	value.sival_ptr = NULL;
	__asm__ volatile("" ::"r"(&event), "r"(&notify), "r"(&value) : "memory");
	wash();
}

static void pointers_that_the_kernel_holds(void)
{
	search(arrange_kernel);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

static void *arrange_kernel_apart(void *unused)
{
	arrange_kernel(unused);
	stay();
	return unused;
}

static void exit_main_thread(void)
{
	pthread_t thread;
	sigset_t blocked;

	sigemptyset(&blocked);
	sigaddset(&blocked, SIGUSR2);
	REQUIRE(!sigprocmask(SIG_BLOCK, &blocked, NULL));
	REQUIRE(!pthread_create(&thread, NULL, arrange_kernel_apart, NULL));
	wash();
	pthread_exit(NULL);
}

static void the_kernel_holds_after_the_main_thread(void)
{
	search_staying(exit_main_thread);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

static void set_up_aio(void *unused)
{
	aio_context_t context = 0;

	(void)unused;
	REQUIRE(!syscall(SYS_io_setup, 8, &context));
}

static void set_up_uring(void *unused)
{
	struct io_uring_params params = {.flags = 0};

	(void)unused;
	REQUIRE(syscall(SYS_io_uring_setup, 8, &params) >= 0);
}

/* The mapping stays without the descriptor. */
static void map_uring(void *unused)
{
	struct io_uring_params params = {.flags = 0};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &params);

	(void)unused;
	REQUIRE(fd >= 0);
	REQUIRE(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     IORING_OFF_SQ_RING) != MAP_FAILED);
	close(fd);
}

static bool has_uring(void)
{
	struct io_uring_params params = {.flags = 0};
	int fd = (int)syscall(SYS_io_uring_setup, 8, &params);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

static void rings_are_noticed(void)
{
	search(arrange_kernel);
	CHECK(!found_rings);
	search(set_up_aio);
	CHECK(found_rings);
	if (!has_uring()) {
		printf("no io_uring here: not tried\n");
		return;
	}
	search(set_up_uring);
	CHECK(found_rings);
	search(map_uring);
	CHECK(found_rings);
}

/* A thread that keeps pointers where compilers do. */
static void *keep(void *unused)
{
	(void)unused;
	put(&thread_local[0], 0, 0);
	wash();
	__asm__ volatile("movq %0, %%rbx\n\t"
			 "movq %1, %%xmm7\n\t"
			 "xorl %%eax, %%eax\n\t"
			 "movl $34, %%eax\n\t" /* pause(2) */
			 "syscall\n\t" ::"r"(BLOCK(1)),
			 "r"(BLOCK(2))
			 : "rax", "rbx", "rcx", "r11", "xmm7", "memory");
	return NULL;
}

static void arrange_thread(void *unused)
{
	pthread_t thread;

	(void)unused;
	REQUIRE(pthread_create(&thread, NULL, keep, NULL) == 0);
	usleep(200000);
	wash();
}

static void registers_and_thread_local_data(void)
{
	search(arrange_thread);
	for (unsigned i = 0; i < 3; i++)
		check_level(i, REACH_REACHED);
	check_rest(3);
}

/* What a function leaves behind on the stack is not a pointer that the program has. */
static __attribute__((noinline)) void leave_behind(unsigned block)
{
	volatile uint64_t used[4096];

	/* Far enough below the red zone. */
	for (size_t i = 0; i < 64; i++)
		put(&used[i], block, 0);
}

/* A word of the red zone may still point to what was left behind, which then counts as in
 * use. */
static __attribute__((noinline)) void wash_red_zone(void)
{
	volatile uint64_t used[64];

	for (size_t i = 0; i < sizeof(used) / sizeof(*used); i++)
		used[i] = 0;
}

static void arrange_dead_stack(void *unused)
{
	(void)unused;
	wash();
	leave_behind(0);
	wash_red_zone();
	wash_registers();
}

static void stacks_below_the_stack_pointer(void)
{
	search(arrange_dead_stack);
	check_rest(0);
}

/* glibc stores the frame pointer of setjmp() mangled (PTR_MANGLE). */
static void arrange_mangled(void *unused)
{
	uint64_t guard;

	(void)unused;
	__asm__("movq %%fs:0x30, %0" : "=r"(guard));

	uint64_t mangled = BLOCK(0) ^ guard;

	zeroed[0] = mangled << 17 | mangled >> (64 - 17);
	mangled = 0;
	guard = 0;
	__asm__ volatile("" ::"r"(mangled), "r"(guard));
	zeroed[1] = BLOCK(1) | UINT64_C(0xab) << 56; /* a tag in the highest byte */
	put(&initialized[0], 2, 3);                  /* and in the lowest bits */
	wash();
}

static void mangled_and_tagged_pointers(void)
{
	search(arrange_mangled);
	check_level(0, REACH_REACHED);
	check_level(1, REACH_REACHED);
	check_level(2, REACH_POSSIBLE);
	check_rest(3);
	search_with(arrange_mangled, &(struct reach_words){.low_tag_max = 7});
	check_level(2, REACH_REACHED);
}

/* A packed structure. */
static void arrange_unaligned(void *unused)
{
	typedef uint64_t __attribute__((aligned(1))) packed;

	(void)unused;
	*(volatile packed *)((volatile char *)zeroed + 3) = BLOCK(0);
	/* Across a border of pages. */
	*(volatile packed *)(arena + ARENA_BYTES - 4096 - 3) = BLOCK(1);
	wash();
}

static void unaligned_pointers_if_wanted(void)
{
	search(arrange_unaligned);
	check_rest(0);
	search_with(arrange_unaligned, &(struct reach_words){.unaligned = true});
	check_level(0, REACH_REACHED);
	check_level(1, REACH_REACHED);
	check_rest(2);
}

/* Pointers in memory that belongs to no block. */
static void arrange_free(void *unused)
{
	uint64_t *page = sbrk(8192);

	(void)unused;
	REQUIRE(page != (void *)-1);
	put(word(3, 8), 0, 0);                         /* behind a block */
	put((uint64_t *)(uintptr_t)arena + 511, 1, 0); /* the page before all blocks */
	put(&zeroed[0], 3, 0);
	put(word(3, 0), 2, 0);
	put(page, 4, 0);
	put(word(CANDIDATES, 0), 5, 0); /* nothing points to this block */
	put(word(BLOCKS - 1, 8), 6, 0); /* behind the last block */
	wash();
}

static void free_memory_is_searched_unless_all_blocks_are_known(void)
{
	search(arrange_free);
	for (unsigned i = 0; i < 7; i++)
		check_level(i, i == 5 ? REACH_UNREACHED : REACH_REACHED);
	check_rest(7);

	is_whole = true;
	search(arrange_free);
	is_whole = false;
	for (unsigned i = 0; i < 7; i++)
		check_level(i,
			    i == 0 || i == 4 || i == 6 ? REACH_UNREACHED : REACH_REACHED);
	for (unsigned i = 7; i < BLOCKS; i++)
		check_level(i, i < CANDIDATES ? REACH_UNREACHED : REACH_REACHED);
}

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

static void nothing_stays_stopped(void)
{
	struct child child = child_fork(NULL, NULL);
	struct reach_target target = {.pid = child.pid};
	struct reach_effort effort;
	struct reach_table table;
	uint64_t later = clock_now_ns() + UINT64_C(20000000000);
	struct error *err;

	child_await_sleep(child.pid);
	fill(&table);
	REQUIRE(!reach_scan_first(&target, &(struct reach_words){0}, &table, later,
				  &effort));
	REQUIRE(!reach_scan_stop(&target, later));
	CHECK_INT(process_state(child.pid), 't');
	/* Too late: no verdict. */
	REQUIRE(!reach_scan_verify(&target, &(struct reach_words){0}, &table, 1,
				   &effort));
	CHECK(effort.is_late);
	child_await_sleep(child.pid);

	/* A process that has exited. */
	child_kill(&child);
	err = reach_scan_stop(&target, later);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);
	child_end(&child);
}

/* A process that its user has stopped stays so. */
static void stopped_processes_stay_stopped(void)
{
	struct child child = child_fork(NULL, NULL);
	struct reach_target target = {.pid = child.pid};
	struct reach_effort effort;
	struct reach_table table;
	uint64_t later = clock_now_ns() + UINT64_C(20000000000);
	int status;

	kill(child.pid, SIGSTOP);
	REQUIRE(waitpid(child.pid, &status, WUNTRACED) == child.pid &&
		WIFSTOPPED(status));
	fill(&table);
	REQUIRE(!reach_scan_first(&target, &(struct reach_words){0}, &table, later,
				  &effort));
	REQUIRE(!reach_scan_stop(&target, later));
	REQUIRE(!reach_scan_verify(&target, &(struct reach_words){0}, &table, later,
				   &effort));
	usleep(100000);
	CHECK_INT(process_state(child.pid), 'T');
	child_end(&child);
}

#define RELAY_BYTES ((size_t)256 << 20)
#define RELAY_US    20000

static void *pass_on(void *unused)
{
	pthread_t next;

	usleep(RELAY_US);
	REQUIRE(!pthread_create(&next, NULL, pass_on, NULL));
	pthread_detach(next);
	return unused;
}

/* A process whose main thread has exited, and whose only thread is soon another one. */
static pid_t fork_relay(void)
{
	pthread_t first;
	int ready[2];
	char byte;
	pid_t pid;

	REQUIRE(!pipe(ready));
	pid = fork();
	REQUIRE(pid >= 0);
	if (!pid) {
		char *large = mmap(NULL, RELAY_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		REQUIRE(large != MAP_FAILED);
		memset(large, 1, RELAY_BYTES);
		REQUIRE(!pthread_create(&first, NULL, pass_on, NULL));
		REQUIRE(write(ready[1], "", 1) == 1);
		pthread_exit(NULL);
	}
	close(ready[1]);
	REQUIRE(read(ready[0], &byte, 1) == 1);
	close(ready[0]);
	usleep(RELAY_US / 4);
	return pid;
}

/* The process is read on when the thread exits through which it is read. */
static void threads_that_exit(void)
{
	const struct reach_words words = {.unaligned = false};
	struct reach_effort effort = {0};
	struct reach_table table;
	struct reach_target target;
	struct error *err;

	arena = mmap(NULL, ARENA_BYTES, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	REQUIRE(arena != MAP_FAILED);
	target = (struct reach_target){.pid = fork_relay()};
	fill(&table);
	err = reach_scan_first(&target, &words, &table,
			       clock_now_ns() + UINT64_C(60000000000), &effort);
	if (err)
		fprintf(stderr, "%s\n", err->message);
	CHECK(!err);
	error_destroy(err);
	CHECK(effort.read_bytes >= RELAY_BYTES);
	kill(target.pid, SIGKILL);
	waitpid(target.pid, NULL, 0);
	munmap(arena, ARENA_BYTES);
}

int main(void)
{
	RUN(pointers_in_data_and_blocks);
	RUN(lost_groups_have_one_head);
	RUN(pointers_that_the_kernel_holds);
	RUN(the_kernel_holds_after_the_main_thread);
	RUN(rings_are_noticed);
	RUN(registers_and_thread_local_data);
	RUN(stacks_below_the_stack_pointer);
	RUN(mangled_and_tagged_pointers);
	RUN(unaligned_pointers_if_wanted);
	RUN(mappings_of_all_kinds);
	RUN(shared_memory_that_became_read_only);
	RUN(holes_of_shared_memory_are_not_read);
	RUN(holes_of_hugetlbfs_are_not_read);
	RUN(devices_are_given_up);
	RUN(leases_are_not_waited_for);
	RUN(free_memory_is_searched_unless_all_blocks_are_known);
	RUN(nothing_stays_stopped);
	RUN(stopped_processes_stay_stopped);
	RUN(threads_that_exit);
	return check_done();
}
