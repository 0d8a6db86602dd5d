// SPDX-License-Identifier: Apache-2.0
/* The images of a real process: found, refreshed while libraries come and go, and the
 * process gone. */
#include "check.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/wait.h>
#include <unistd.h>

#include "unwind/images.h"

struct child {
	pid_t pid;
	int to, from;
	struct proc *proc;
	struct images *images;
};

/* --- the process ------------------------------------------------------------------ */

/* Where the linker puts the code of a small library. */
#define TEXT_OFFSET 0x1000

/* A file without a name: a page of zeros or the library. -1 when that fails. */
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

/* What the child does for each command, and the address that it answers with. */
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
	case 'a': /* code that belongs to no file */
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		return (uint64_t)(uintptr_t)code;
	case 'd': /* code of a deleted file that is no ELF file */
	case 'e': /* code of a deleted copy of the library */
		fd = deleted_file(command == 'e');
		code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
			    command == 'e' ? (off_t)TEXT_OFFSET : 0);
		close(fd);
		return code == MAP_FAILED ? 0 : (uint64_t)(uintptr_t)code;
	case 'u':
		return munmap(code, 4096) == 0;
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
	REQUIRE(!images_create(c.proc, &c.images));
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

static void stop(struct child *c)
{
	images_destroy(c->images);
	proc_close(c->proc);
	kill(c->pid, SIGKILL);
	waitpid(c->pid, NULL, 0);
	close(c->to);
	close(c->from);
}

static uint64_t refresh(struct child *c)
{
	REQUIRE(!images_refresh(c->images));
	return images_generation(c->images);
}

/* --- tests ------------------------------------------------------------------------ */

/* The FDE at an address of the child, in its addresses. */
static bool fde_at(struct child *c, uint64_t pc, struct cfi_fde *ret)
{
	struct walk_code code;

	if (!images_find(c->images, pc, &code) || !code.cfi ||
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
		/* The child has the same mappings as we: it was forked. */
		(uint64_t)(uintptr_t)functions,
		(uint64_t)(uintptr_t)&qsort,
		(uint64_t)(uintptr_t)dlsym(RTLD_DEFAULT, "snprintf"),
	};

	CHECK_INT(images_unread(c.images), 0);
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++) {
		REQUIRE(fde_at(&c, addresses[i], &fde));
		CHECK_INT(fde.start, addresses[i]);
	}
	/* No code: nothing, the stack, the end of the address space. */
	CHECK(!images_find(c.images, 0, &code));
	CHECK(!images_find(c.images, (uint64_t)(uintptr_t)&c, &code));
	CHECK(!images_find(c.images, UINT64_MAX, &code));
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
	REQUIRE(images_find(c.images, base, &code));
	REQUIRE(code.cfi);
	CHECK_INT(code.bias, base); /* it is linked at 0 */
	for (uint64_t pc = base; pc < base + 4096; pc++)
		found += fde_at(&c, pc, &fde);
	CHECK(found > 500);
	stop(&c);
}

static void libraries(void)
{
	struct child c = start();
	uint64_t before = images_generation(c.images), leaf;
	struct walk_code kept, code;
	struct cfi_fde fde;

	REQUIRE(images_find(c.images, (uint64_t)(uintptr_t)libraries, &kept));
	CHECK_INT(refresh(&c), before);

	leaf = command(&c, 'o');
	CHECK(!images_find(c.images, leaf, &code));
	CHECK(refresh(&c) > before);
	before = images_generation(c.images);
	REQUIRE(fde_at(&c, leaf, &fde));
	CHECK_INT(fde.start, leaf);
	/* What was there is the same as before. */
	REQUIRE(images_find(c.images, (uint64_t)(uintptr_t)libraries, &code));
	CHECK(code.cfi == kept.cfi && code.bias == kept.bias);
	CHECK_INT(refresh(&c), before);

	command(&c, 'c');
	CHECK(refresh(&c) > before);
	before = images_generation(c.images);
	CHECK(!images_find(c.images, leaf, &code));
	CHECK_INT(images_unread(c.images), 0);
	stop(&c);
}

static void odd_code(void)
{
	struct child c = start();
	uint64_t before = images_generation(c.images), address;
	struct walk_code code;

	address = command(&c, 'a');
	CHECK(refresh(&c) > before);
	before = images_generation(c.images);
	REQUIRE(images_find(c.images, address + 4095, &code));
	CHECK(!code.cfi);
	CHECK_INT(images_unread(c.images), 0);
	command(&c, 'u');
	CHECK(refresh(&c) > before);
	before = images_generation(c.images);

	address = command(&c, 'd');
	CHECK(refresh(&c) > before);
	before = images_generation(c.images);
	REQUIRE(images_find(c.images, address, &code));
	CHECK(!code.cfi);
	CHECK_INT(images_unread(c.images), 1);
	CHECK_INT(refresh(&c), before);
	/* Another file at the same place, which may have the same inode number. */
	command(&c, 'u');
	CHECK_INT(command(&c, 'e'), address);
	CHECK(refresh(&c) > before);
	before = images_generation(c.images);
	REQUIRE(images_find(c.images, address, &code));
	CHECK(code.cfi);
	CHECK_INT(images_unread(c.images), 0);
	/* Images that can be read are held open: their numbers stay theirs. */
	command(&c, 'u');
	CHECK_INT(command(&c, 'e'), address);
	CHECK(refresh(&c) > before);
	stop(&c);
}

static void gone(void)
{
	struct child c = start();
	uint64_t before = images_generation(c.images);
	struct walk_code code;
	struct error *err;

	kill(c.pid, SIGKILL);
	waitpid(c.pid, NULL, 0);
	err = images_refresh(c.images);
	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	error_destroy(err);
	/* What was known stays. */
	CHECK_INT(images_generation(c.images), before);
	CHECK(images_find(c.images, (uint64_t)(uintptr_t)gone, &code) && code.cfi);
	stop(&c);
}

int main(void)
{
	RUN(functions);
	RUN(vdso);
	RUN(libraries);
	RUN(odd_code);
	RUN(gone);
	images_destroy(NULL);
	return check_done();
}
