// SPDX-License-Identifier: Apache-2.0
#include "compile/compiler_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <bcc/bcc_common.h>
#include <bcc/bcc_proc.h>

#include "bpf/code.h"
#include "bpf/syscall.h"
#include "util/cleanup.h"
#include "util/locked_memory.h"
#include "util/memory_limit.h"
#include "util/priority.h"
#include "util/stack_limit.h"
#include "util/vec.h"
#include "util/whole_io.h"

#include <linux/bpf.h>

/* The version suffix is the library's ABI: 0 in every release so far. */
#define LIBBCC_SONAME "libbcc.so.0"

/* The libbcc functions used here, with libbcc's own prototypes. */
struct libbcc {
	__typeof__(bpf_module_create_c_from_string) *module_create;
	__typeof__(bpf_num_tables) *num_tables;
	__typeof__(bpf_table_name) *table_name;
	__typeof__(bpf_table_fd_id) *table_fd_id;
	__typeof__(bpf_function_start) *function_start;
	__typeof__(bpf_function_size) *function_size;
	__typeof__(bpf_num_functions) *num_functions;
	__typeof__(bpf_function_name) *function_name;
};

/* Overrides libbcc's function of the same name. libbcc reads all of /proc/kallsyms
 * (0.1 s) only to find out whether these helpers exist. They do on every kernel with BPF
 * cookies or ring buffers (helpers: since 5.5). */
int bcc_procutils_each_ksym(bcc_procutils_ksymcb callback, void *payload)
{
	static const char *const helpers[] = {
		"bpf_probe_read_user",
		"bpf_probe_read_user_str",
		"bpf_probe_read_kernel",
		"bpf_probe_read_kernel_str",
	};

	for (size_t i = 0; i < sizeof(helpers) / sizeof(*helpers); i++)
		callback(helpers[i], "", 1, payload);
	return 0;
}

_Noreturn static void fail(int socket, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

_Noreturn static void fail(int socket, const char *format, ...)
{
	struct message m = {.kind = MESSAGE_FAILED};
	va_list ap;

	va_start(ap, format);
	vsnprintf(m.text, sizeof(m.text), format, ap);
	va_end(ap);
	fflush(NULL);
	message_send(socket, &m, NULL, 0);
	_exit(1);
}

static void libbcc_open(int socket, struct libbcc *ret)
{
	/* RTLD_GLOBAL, so that the executable's bcc_procutils_each_ksym comes first. */
	void *handle = dlopen(LIBBCC_SONAME, RTLD_NOW | RTLD_GLOBAL);

	if (!handle) {
		const char *why = dlerror();
		bool is_missing = strstr(why, "No such file");

		fail(socket, "cannot load the BPF compiler: %s%s", why,
		     is_missing ? ": install libbpfcc (Debian, Ubuntu) or bcc (Fedora, "
				  "Arch)"
				: memory_limit_hint());
	}
	/* POSIX permits converting the result of dlsym() to a function pointer. */
	*(void **)&ret->module_create = dlsym(handle, "bpf_module_create_c_from_string");
	*(void **)&ret->num_tables = dlsym(handle, "bpf_num_tables");
	*(void **)&ret->table_name = dlsym(handle, "bpf_table_name");
	*(void **)&ret->table_fd_id = dlsym(handle, "bpf_table_fd_id");
	*(void **)&ret->function_start = dlsym(handle, "bpf_function_start");
	*(void **)&ret->function_size = dlsym(handle, "bpf_function_size");
	*(void **)&ret->num_functions = dlsym(handle, "bpf_num_functions");
	*(void **)&ret->function_name = dlsym(handle, "bpf_function_name");
	if (!ret->module_create || !ret->num_tables || !ret->table_name ||
	    !ret->table_fd_id || !ret->function_start || !ret->function_size ||
	    !ret->num_functions || !ret->function_name)
		fail(socket,
		     LIBBCC_SONAME " lacks a function that it has had since 0.18");
}

/* --- what came out ---------------------------------------------------------------- */

struct outcome {
	const struct libbcc *bcc;
	void *module;
	struct code code;
	int maps[MESSAGE_MAX_FDS]; /* descriptors, by index in code.maps */
};

/* dl_iterate_phdr() callback: record the library if it is part of the compiler. */
static int add_library(struct dl_phdr_info *info, size_t size, void *arg)
{
	static const char *const names[] = {"/libbcc", "/libclang", "/libLLVM"};
	struct code *code = arg;
	struct code_library library = {.path = ""};
	bool is_one = false;

	(void)size;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		is_one |= strstr(info->dlpi_name, names[i]) != NULL;
	if (!is_one)
		return 0;
	/* A path that is too long stays empty, so that code_is_current() fails. */
	if (strlen(info->dlpi_name) < sizeof(library.path))
		strcpy(library.path, info->dlpi_name);
	(void)code_library_look_at(&library);
	return !vec_push(&code->libraries, library);
}

static bool add_maps(struct outcome *r)
{
	size_t count = r->bcc->num_tables(r->module);

	/* One descriptor is for the code. */
	if (count >= MESSAGE_MAX_FDS)
		return false;
	for (size_t i = 0; i < count; i++) {
		const char *name = r->bcc->table_name(r->module, i);
		int fd = r->bcc->table_fd_id(r->module, i);
		struct bpf_map_info info = {0};
		struct code_map map = {.name = ""};

		if (strlen(name) >= sizeof(map.name) ||
		    sys_bpf_info(fd, &info, sizeof(info)) < 0)
			return false;
		strcpy(map.name, name);
		map.type = info.type;
		map.key_bytes = info.key_size;
		map.value_bytes = info.value_size;
		map.entries = info.max_entries;
		map.flags = info.map_flags;
		r->maps[i] = fd;
		if (!vec_push(&r->code.maps, map))
			return false;
	}
	return true;
}

static bool map_index(const struct outcome *r, int fd, int32_t *ret)
{
	for (size_t i = 0; i < r->code.maps.len; i++) {
		if (r->maps[i] == fd) {
			*ret = (int32_t)i;
			return true;
		}
	}
	return false;
}

/* Copy a program. Instructions that load the address of a map contain its descriptor, in
 * the first of their two slots (Documentation/bpf/standardization/instruction-set.rst of
 * the kernel, 64-bit immediate instructions). It is replaced by the map's index. */
static bool add_program(struct outcome *r, const char *name)
{
	struct bpf_insn *insns = r->bcc->function_start(r->module, name);
	size_t count = r->bcc->function_size(r->module, name) / sizeof(*insns);
	struct code_program program = {
		.name = "",
		.first = (uint32_t)r->code.insns.len,
		.count = (uint32_t)count,
	};

	if (!insns || strlen(name) >= sizeof(program.name))
		return false;
	strcpy(program.name, name);
	for (size_t i = 0; i < count; i++) {
		struct bpf_insn insn = insns[i];
		bool is_wide = insn.code == (BPF_LD | BPF_DW | BPF_IMM);

		if (is_wide && insn.src_reg == BPF_PSEUDO_MAP_FD &&
		    !map_index(r, insn.imm, &insn.imm))
			return false;
		if (!vec_push(&r->code.insns, insn))
			return false;
		if (is_wide && ++i < count && !vec_push(&r->code.insns, insns[i]))
			return false;
	}
	return vec_push(&r->code.programs, program);
}

static bool collect(struct outcome *r)
{
	size_t count = r->bcc->num_functions(r->module);

	if (dl_iterate_phdr(add_library, &r->code) || !add_maps(r))
		return false;
	for (size_t i = 0; i < count; i++)
		if (!add_program(r, r->bcc->function_name(r->module, i)))
			return false;
	return true;
}

/* Write the code to a memory file. Returns its descriptor, or -1 with errno set. */
static int pack(const struct code *code)
{
	size_t size;
	_cleanup_(freep) void *bytes = code_pack(code, &size);
	int fd = bytes ? memfd_create("memtrace-code", MFD_CLOEXEC) : -1;

	return fd >= 0 && whole_write(fd, bytes, size) ? fd : -1;
}

/* --- the request ---------------------------------------------------------------- */

struct request {
	const char *headers; /* path */
	const char *text;
	VEC(const char *) flags;
};

/* Split the file of a request into its strings. They are never freed: the process ends
 * after it has answered. Returns false if the file has no source or cannot be read. */
static bool read_strings(int fd, struct request *ret)
{
	struct stat st;
	const char *at, *end;
	size_t size;

	if (fstat(fd, &st) || st.st_size <= 0)
		return false;
	size = (size_t)st.st_size;
	at = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (at == MAP_FAILED || at[size - 1] != 0)
		return false;
	end = at + size;
	for (; at < end; at += strlen(at) + 1) {
		if (!ret->headers)
			ret->headers = at;
		else if (!ret->text)
			ret->text = at;
		else if (!vec_push(&ret->flags, at))
			return false;
	}
	return ret->text;
}

/* Wait for the request. Returns false if memtrace needs no compilation. */
static bool receive(int socket, struct request *ret)
{
	static char mount[64];
	struct message m;
	int fds[MESSAGE_MAX_FDS];
	size_t count;
	int err = message_receive(socket, &m, fds, &count);

	if (err == EPIPE)
		return false;
	if (err)
		fail(socket, "cannot receive the source: %s", strerror(err));
	if (m.kind != MESSAGE_COMPILE || !count || !read_strings(fds[0], ret))
		fail(socket, "the source cannot be read");
	if (count > 1) {
		snprintf(mount, sizeof(mount), "/proc/self/fd/%d", fds[1]);
		ret->headers = mount;
	}
	return true;
}

/* The parent decides when this process ends, also if a signal goes to the whole process
 * group. */
static void ignore_signals(void)
{
	signal(SIGINT, SIG_IGN);
	signal(SIGTERM, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
}

/* The kernel kills this process when its parent ends. */
static void live_with(pid_t parent)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* the parent died before prctl() */
}

/* What each compiler does first: a forked one has nice value 0. */
static void begin(pid_t parent)
{
	struct priority until_the_end;

	live_with(parent);
	priority_raise(&until_the_end);
}

static void print_to(int log_fd)
{
	dup2(log_fd, STDOUT_FILENO);
	dup2(log_fd, STDERR_FILENO);
}

_Noreturn static void serve(int socket, const struct libbcc *bcc)
{
	struct outcome outcome = {.bcc = bcc};
	struct message m = {.kind = MESSAGE_COMPILED};
	struct request request = {.text = NULL};

	if (!receive(socket, &request))
		_exit(0);
	setenv("BCC_KERNEL_SOURCE", request.headers, 1);
	outcome.module = bcc->module_create(request.text, 0, request.flags.data,
					    (int)request.flags.len, false, NULL);
	if (!outcome.module)
		fail(socket, "the BPF program does not compile");
	if (!collect(&outcome))
		fail(socket, "the BPF compiler made code that memtrace cannot read");
	outcome.maps[outcome.code.maps.len] = pack(&outcome.code);
	if (outcome.maps[outcome.code.maps.len] < 0)
		fail(socket, "cannot pass on the compiled programs: %s", strerror(errno));
	fflush(NULL);
	message_send(socket, &m, outcome.maps, outcome.code.maps.len + 1);
	/* Skip destructors: LLVM's take long, and the process ends anyway. */
	_exit(0);
}

/*
 * Fork another child of our parent, which has libbcc loaded, too. Returns true in the
 * child. glibc's fork() has no CLONE_PARENT. Without it glibc's copy of the thread id
 * stays that of this process, which matters only to locks that several processes share
 * and to pthread_kill(). If there is no child, the parent sees that its socket is closed.
 */
static bool fork_sibling(pid_t parent)
{
	if (syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0) != 0)
		return false;
	begin(parent);
	return true;
}

_Noreturn void compiler_child_run(pid_t parent, const struct compiler_end ends[],
				  size_t count)
{
	int socket = ends[0].socket;
	struct libbcc bcc;

	begin(parent);
	prctl(PR_SET_NAME, "memtrace-compile");
	ignore_signals();
	locked_memory_lift(NULL);
	stack_limit_raise();
	print_to(ends[0].log_fd);
	/* In the current directory a ./linux/types.h would take precedence over all
	 * others. Only root can write to the root directory, and libbcc needs a directory
	 * with a path. */
	if (chdir("/"))
		fail(socket, "cannot enter the root directory");
	libbcc_open(socket, &bcc);
	for (size_t i = 1; i < count; i++) {
		if (fork_sibling(parent)) {
			struct message m = {.kind = MESSAGE_STARTED, .pid = getpid()};

			close(socket);
			socket = ends[i].socket;
			print_to(ends[i].log_fd);
			message_send(socket, &m, NULL, 0);
			while (++i < count)
				close(ends[i].socket);
			break;
		}
		close(ends[i].socket);
	}
	serve(socket, &bcc);
}
