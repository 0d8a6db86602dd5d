// SPDX-License-Identifier: Apache-2.0
/* Symbols from bcc_symcache: for this process, and for processes that exit, execute a
 * program or load libraries. */
#include "check.h"

#include <dlfcn.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "symbol/cache.h"

/* Not static and not inlined: there must be a symbol with this size. */
__attribute__((noinline)) int symbol_test_function(int n);

__attribute__((noinline)) int symbol_test_function(int n)
{
	return n * 3 + getpid() % 2;
}

static uint64_t address_of(int (*function)(int))
{
	return (uint64_t)(uintptr_t)function;
}

static struct symbolizer *create_with(int pid, int pidfd)
{
	struct symbolizer *symbolizer = NULL;
	struct maps_text maps;
	struct error *err = symbolizer_bcc_create(pid, pidfd, &symbolizer, &maps);

	if (err)
		fprintf(stderr, "%s\n", err->message);
	REQUIRE(!err);
	/* What it has read can be used again. */
	CHECK(maps.text && strlen(maps.text) == maps.size_bytes && maps.size_bytes);
	free(maps.text);
	return symbolizer;
}

static struct symbolizer *create(int pid)
{
	return create_with(pid, -1);
}

static void check_function(struct symbolizer *symbolizer, uint64_t extra)
{
	uint64_t address = address_of(symbol_test_function) + extra;
	struct symbol symbol;

	REQUIRE(!symbolizer->ops->resolve(symbolizer, address, &symbol));
	CHECK_STR(symbol.name, "symbol_test_function");
	CHECK_INT(symbol.offset, extra);
	CHECK_CONTAINS(symbol.module, "test_");
	symbol_deinit(&symbol);
}

static void names_ourselves(void)
{
	struct symbolizer *symbolizer = create(getpid());

	check_function(symbolizer, 0);
	check_function(symbolizer, 5);
	symbolizer_destroy(symbolizer);
}

static void misses_quietly(void)
{
	struct symbolizer *symbolizer = create(getpid());
	int local;
	const uint64_t addresses[] = {0, 1, 0xfff, UINT64_MAX, (uintptr_t)&local};

	for (size_t i = 0; i < sizeof(addresses) / sizeof(*addresses); i++) {
		struct symbol symbol;

		REQUIRE(!symbolizer->ops->resolve(symbolizer, addresses[i], &symbol));
		CHECK(!symbol.name);
		CHECK(!symbol.module);
		symbol_deinit(&symbol);
	}
	symbolizer_destroy(symbolizer);
}

/* For code in a file that libbcc cannot read, the offset is the file offset. */
static void code_of_an_unreadable_file(void)
{
	static const char content[3 * 4096] = "no ELF file";
	char path[] = "/tmp/symbol_test_XXXXXX";
	int fd = mkstemp(path);
	struct symbolizer *symbolizer;
	struct symbol symbol;
	char *code;

	REQUIRE(fd >= 0);
	REQUIRE(write(fd, content, sizeof(content)) == sizeof(content));
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 8192);
	REQUIRE(code != MAP_FAILED);
	symbolizer = create(getpid());
	REQUIRE(!symbolizer->ops->resolve(symbolizer, (uintptr_t)code + 16, &symbol));
	CHECK(!symbol.name);
	CHECK_STR(symbol.module, path);
	CHECK_INT(symbol.offset, 8192 + 16);
	symbol_deinit(&symbol);
	symbolizer_destroy(symbolizer);
	munmap(code, 4096);
	unlink(path);
	close(fd);
}

static void refuses_nobody(void)
{
	struct symbolizer *symbolizer = NULL;
	struct maps_text maps;
	/* Higher than the largest pid_max (2^22). */
	struct error *err = symbolizer_bcc_create(0x7fffffff, -1, &symbolizer, &maps);

	REQUIRE(err);
	CHECK_INT(err->code, ERROR_GONE);
	CHECK(!symbolizer);
	free(maps.text);
	error_destroy(err);
}

/* The child has our code at our addresses. It waits until it is killed. */
static pid_t fork_child(void)
{
	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
	REQUIRE(pid > 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	REQUIRE(waitpid(pid, NULL, 0) == pid);
}

/* No symbol was requested before the exit, and they are still available. */
static void answers_after_exit(void)
{
	pid_t pid = fork_child();
	int pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
	struct symbolizer *symbolizer = create_with(pid, pidfd);
	struct symbol symbol;

	REQUIRE(pidfd >= 0);
	end_child(pid);
	check_function(symbolizer, 4);
	REQUIRE(!symbolizer->ops->resolve(
		symbolizer, (uintptr_t)dlsym(RTLD_DEFAULT, "qsort"), &symbol));
	CHECK_CONTAINS(symbol.name, "qsort");
	symbol_deinit(&symbol);
	CHECK(!symbolizer->ops->mappings_changed(symbolizer));
	check_function(symbolizer, 4);
	symbolizer_destroy(symbolizer);
	close(pidfd);
}

static bool resolves(struct symbolizer *symbolizer, void *address, const char *name)
{
	struct symbol symbol;

	REQUIRE(!symbolizer->ops->resolve(symbolizer, (uintptr_t)address, &symbol));

	bool is = symbol.name && strstr(symbol.name, name);

	symbol_deinit(&symbol);
	return is;
}

/* Symbols of new code are found, and unloaded code keeps its symbols, even after more
 * loads than there are caches. */
static void follows_dlopen(void)
{
	struct symbolizer *symbolizer = create(getpid());
	void *library = NULL, *code = NULL;

	CHECK(!symbolizer->ops->mappings_changed(symbolizer));
	for (int i = 0; i < 12; i++) {
		library = dlopen(TEST_LIBRARY, RTLD_LAZY);
		REQUIRE(library);
		code = dlsym(library, "library_function");
		REQUIRE(code);
		CHECK(symbolizer->ops->mappings_changed(symbolizer));
		CHECK(!symbolizer->ops->mappings_changed(symbolizer));
		CHECK(resolves(symbolizer, code, "library_function"));
		check_function(symbolizer, 3);
		REQUIRE(!dlclose(library));
		CHECK(symbolizer->ops->mappings_changed(symbolizer));
		CHECK(resolves(symbolizer, code, "library_function"));
	}
	check_function(symbolizer, 3);
	symbolizer_destroy(symbolizer);
}

/* After an exec the old addresses have no meaning. libbcc's own refresh, which frees a
 * part of its data, must not answer for them. */
static void drops_code_at_exec(void)
{
	int ready[2];
	char byte;

	REQUIRE(!pipe(ready));

	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		/* Wait until the parent has looked at the old program. */
		close(ready[1]);
		if (read(ready[0], &byte, 1) == 0)
			execl("/bin/sleep", "sleep", "60", (char *)NULL);
		_exit(1);
	}
	REQUIRE(pid > 0);
	close(ready[0]);

	struct symbolizer *symbolizer = create(pid);

	check_function(symbolizer, 2);
	close(ready[1]);
	/* The exec is noticed when the mappings have changed. */
	bool changed = false;

	for (int i = 0; i < 200 && !changed; i++) {
		usleep(10000);
		changed = symbolizer->ops->mappings_changed(symbolizer);
	}
	CHECK(changed);
	CHECK(!resolves(symbolizer, (void *)(uintptr_t)address_of(symbol_test_function),
			"symbol_test_function"));
	end_child(pid);
	symbolizer_destroy(symbolizer);
}

/* --- deleted and replaced files --------------------------------------------------- */

__attribute__((format(printf, 1, 2))) static void run(const char *format, ...)
{
	char command[512];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	REQUIRE(system(command) == 0);
}

struct copy {
	char directory[32], path[64];
	void *library, *code;
};

/* Loads a copy of the library with the file name `name`. */
static struct copy load_copy(const char *name)
{
	struct copy copy = {.directory = "/tmp/symbol_test_XXXXXX"};
	void *(*address)(void);

	REQUIRE(mkdtemp(copy.directory));
	snprintf(copy.path, sizeof(copy.path), "%s/%s", copy.directory, name);
	run("cp " TEST_LIBRARY " '%s'", copy.path);
	copy.library = dlopen(copy.path, RTLD_NOW);
	REQUIRE(copy.library);
	address = (void *(*)(void))dlsym(copy.library, "library_hidden_address");
	REQUIRE(address);
	copy.code = address();
	return copy;
}

static void unload_copy(struct copy *copy)
{
	dlclose(copy->library);
	run("rm -r %s", copy->directory);
}

static void by_its_mapping(const char *name, bool is_deleted)
{
	struct copy copy = load_copy(name);

	if (is_deleted)
		unlink(copy.path);

	struct symbolizer *symbolizer = create(getpid());

	CHECK(resolves(symbolizer, copy.code, "library_hidden"));
	symbolizer_destroy(symbolizer);
	unload_copy(&copy);
}

static void deleted_file(void)
{
	by_its_mapping("library.so", true);
}

static void newline_in_its_path(void)
{
	by_its_mapping("a\nlibrary.so", false);
}

/* As with a package manager: the path now leads to another file. */
static void replaced_file(void)
{
	struct copy copy = load_copy("library.so");
	struct symbolizer *symbolizer = create(getpid());

	CHECK(resolves(symbolizer, copy.code, "library_hidden"));
	run("cp /bin/true %s/new && mv %s/new %s", copy.directory, copy.directory,
	    copy.path);
	CHECK(symbolizer->ops->mappings_changed(symbolizer));
	CHECK(resolves(symbolizer, copy.code, "library_hidden"));
	symbolizer_destroy(symbolizer);
	unload_copy(&copy);
}

static void deleted_file_of_one_that_exits(void)
{
	struct copy copy = load_copy("library.so");
	struct symbolizer *symbolizer;
	pid_t pid;

	unlink(copy.path);
	pid = fork_child();
	symbolizer = create(pid);
	end_child(pid);
	CHECK(resolves(symbolizer, copy.code, "library_hidden"));
	symbolizer_destroy(symbolizer);
	unload_copy(&copy);
}

/* As servers do after their start: none of the mapped files is below the root
 * directory. */
static void chroot_to_nothing(void)
{
	struct copy copy = load_copy("library.so");
	struct symbolizer *symbolizer;
	int ready[2];
	char c;

	REQUIRE(!pipe(ready));
	run("mkdir %s/empty", copy.directory);

	pid_t pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (!chdir(copy.directory) && !chroot("empty") &&
		    write(ready[1], "", 1) == 1)
			for (;;)
				pause();
		_exit(1);
	}
	REQUIRE(pid > 0);
	close(ready[1]);
	REQUIRE(read(ready[0], &c, 1) == 1);
	symbolizer = create(pid);
	CHECK(resolves(symbolizer, copy.code, "library_hidden"));
	check_function(symbolizer, 4);
	CHECK(resolves(symbolizer, dlsym(RTLD_DEFAULT, "qsort"), "qsort"));
	symbolizer_destroy(symbolizer);
	close(ready[0]);
	end_child(pid);
	unload_copy(&copy);
}

static void leaves_no_descriptors(void)
{
	struct copy copy = load_copy("library.so");
	int before = dup(0), after;

	close(before);
	unlink(copy.path);
	for (int i = 0; i < 4; i++) {
		struct symbolizer *symbolizer = create(getpid());

		check_function(symbolizer, 1);
		/* With a file that was read, and with one that was not. */
		if (i % 2)
			CHECK(resolves(symbolizer, copy.code, "library_hidden"));
		symbolizer_destroy(symbolizer);
	}
	after = dup(0);
	CHECK_INT(after, before);
	close(after);
	unload_copy(&copy);
}

int main(void)
{
	RUN(names_ourselves);
	RUN(misses_quietly);
	RUN(code_of_an_unreadable_file);
	RUN(refuses_nobody);
	RUN(answers_after_exit);
	RUN(drops_code_at_exec);
	RUN(deleted_file);
	RUN(replaced_file);
	RUN(newline_in_its_path);
	RUN(deleted_file_of_one_that_exits);
	RUN(chroot_to_nothing);
	RUN(leaves_no_descriptors);
	RUN(follows_dlopen);
	return check_done();
}
