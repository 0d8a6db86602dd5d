/* SPDX-License-Identifier: Apache-2.0 */
/* Maps and programs of a struct code in the kernel. */
#ifndef BPF_CODE_LOAD_H
#define BPF_CODE_LOAD_H

#include <stdint.h>

#include "abi.h"
#include "bpf/code.h"
#include "util/error.h"

/* What programs are loaded as. */
struct program_kind {
	uint32_t type;        /* enum bpf_prog_type */
	uint32_t attach_type; /* expected; 0: none */
};

/* The numbers that differ from run to run, by enum abi_run_value. */
struct run_values {
	uint64_t of[ABI_RUN_VALUES];
};

/* Make the map: *ret is the caller's. ERROR_COMPILE says that the kernel refused it. */
struct error *code_map_make(const struct code_map *map, int *ret)
	__attribute__((warn_unused_result));

/*
 * Load the program with these maps (descriptors, by code_map's index; -1: there is none)
 * and values. *ret is the caller's. ERROR_COMPILE says that the kernel refused it: what
 * its verifier printed last is the detail.
 */
struct error *code_program_load(const struct code *code,
				const struct code_program *program, const int maps[],
				const struct run_values *values, struct program_kind kind,
				int *ret) __attribute__((warn_unused_result));

#endif
