/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The BPF program of one run: the fragments of probes/ joined into one text, and the
 * constants that size and shape it as -D flags, so that what is not asked for is not
 * there.
 */
#ifndef BPF_SOURCE_H
#define BPF_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "bpf/kernel_offsets.h"
#include "plan/plan.h"
#include "util/error.h"
#include "util/vec.h"

/* A pid namespace as bpf_get_ns_current_pid_tgid() wants it named. */
struct pid_namespace {
	uint64_t device; /* as the kernel encodes it (include/linux/kdev_t.h) */
	uint64_t inode;  /* 0: the initial one, in which BPF numbers processes anyway */
};

/* The pid namespace of this process. */
void pid_namespace_read(struct pid_namespace *ret);

struct source_options {
	int pid; /* in `pid_namespace` */
	struct pid_namespace pid_namespace;
	uint64_t attach_ns;   /* CLOCK_MONOTONIC: ticks count from here */
	unsigned stack_depth; /* 1..127 */
	uint64_t max_allocations, max_stacks;
	uint64_t sample_every;                   /* 1: all */
	uint64_t min_size_bytes, max_size_bytes; /* 0 and UINT64_MAX: no bound */
	bool mappings;
	bool with_time; /* keep the time of each block */
	bool cookies;   /* the kernel has attach cookies (5.15) */
	struct kernel_offsets offsets;
};

/* Sizes that follow from the options; both sides must agree on them. */
struct source_sizes {
	uint32_t cpu_slots; /* records of `counters`, a power of two */
	uint32_t live_buckets;
	uint32_t live_spill; /* entries */
	uint32_t stack_buckets;
	uint32_t max_stacks;
	uint32_t stack_record_bytes;
};

struct source {
	char *text;
	char **flags; /* flag_count of them */
	size_t flag_count;
	VEC(uint64_t) sites; /* what the sites of the plan mean, each meaning once */
	struct source_sizes sizes;
};

/* The table sizes for `options`. */
void source_sizes_compute(const struct source_options *options, struct source_sizes *ret);

/*
 * Join and configure. Without cookies every meaning that sites of `plan` have gets a
 * program of its own, named by source_entry_name(), with the meaning compiled in.
 */
struct error *source_build(const struct source_options *options, const struct plan *plan,
			   struct source **ret) __attribute__((warn_unused_result));
void source_destroy(struct source *source);

/* What a call of the site's function means to the probes: ABI_SITE of probes/abi.h. */
uint64_t source_site(const struct plan_site *site);

/* The index of a meaning in source.sites. */
size_t source_site_index(const struct source *source, uint64_t site);

/* Longest name of a program, with its NUL; the kernel shows the first 15 bytes. */
#define PROGRAM_NAME_MAX 32

/* The entry program of meaning number `index` when there are no cookies. */
void source_entry_name(size_t index, char ret[PROGRAM_NAME_MAX]);

#endif
