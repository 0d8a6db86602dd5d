/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events whose stacks are counted: parses --event, and finds the places in files for
 * its probes.
 */
#ifndef PLAN_EVENT_H
#define PLAN_EVENT_H

#include <stdbool.h>
#include <stdint.h>

#include "process/proc.h"
#include "process/target_file.h"
#include "util/error.h"
#include "util/vec.h"

enum event_kind {
	EVENT_UPROBE,     /* uprobe:PATH:FUNCTION[+OFFSET] */
	EVENT_URETPROBE,  /* uretprobe:PATH:FUNCTION */
	EVENT_USDT,       /* usdt:PATH:PROVIDER:NAME */
	EVENT_KPROBE,     /* kprobe:FUNCTION[+OFFSET] */
	EVENT_KRETPROBE,  /* kretprobe:FUNCTION */
	EVENT_TRACEPOINT, /* tracepoint:CATEGORY:NAME */
	EVENT_PROFILE,    /* profile:hz:N */
	EVENT_SOFTWARE,   /* software:NAME[:N] */
	EVENT_HARDWARE,   /* hardware:NAME[:N] */
	EVENT_KIND_COUNT,
};

struct event_spec {
	enum event_kind kind;
	char *text; /* as given by the user */
	/* path or base name of a file; NULL: the event is not in a file */
	char *path;
	char *group; /* category or provider; NULL: none */
	/* name of the function, tracepoint, probe or counter; NULL: none */
	char *name;
	uint64_t offset; /* offset in the function, bytes */
	/* profile: frequency in Hz; counter: its period, the number of events for one
	 * hit; else 1 */
	uint64_t number;
	/* counter: enum perf_sw_ids or perf_hw_id (include/uapi/linux/perf_event.h) */
	uint32_t selector;
};

/* Parse `text`. ERROR_USAGE says in one line what is wrong and what is possible. */
struct error *event_spec_parse(const char *text, struct event_spec *ret)
	__attribute__((warn_unused_result));
void event_spec_deinit(struct event_spec *spec);

/* The number of events that one hit stands for. */
uint64_t event_period(const struct event_spec *spec);

/* Are the event's probes in files, rather than in the kernel? */
bool event_is_in_file(enum event_kind kind);

/* A place in a file. A place inside a function is taken only where decoding the function
 * from its first byte leads to the beginning of an instruction: any other probe would
 * destroy the target's code. The place of a USDT probe has passed usdt_file_check(). */
struct event_site {
	struct target_file *file; /* held */
	uint64_t offset;          /* file offset, bytes */
	uint64_t ref_ctr; /* file offset of the semaphore of a USDT probe, 0: none */
	bool is_private;  /* as in struct attach_probe: by a debug file of the target, or
			     by a note alone */
	uint32_t before;  /* code from the beginning of the function on, bytes */
};

struct other_code;

struct event_options {
	bool is_shared;  /* as in struct allocator_options */
	bool has_others; /* as in struct plan_options */
	/* The reader of a file's tables if no process is given (elf/elf_reader.h);
	 * NULL: this process reads them. Borrowed. */
	struct elf_reader *elf_reader;
	/* as in struct plan_options */
	struct other_code *others;
	bool (*is_probed)(void *arg, const char *path, uint64_t function, uint64_t place);
	void *probed_arg;
};

struct event_sites {
	VEC(struct event_site) list;
};

/*
 * Find the places of an event that is in a file. A name without '/' matches the name of a
 * mapped file, up to a dot; a path is resolved in the process's mount namespace. `proc`
 * NULL: the file is in ours, by its path. ERROR_NOT_FOUND: the file, function or USDT
 * probe does not exist (with the nearest names). ERROR_UNSAFE: the code in memory
 * differs. ERROR_UNSUPPORTED: a place cannot be probed.
 */
struct error *event_sites_find(const struct event_spec *spec, const struct proc *proc,
			       const struct proc_maps *maps,
			       const struct event_options *options,
			       struct event_sites *ret)
	__attribute__((warn_unused_result));
void event_sites_deinit(struct event_sites *sites);

#endif
