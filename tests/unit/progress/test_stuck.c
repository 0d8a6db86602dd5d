// SPDX-License-Identifier: Apache-2.0
/* A thread looks at the main thread, which waits for a pipe, for a page and for another
 * thread. */
#include "check.h"

#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "progress/stuck.h"
#include "util/clock.h"

#define LOOKS   8
#define LOOK_US 20000

/* What the main thread waits for. */
struct wait {
	int pipe[2]; /* -1: it does not wait for a pipe */
	int faults;  /* userfaultfd(2), or -1 */
	char *page;
	uint64_t longest_ns; /* that the thread has seen */
	char text[128];
};

static void let_page_come(const struct wait *wait)
{
	struct uffdio_zeropage zero = {
		.range = {(uintptr_t)wait->page, (uint64_t)sysconf(_SC_PAGESIZE)}};

	ioctl(wait->faults, UFFDIO_ZEROPAGE, &zero);
}

static void *look(void *arg)
{
	struct wait *wait = arg;
	struct stuck stuck = {.looked_ns = 0};
	struct strbuf text = {0};

	usleep(LOOK_US);
	for (int i = 0; i < LOOKS; i++) {
		uint64_t ns = stuck_look(&stuck);

		if (ns > wait->longest_ns)
			wait->longest_ns = ns;
		usleep(LOOK_US);
	}
	stuck_describe(&stuck, &text);
	snprintf(wait->text, sizeof(wait->text), "%s", strbuf_text(&text));
	strbuf_deinit(&text);
	/* Let the main thread go on. */
	if (wait->faults >= 0)
		let_page_come(wait);
	if (wait->pipe[1] >= 0)
		(void)!write(wait->pipe[1], "x", 1);
	return NULL;
}

static void waiting_for_a_pipe_is_not(void)
{
	struct wait wait = {.faults = -1};
	pthread_t thread;
	char c;

	REQUIRE(!pipe2(wait.pipe, O_CLOEXEC));
	REQUIRE(!pthread_create(&thread, NULL, look, &wait));
	CHECK_INT(read(wait.pipe[0], &c, 1), 1);
	REQUIRE(!pthread_join(thread, NULL));
	CHECK_INT(wait.longest_ns, 0);
	close(wait.pipe[0]);
	close(wait.pipe[1]);
}

static void waiting_for_a_thread_is_not(void)
{
	struct wait wait = {.pipe = {-1, -1}, .faults = -1};
	pthread_t thread;

	REQUIRE(!pthread_create(&thread, NULL, look, &wait));
	REQUIRE(!pthread_join(thread, NULL));
	CHECK_INT(wait.longest_ns, 0);
}

/* A page that is not there: false if the kernel has no userfaultfd(2). */
static bool make_missing_page(struct wait *wait)
{
	size_t size = (size_t)sysconf(_SC_PAGESIZE);
	struct uffdio_api api = {.api = UFFD_API};
	struct uffdio_register range = {.mode = UFFDIO_REGISTER_MODE_MISSING};

	wait->faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
	wait->page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);
	REQUIRE(wait->page != MAP_FAILED);
	range.range = (struct uffdio_range){(uintptr_t)wait->page, size};
	return wait->faults >= 0 && !ioctl(wait->faults, UFFDIO_API, &api) &&
	       !ioctl(wait->faults, UFFDIO_REGISTER, &range);
}

/* As a page of a mapped file whose server does not answer. */
static void waiting_for_a_page_is(void)
{
	struct wait wait = {.pipe = {-1, -1}};
	pthread_t thread;

	if (!make_missing_page(&wait)) {
		CHECK_NOT_FOR_KERNEL("no userfaultfd(2)");
		return;
	}
	REQUIRE(!pthread_create(&thread, NULL, look, &wait));
	CHECK_INT(*(volatile char *)wait.page, 0);
	REQUIRE(!pthread_join(thread, NULL));
	CHECK(wait.longest_ns > (uint64_t)LOOK_US * 1000 * (LOOKS / 2));
	CHECK_STR(wait.text, "a file of the target");
	close(wait.faults);
}

static void *look_at_both(void *arg)
{
	struct wait *waits = arg;
	struct stuck stuck = {.looked_ns = 0};
	uint64_t since_ns = clock_now_ns();

	usleep(LOOK_US);
	for (int i = 0; i < LOOKS; i++) {
		uint64_t ns = stuck_look(&stuck);

		CHECK(ns <= clock_now_ns() - since_ns);
		if (i == LOOKS / 2) {
			CHECK(ns > 0);
			let_page_come(&waits[0]);
			while (stuck_is_in_call(&stuck))
				usleep(1000);
			since_ns = clock_now_ns();
		}
		usleep(LOOK_US);
	}
	let_page_come(&waits[1]);
	return NULL;
}

/* Two waits, one after the other, are not one. */
static void each_wait_begins_anew(void)
{
	struct wait waits[2] = {{.pipe = {-1, -1}}, {.pipe = {-1, -1}}};
	pthread_t thread;

	if (!make_missing_page(&waits[0]) || !make_missing_page(&waits[1])) {
		CHECK_NOT_FOR_KERNEL("no userfaultfd(2)");
		return;
	}
	REQUIRE(!pthread_create(&thread, NULL, look_at_both, waits));
	CHECK_INT(*(volatile char *)waits[0].page, 0);
	CHECK_INT(*(volatile char *)waits[1].page, 0);
	REQUIRE(!pthread_join(thread, NULL));
	close(waits[0].faults);
	close(waits[1].faults);
}

/* Looks at the thread that waits for a page, while the main thread does something else.
 */
static void *touch(void *arg)
{
	const struct wait *wait = arg;

	CHECK_INT(*(volatile char *)wait->page, 0);
	return NULL;
}

static void another_thread_is_seen(void)
{
	struct wait wait = {.pipe = {-1, -1}};
	struct stuck stuck = {.looked_ns = 0};
	uint64_t ns = 0;
	pthread_t thread;

	CHECK_INT(stuck_look_at_others(&stuck), 0);
	if (!make_missing_page(&wait)) {
		CHECK_NOT_FOR_KERNEL("no userfaultfd(2)");
		return;
	}
	REQUIRE(!pthread_create(&thread, NULL, touch, &wait));
	for (int i = 0; i < LOOKS; i++) {
		usleep(LOOK_US);
		ns = stuck_look_at_others(&stuck);
	}
	CHECK(ns > (uint64_t)LOOK_US * 1000 * (LOOKS / 2));
	let_page_come(&wait);
	REQUIRE(!pthread_join(thread, NULL));
	CHECK_INT(stuck_look_at_others(&stuck), 0);
	close(wait.faults);
}

int main(void)
{
	RUN(waiting_for_a_pipe_is_not);
	RUN(waiting_for_a_thread_is_not);
	RUN(waiting_for_a_page_is);
	RUN(each_wait_begins_anew);
	RUN(another_thread_is_seen);
	return check_done();
}
