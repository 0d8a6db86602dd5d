/* SPDX-License-Identifier: Apache-2.0 */
/* Loads the maps and programs of a struct code into the kernel. */
#ifndef BPF_CODE_LOAD_H
#define BPF_CODE_LOAD_H

#include <stdint.h>

#include "abi.h"
#include "bpf/code.h"
#include "util/error.h"

/* How to load a program. */
struct program_kind {
	uint32_t type;        /* enum bpf_prog_type */
	uint32_t attach_type; /* expected_attach_type; 0: none */
};

/* The values that differ from run to run, by enum abi_run_value. */
struct run_values {
	uint64_t of[ABI_RUN_VALUES];
};

/* Create a map. `inner` is a map like those that an array of maps will have; -1 for other
 * maps. The caller owns *ret. Returns ERROR_COMPILE if the kernel refused it. */
struct error *code_map_make(const struct code_map *map, int inner, int *ret)
	__attribute__((warn_unused_result));

/* Load a program with these maps (descriptors, by index in code.maps; -1: no such map)
 * and values. The caller owns *ret. Returns ERROR_COMPILE if the kernel refused the
 * program; the error's detail is the end of the verifier's log. */
struct error *code_program_load(const struct code *code,
				const struct code_program *program, const int maps[],
				const struct run_values *values, struct program_kind kind,
				int *ret) __attribute__((warn_unused_result));

#endif
