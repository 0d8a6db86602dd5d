/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of probes/traffic.c from memtrace's side: events that the probes cannot
 * count themselves, of blocks whose stack has no number yet, and of those that are taken
 * out of the tables with their process. Counted as the probes count, while these go on.
 */
#ifndef BPF_TRAFFIC_TABLES_H
#define BPF_TRAFFIC_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "bpf/source.h"
#include "traffic_record.h"
#include "util/error.h"

/* Descriptors of the maps; borrowed. */
struct traffic_maps {
	int traffic,
		estimates; /* elements by stack; estimates -1: not sampled by bytes */
	int threads, all, process_live, sizes;
};

/* A table of elements by stack, mapped in parts, when one of their elements is wanted. */
struct stack_elements {
	int fd; /* -1: none */
	uint32_t count;
	size_t element_bytes;
	void **parts; /* NULL: not mapped yet */
};

struct traffic_tables {
	struct traffic_maps maps;
	const struct source_sizes *sizes; /* borrowed */
	struct stack_elements paths, estimates;
	struct abi_traffic_all *all;           /* mapped */
	struct abi_process_live *process_live; /* mapped, sizes->process_slots of them */
	/* What a block of each class of sizes stands for, in 1/65536; with estimates. */
	uint64_t weights[ABI_SAMPLE_CLASSES];
	uint64_t lost; /* events that could not be counted: no memory */
};

/* `sample_bytes` as in struct source_options. */
struct error *traffic_tables_open(const struct traffic_maps *maps,
				  const struct source_sizes *sizes, uint64_t sample_bytes,
				  struct traffic_tables *ret)
	__attribute__((warn_unused_result));
void traffic_tables_close(struct traffic_tables *tables);

/* Count an event at the path `stack`: nothing when that is no stack's number. */
void traffic_tables_count(struct traffic_tables *tables, const struct abi_late *event,
			  uint32_t stack);

/* The process of this slot is no more: nothing of it is outstanding. May be told again.
 */
void traffic_tables_end_process(struct traffic_tables *tables, uint32_t slot);

/* Forget the threads of the slots for which `gone` is set (sizes->process_slots of them),
 * after all their blocks were counted as gone. */
struct error *traffic_tables_forget(struct traffic_tables *tables, const bool gone[])
	__attribute__((warn_unused_result));

#endif
