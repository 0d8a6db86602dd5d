/* SPDX-License-Identifier: Apache-2.0 */
/* What libbcc compiled from a source, in a form that any process can load at any time.
 * Programs refer to maps by index and to run-specific values by number; each map is
 * described. */
#ifndef BPF_CODE_H
#define BPF_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "util/vec.h"

struct bpf_insn;

/* Longest name of a map or program, with its NUL; the kernel shows the first 15 bytes. */
#define CODE_NAME_MAX 32

/* Longest path of a library, with its NUL. */
#define CODE_PATH_MAX 256

struct code_map {
	char name[CODE_NAME_MAX];
	uint32_t type; /* enum bpf_map_type */
	uint32_t key_bytes, value_bytes, entries;
	uint32_t flags; /* BPF_F_..., include/uapi/linux/bpf.h */
};

/* `count` instructions of code.insns from `first` on. An instruction that loads the
 * address of a map (BPF_PSEUDO_MAP_FD) has the map's index in code.maps. */
struct code_program {
	char name[CODE_NAME_MAX];
	uint32_t first, count;
};

/* A library of the compiler, as stat(2) showed it. */
struct code_library {
	char path[CODE_PATH_MAX];
	uint64_t device, inode, size_bytes, changed_ns;
};

struct code {
	VEC(struct code_library) libraries;
	VEC(struct code_map) maps;
	VEC(struct code_program) programs;
	VEC(struct bpf_insn) insns;
};

void code_destroy(struct code *code);

/* Serialize to *size bytes, which the caller frees. Returns NULL without memory. The
 * bytes are only valid on this machine. */
void *code_pack(const struct code *code, size_t *size);

/* Parse the output of code_pack(). Returns NULL without memory, and for any other
 * bytes. */
struct code *code_unpack(const void *bytes, size_t size);

/* Find a program by name. Returns NULL if it does not exist. */
const struct code_program *code_program_find(const struct code *code, const char *name);

/* stat() library->path and fill in the other fields. Returns false if that fails. */
bool code_library_look_at(struct code_library *library);

/* Are all libraries unchanged since the code was compiled? */
bool code_is_current(const struct code *code);

#endif
