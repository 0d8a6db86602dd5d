// SPDX-License-Identifier: Apache-2.0
#include "bpf/code_load.h"

#include <errno.h>
#include <stdio.h>

#include <linux/bpf.h>

#include "bpf/syscall.h"
#include "util/cleanup.h"
#include "util/locked_memory.h"

/* The verifier accepts no larger log buffer before Linux 5.17 (kernel/bpf/verifier.c). */
#define LOG_MAX_BYTES   (16u << 20)
#define LOG_FIRST_BYTES (256u << 10)

/* How much of a long log is kept: the end, which contains the error. */
#define LOG_KEEP_BYTES 16384

/* A signal interrupts the verifier, and bpf(2) fails with EAGAIN; other reasons at
 * code_map_make(). */
#define TRIES 20

static uint64_t to_pointer(const void *p)
{
	return (uint64_t)(uintptr_t)p;
}

struct error *code_map_make(const struct code_map *map, int inner, int *ret)
{
	struct rlimit before;
	union bpf_attr attr;
	char detail[128];

	memset(&attr, 0, sizeof(attr));
	attr.map_type = map->type;
	attr.key_size = map->key_bytes;
	attr.value_size = map->value_bytes;
	attr.max_entries = map->entries;
	attr.map_flags = map->flags;
	if (inner >= 0)
		attr.inner_map_fd = (uint32_t)inner;
	memcpy(attr.map_name, map->name, strnlen(map->name, sizeof(attr.map_name) - 1));
	/* Another thread may restore the limit at the same time. */
	for (int tries = 0; !tries || (*ret == -EPERM && tries < TRIES); tries++) {
		locked_memory_lift(&before);
		*ret = sys_bpf(BPF_MAP_CREATE, &attr, sizeof(attr));
		locked_memory_restore(&before);
	}
	if (*ret >= 0)
		return NULL;
	/* The text that libbcc prints when it creates maps. */
	snprintf(detail, sizeof(detail), "could not open bpf map: %s, error: %s",
		 map->name, strerror(-*ret));
	return error_with_detail(error_errno(ERROR_COMPILE, -*ret,
					     "the kernel refused the map %s", map->name),
				 detail);
}

/* Copy the program's instructions and fill in maps and values. Returns NULL without
 * memory, or if a map is missing: *missing is then its name. */
static struct bpf_insn *fill_in(const struct code *code,
				const struct code_program *program, const int maps[],
				const struct run_values *values, const char **missing)
{
	_cleanup_(freep) struct bpf_insn *insns = calloc(program->count, sizeof(*insns));

	if (!insns)
		return NULL;
	memcpy(insns, code->insns.data + program->first, program->count * sizeof(*insns));
	/* An instruction with a 64-bit immediate takes two slots with one half each
	 * (Documentation/bpf/standardization/instruction-set.rst of the kernel). */
	for (uint32_t i = 0; i < program->count; i++) {
		if (insns[i].code != (BPF_LD | BPF_DW | BPF_IMM))
			continue;

		uint64_t value = (uint64_t)(uint32_t)insns[i + 1].imm << 32 |
				 (uint32_t)insns[i].imm;

		if (insns[i].src_reg == BPF_PSEUDO_MAP_FD) {
			int fd = maps[insns[i].imm];

			if (fd < 0) {
				*missing = code->maps.data[insns[i].imm].name;
				return NULL;
			}
			insns[i].imm = fd;
		} else if (!insns[i].src_reg && value - ABI_RUN_MAGIC < ABI_RUN_VALUES) {
			value = values->of[value - ABI_RUN_MAGIC];
			insns[i].imm = (int32_t)value;
			insns[i + 1].imm = (int32_t)(value >> 32);
		}
		i++;
	}
	return take(insns);
}

static int load(union bpf_attr *attr)
{
	int fd = -EAGAIN;

	for (int i = 0; i < TRIES && fd == -EAGAIN; i++)
		fd = sys_bpf(BPF_PROG_LOAD, attr, sizeof(*attr));
	return fd;
}

/* After the kernel refused a program: load it again with a log. Returns the log, or
 * NULL. */
static char *verifier_log(union bpf_attr *attr)
{
	for (uint32_t size = LOG_FIRST_BYTES; size <= LOG_MAX_BYTES; size *= 8) {
		_cleanup_(freep) char *log = calloc(1, size);

		if (!log)
			return NULL;
		attr->log_level = 1;
		attr->log_buf = to_pointer(log);
		attr->log_size = size - 1;

		_cleanup_(closep) int fd = load(attr);
		size_t len = strlen(log);

		if (fd == -ENOSPC && size * 8 <= LOG_MAX_BYTES)
			continue;
		return strdup(len > LOG_KEEP_BYTES ? log + len - LOG_KEEP_BYTES : log);
	}
	return NULL;
}

struct error *code_program_load(const struct code *code,
				const struct code_program *program, const int maps[],
				const struct run_values *values, struct program_kind kind,
				int *ret)
{
	const char *missing = NULL;
	_cleanup_(freep) struct bpf_insn *insns =
		fill_in(code, program, maps, values, &missing);
	_cleanup_(freep) char *log = NULL;
	struct rlimit before;
	union bpf_attr attr;

	*ret = -1;
	if (missing)
		return error_create(ERROR_COMPILE,
				    "the stored probe %s does not fit this memtrace "
				    "(unknown map %s): --no-cache compiles it anew",
				    program->name, missing);
	if (!insns)
		return error_no_memory();
	memset(&attr, 0, sizeof(attr));
	attr.prog_type = kind.type;
	attr.expected_attach_type = kind.attach_type;
	attr.insns = to_pointer(insns);
	attr.insn_cnt = program->count;
	attr.license = to_pointer("GPL");
	memcpy(attr.prog_name, program->name,
	       strnlen(program->name, sizeof(attr.prog_name) - 1));
	locked_memory_lift(&before);
	*ret = load(&attr);
	/* Out of descriptors: not a refusal, so the caller must not try another
	 * program. */
	if (*ret < 0 && *ret != -EMFILE && *ret != -ENFILE)
		log = verifier_log(&attr);
	locked_memory_restore(&before);
	if (*ret >= 0)
		return NULL;
	return error_with_detail(
		error_errno(*ret == -EMFILE || *ret == -ENFILE ? ERROR_IO : ERROR_COMPILE,
			    -*ret, "the kernel refused the program %s", program->name),
		log);
}
