/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that probe sites inside functions see the right results on this build
 * (docs/probes.md, "Checked while it runs"): probes on each `ret` of a function compare
 * what its next calls return (probes/check.c), for ABI_CHECK_AGREED calls or
 * CHECK_LASTS_MS. A thread attaches and detaches, since both block. The functions below
 * must be called from the thread that called checks_create().
 */
#ifndef ATTACH_CHECKS_H
#define ATTACH_CHECKS_H

#include <stdbool.h>
#include <stdint.h>

#include "abi.h"
#include "attach/attach.h"
#include "attach/check_verdict.h"
#include "util/error.h"
#include "util/vec.h"

#define CHECK_LASTS_MS 1000

struct checks;

/* Map descriptors and mapped maps; borrowed. */
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
	/* A descriptor, borrowed until checks_stop() or checks_remove_file(). */
	int file;
	uint64_t offset;      /* of the function, in the file, bytes */
	const char *function; /* static string */
	const char *module;   /* the file's name for messages; borrowed */
	int pid;              /* the process to probe; 0: all */
	/* Descriptors, borrowed until checks_stop(). */
	int result_program, call_program, check_program;
	VEC(struct check_probe) sites; /* where calls begin and where results are read */
	/* Where calls return. checks_add() adds the number of the check to their
	 * meanings. */
	VEC(struct check_probe) exits;
	VEC(uint64_t) site_exits; /* offsets of sites that are themselves such exits */
	bool has_more_exits; /* the function has more exits, which cannot be probed */
	/* Where all calls begin; probed once the sites have proved wrong. Offset 0: one
	 * of `sites` already sees each call begin. */
	struct check_probe entry;
};

/* Returns ERROR_IO or ERROR_NO_MEMORY on failure. */
struct error *checks_create(const struct checks_maps *maps, struct checks **ret)
	__attribute__((warn_unused_result));

/*
 * Check the function from its next call on. A function of a file is checked once, for all
 * processes that it is probed for. Takes ownership of the request's vectors, also on
 * failure. If ABI_MAX_CHECKS functions have checks, this one is counted only.
 * Returns ERROR_NO_MEMORY or ERROR_UNSUPPORTED on failure.
 */
struct error *checks_add(struct checks *checks, struct check_request *request)
	__attribute__((warn_unused_result));

/* Were the sites of a function of this file wrong? The probes that replaced them must
 * stay. */
bool checks_have_failed(struct checks *checks, uint64_t file_number);

/* How many functions had wrong sites so far. */
uint64_t checks_misread(struct checks *checks);

/* How many functions were not checked, as ABI_MAX_CHECKS others were. */
uint64_t checks_left_out(struct checks *checks);

/* In a forked child, which lacks the threads: only checks_misread() may follow. */
void checks_cut_off(struct checks *checks);

/* The file has no probes for the process `pid` any more (0: those for all processes are
 * gone; -1: all are gone). If the file gets probes again, it is checked again. The caller
 * may then close the descriptors of its check_requests. */
void checks_remove_file(struct checks *checks, int pid, uint64_t file_number);

/* Get the next check that has ended. Returns false if no further check has ended. */
bool checks_next(struct checks *checks, struct check_verdict *ret);

/* Stop all checks and move their probes to `attachment`, which the caller must detach.
 * `checks` may be NULL. */
void checks_stop(struct checks *checks, struct attachment *attachment);
void checks_destroy(struct checks *checks);

void check_request_deinit(struct check_request *request);

#endif
