// SPDX-License-Identifier: Apache-2.0
#include "bpf/compiler_child.h"

#include <dlfcn.h>
#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <bcc/bcc_common.h>
#include <bcc/bcc_proc.h>
#include <bcc/bcc_version.h>

#include "util/cleanup.h"
#include "util/locked_memory.h"
#include "util/memory_limit.h"
#include "util/stack_limit.h"
#include "util/vec.h"

#include <linux/bpf.h>

/* The version suffix is the library's ABI: 0 in every release so far. */
#define LIBBCC_SONAME "libbcc.so.0"

/* What is used of libbcc, by its own prototypes. */
struct libbcc {
	__typeof__(bpf_module_create_c_from_string) *module_create;
	__typeof__(bpf_num_tables) *num_tables;
	__typeof__(bpf_table_name) *table_name;
	__typeof__(bpf_table_fd_id) *table_fd_id;
	__typeof__(bpf_function_start) *function_start;
	__typeof__(bpf_function_size) *function_size;
	__typeof__(bcc_func_load) *func_load;
};

/*
 * libbcc reads all of /proc/kallsyms (0.1 s) only to learn whether these helpers exist.
 * The executable's definition takes the place of libbcc's own: they do, on every kernel
 * that has BPF cookies or ring buffers (since 5.5).
 */
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
	/* Global, so that the executable's bcc_procutils_each_ksym comes first. */
	void *handle = dlopen(LIBBCC_SONAME, RTLD_NOW | RTLD_GLOBAL);

	if (!handle) {
		const char *why = dlerror();
		bool is_missing = strstr(why, "No such file");

		fail(socket, "cannot load the BPF compiler: %s%s", why,
		     is_missing ? ": install libbpfcc (Debian, Ubuntu) or bcc (Fedora, "
				  "Arch)"
				: memory_limit_hint());
	}
	/* POSIX lets dlsym's result become a function pointer. */
	*(void **)&ret->module_create = dlsym(handle, "bpf_module_create_c_from_string");
	*(void **)&ret->num_tables = dlsym(handle, "bpf_num_tables");
	*(void **)&ret->table_name = dlsym(handle, "bpf_table_name");
	*(void **)&ret->table_fd_id = dlsym(handle, "bpf_table_fd_id");
	*(void **)&ret->function_start = dlsym(handle, "bpf_function_start");
	*(void **)&ret->function_size = dlsym(handle, "bpf_function_size");
	*(void **)&ret->func_load = dlsym(handle, "bcc_func_load");
	if (!ret->module_create || !ret->num_tables || !ret->table_name ||
	    !ret->table_fd_id || !ret->function_start || !ret->function_size ||
	    !ret->func_load)
		fail(socket,
		     LIBBCC_SONAME " lacks a function that it has had since 0.18");
}

/* What is compiled. */
struct module {
	struct libbcc bcc;
	void *module;
	/* With which programs are loaded, once there was a MESSAGE_MAPS. */
	struct message maps;
	int map_fds[MESSAGE_MAX_FDS];
};

static int map_named(const struct module *m, const char *name)
{
	for (uint32_t i = 0; i < m->maps.count; i++)
		if (!strcmp(m->maps.name[i], name))
			return m->map_fds[i];
	return -1;
}

/* The map that stands for the module's own of this descriptor, or -1. */
static int map_elsewhere(const struct module *m, int own)
{
	size_t count = m->bcc.num_tables(m->module);

	for (size_t i = 0; i < count; i++)
		if (m->bcc.table_fd_id(m->module, i) == own)
			return map_named(m, m->bcc.table_name(m->module, i));
	return -1;
}

/* Instructions that load the address of a map name it by its descriptor, in the first of
 * two slots (Documentation/bpf/standardization/instruction-set.rst of the kernel, 64-bit
 * immediate instructions). */
static bool change_maps(const struct module *m, struct bpf_insn *insns, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (insns[i].code != (BPF_LD | BPF_DW | BPF_IMM))
			continue;
		if (insns[i].src_reg == BPF_PSEUDO_MAP_FD) {
			insns[i].imm = map_elsewhere(m, insns[i].imm);
			if (insns[i].imm < 0)
				return false;
		}
		i++;
	}
	return true;
}

static int program_load(const struct module *m, const char *name,
			struct program_kind kind)
{
	const struct libbcc *bcc = &m->bcc;
	void *start = bcc->function_start(m->module, name);
	size_t size = bcc->function_size(m->module, name);
	_cleanup_(freep) struct bpf_insn *insns = malloc(size + 1);

	if (!start || !insns) {
		fprintf(stderr, "there is no program %s\n", name);
		return -1;
	}
	memcpy(insns, start, size);
	if (m->maps.kind == MESSAGE_MAPS &&
	    !change_maps(m, insns, size / sizeof(*insns))) {
		fprintf(stderr, "the program %s has a map of its own\n", name);
		return -1;
	}

#ifdef LIBBCC_MAJOR_VERSION
	/* The last argument came with 0.25, as did the macro. */
	return bcc->func_load(m->module, (int)kind.type, name, insns, (int)size, "GPL", 0,
			      0, NULL, 0, NULL,
			      kind.attach_type ? (int)kind.attach_type : -1);
#else
	return bcc->func_load(m->module, (int)kind.type, name, insns, (int)size, "GPL", 0,
			      0, NULL, 0, NULL);
#endif
}

static void answer_load(int socket, const struct module *m, const struct message *request)
{
	struct message reply = {.kind = MESSAGE_LOADED};
	int fds[MESSAGE_MAX_FDS];

	for (uint32_t i = 0; i < request->count && i < MESSAGE_MAX_FDS; i++) {
		int fd = program_load(m, request->name[i], request->program_kind);

		if (fd < 0) {
			reply.kind = MESSAGE_FAILED;
			snprintf(reply.text, sizeof(reply.text),
				 "the kernel refused the program %s: %s",
				 request->name[i], strerror(-fd));
			break;
		}
		fds[reply.count++] = fd;
	}
	fflush(NULL);
	message_send(socket, &reply, fds, reply.kind == MESSAGE_LOADED ? reply.count : 0);
	for (uint32_t i = 0; i < reply.count; i++)
		close(fds[i]);
}

/* Do what is asked for until nobody can ask any more. */
static void serve(int socket, struct module *module)
{
	struct message m;
	int fds[MESSAGE_MAX_FDS];
	size_t fd_count;
	int err;

	while ((err = message_receive(socket, &m, fds, &fd_count)) == 0) {
		if (m.kind == MESSAGE_MAPS) {
			module->maps = m;
			memcpy(module->map_fds, fds, fd_count * sizeof(*fds));
		} else {
			answer_load(socket, module, &m);
		}
	}
	if (err == EMFILE)
		fail(socket, "the BPF compiler: %s", strerror(err));
}

_Noreturn void compiler_child_run(pid_t parent, int socket, int log_fd,
				  const struct source *source,
				  const struct headers *headers)
{
	struct module module = {0};
	const struct libbcc *bcc = &module.bcc;
	struct message m = {.kind = MESSAGE_COMPILED};
	VEC(const char *) flags = {0};
	int fds[MESSAGE_MAX_FDS];

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1); /* it died before that */
	prctl(PR_SET_NAME, "memtrace-compile");
	locked_memory_lift(NULL);
	stack_limit_raise();
	/* Ctrl-C goes to the whole group; when to end is the parent's to say. */
	signal(SIGINT, SIG_IGN);
	dup2(log_fd, STDOUT_FILENO);
	dup2(log_fd, STDERR_FILENO);
	/* A ./linux/types.h in the working directory would come before every other. The
	 * root directory is root's alone, and libbcc wants one that has a path. */
	if (chdir("/"))
		fail(socket, "cannot enter the root directory");
	setenv("BCC_KERNEL_SOURCE", headers->path, 1);
	libbcc_open(socket, &module.bcc);
	for (size_t i = 0; i < source->flag_count + headers->flag_count; i++) {
		const char *flag = i < source->flag_count
					   ? source->flags[i]
					   : headers->flags[i - source->flag_count];

		if (!vec_push(&flags, flag))
			fail(socket, "out of memory");
	}

	module.module = bcc->module_create(source->text, 0, flags.data, (int)flags.len,
					   false, NULL);
	if (!module.module)
		fail(socket, "the BPF program does not compile");
	for (size_t i = 0; i < bcc->num_tables(module.module) && i < MESSAGE_MAX_FDS;
	     i++) {
		snprintf(m.name[i], sizeof(m.name[i]), "%s",
			 bcc->table_name(module.module, i));
		fds[m.count++] = bcc->table_fd_id(module.module, i);
	}
	fflush(NULL);
	if (message_send(socket, &m, fds, m.count))
		_exit(1);

	serve(socket, &module);
	/* No destructors: LLVM's take long, and the process is gone anyway. */
	_exit(0);
}
