/* SPDX-License-Identifier: Apache-2.0 */
/* Counts events in the tables of probes/traffic.c from memtrace's side, if the probes
 * cannot: events of blocks whose stack has no number yet ("late" events), and blocks that
 * are removed together with their process. The probes go on counting at the same time. */
#ifndef DRAIN_TRAFFIC_TABLES_H
#define DRAIN_TRAFFIC_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "compile/source.h"
#include "peak_record.h"
#include "traffic_record.h"
#include "util/error.h"

/* Map descriptors; borrowed. */
struct traffic_maps {
	int traffic,
		estimates; /* arrays by stack; estimates: -1 unless sampled by bytes */
	int threads, all, process_live, sizes;
	int late_numbers; /* -1: no event is late */
	/* what is live at the peak, and an array of it by stack; -1: not counted */
	int heap_peak, path_peaks;
};

/* An array with an element for each stack, mapped in parts when they are needed. */
struct stack_elements {
	int fd; /* -1: none */
	uint32_t count;
	size_t element_bytes;
	void **parts; /* each NULL until it is mapped */
};

struct traffic_tables {
	struct traffic_maps maps;
	const struct source_sizes *sizes; /* borrowed */
	struct stack_elements paths, estimates, path_peaks;
	struct abi_traffic_all *all;           /* mapped */
	struct abi_process_live *process_live; /* mapped, sizes->process_slots of them */
	uint64_t *late_numbers;                /* mapped, or NULL */
	struct abi_heap_peak *heap_peak;       /* mapped, or NULL */
	/* Number of blocks that a sampled block of each size class represents, in 1/65536
	 * blocks; only with estimates. */
	uint64_t weights[ABI_SAMPLE_CLASSES];
	uint64_t lost; /* events not counted for lack of memory */
};

/* `sample_bytes` is as in struct trace_config. */
struct error *traffic_tables_open(const struct traffic_maps *maps,
				  const struct source_sizes *sizes, uint64_t sample_bytes,
				  struct traffic_tables *ret)
	__attribute__((warn_unused_result));
void traffic_tables_close(struct traffic_tables *tables);

/* Count an event of a block at the stack `stack`; does not count it if `stack` is not a
 * valid number. For a late event (event->stack is set), also tell the probes the stack's
 * number. */
void traffic_tables_count(struct traffic_tables *tables, const struct abi_late *event,
			  uint32_t stack);

/* Count a block that is removed with its process, which had this slot and has ended. */
void traffic_tables_count_gone(struct traffic_tables *tables, uint32_t slot,
			       uint64_t size_bytes, uint32_t stack);

/* The process of this slot has ended: it has no outstanding bytes any more. May be called
 * repeatedly. */
void traffic_tables_end_process(struct traffic_tables *tables, uint32_t slot);

/* The bytes and blocks that path_peaks counts for a block of this size: an estimate if
 * blocks are sampled by bytes. Blocks are then in units of 1/65536. */
void traffic_tables_weigh(const struct traffic_tables *tables, uint64_t size_bytes,
			  uint64_t *bytes, uint64_t *blocks);

/* Stop recording new peaks, so that the blocks live at the last one can be read while the
 * targets run. BPF programs that are already running may still change them: wait until
 * they have ended, and count late events. */
void traffic_tables_freeze_peak(struct traffic_tables *tables);

/* Continue. If the heap has become larger meanwhile, this is its new peak. `ticks` is the
 * time now. */
void traffic_tables_thaw_peak(struct traffic_tables *tables, uint64_t ticks);

/* Remove the threads of the slots with gone[slot] set (sizes->process_slots elements).
 * All their blocks must have been counted as gone. */
struct error *traffic_tables_remove(struct traffic_tables *tables, const bool gone[])
	__attribute__((warn_unused_result));

#endif
