/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Are the sites inside functions right on this build? When a function is first called, a
 * probe is put on each of its `ret`s: what the next calls return is compared with what
 * the function's sites said of their results (probes/check.c). After ABI_CHECK_AGREED
 * calls, or CHECK_LASTS_MS, these probes go.
 *
 * A function whose sites are wrong keeps them: from then on its results are seen there,
 * and its sites are passed over. Single-stepping a `ret` is dear, but always right.
 *
 * A thread attaches and takes away, as both keep it waiting. The functions below are for
 * the one thread that made the checks.
 */
#ifndef BPF_CHECKS_H
#define BPF_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "bpf/attach.h"
#include "bpf/check_verdict.h"
#include "util/error.h"
#include "util/vec.h"

#define CHECK_LASTS_MS 1000

struct checks;

/* Descriptors of maps, and maps that are mapped; borrowed. */
struct checks_maps {
	int checks, news, retired;
	struct abi_control *control;
	struct abi_site_at *sites_at;
};

/* A probe in the checked file. */
struct check_probe {
	uint64_t offset;  /* in the file, bytes */
	uint64_t meaning; /* ABI_SITE and what follows it in probes/abi.h */
};

/* A function to be checked. */
struct check_request {
	uint64_t file_number; /* by bpf/file_numbers.h; 0: none */
	/* A descriptor, borrowed until checks_stop() or checks_forget_file(). */
	int file;
	uint64_t offset;      /* the function's, in the file, bytes */
	const char *function; /* static */
	const char *module;   /* the file's name for people; borrowed */
	int pid;              /* its probes are for this process; 0: for all */
	/* Descriptors, borrowed until checks_stop(). */
	int result_program, call_program, check_program;
	VEC(struct check_probe) sites; /* where calls begin, and where results are seen */
	/* Where calls end; the number of the check is added to the meaning. */
	VEC(struct check_probe) exits;
	VEC(uint64_t) site_exits; /* offsets of sites that are such ends themselves */
	bool has_more_exits;      /* there are others, where no probe can be */
	/* Where all calls begin, once the sites are wrong. Offset 0: one of `sites` sees
	 * that already. */
	struct check_probe entry;
};

/* ERROR_IO, ERROR_NO_MEMORY. */
struct error *checks_create(const struct checks_maps *maps, struct checks **ret)
	__attribute__((warn_unused_result));

/* Check the function from its next call on. Each function of a file is checked once,
 * whatever processes it is probed for. Takes over the request's vectors, also on failure.
 * A function beyond ABI_MAX_CHECKS at a time is not checked. ERROR_NO_MEMORY. */
struct error *checks_add(struct checks *checks, struct check_request *request)
	__attribute__((warn_unused_result));

/* Were the sites of a function of this file wrong? The probes that took their place must
 * stay. */
bool checks_have_failed(struct checks *checks, uint64_t file_number);

/* The file has no probes for the process `pid` any more (0: for all processes at once;
 * -1: for any). The file is checked anew if it gets probes again. The descriptors of its
 * check_requests may be closed then. */
void checks_forget_file(struct checks *checks, int pid, uint64_t file_number);

/* The next check that has ended; false: none has. */
bool checks_next(struct checks *checks, struct check_verdict *ret);

/* End all checks, and leave their probes to `attachment`, which is to be detached next.
 * NULL is fine. */
void checks_stop(struct checks *checks, struct attachment *attachment);
void checks_destroy(struct checks *checks);

void check_request_deinit(struct check_request *request);

#endif
