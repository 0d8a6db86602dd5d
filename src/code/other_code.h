/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the processes that map a file as code, and the pages of this code that may differ
 * from the file: docs/probes.md, "Code in memory". /proc/PID/pagemap tells private pages
 * from pages of the page cache (Documentation/admin-guide/mm/pagemap.rst, bit 61), so
 * only few pages have to be read and compared.
 */
#ifndef CODE_OTHER_CODE_H
#define CODE_OTHER_CODE_H

#include <stdbool.h>
#include <stdint.h>

#include "process/file_names.h"
#include "code/other_runs.h"
#include "process/proc.h"
#include "util/error.h"

struct other_code;

/* NULL: memory is out. */
struct other_code *other_code_create(void);
void other_code_destroy(struct other_code *others);

/* Add the mappings of a process: the next search does not read them again. */
struct error *other_code_add(struct other_code *others, int pid,
			     const struct proc_maps *maps)
	__attribute__((warn_unused_result));

/*
 * Find the code of a file, with these names, that may differ from it in any process.
 * `path` leads to the file, which may be mapped under other names, too
 * (util/file_pages.h): with the same inode number in overlays of one file system. A
 * search ends after 10 s; mappings are read at most once a second, for a tenth of the
 * time. Borrowed until the next call. ERROR_NO_MEMORY; ERROR_IO: cannot list processes.
 */
struct error *other_code_find(struct other_code *others, const struct file_names *file,
			      const char *path, const struct other_runs **ret)
	__attribute__((warn_unused_result));

/* Like other_code_find(), but look at the pages of the file again if that was before
 * `since_ns` (CLOCK_MONOTONIC): they may have been written to. The list of processes that
 * map it comes from the last search, if that is recent enough for other_code_find(). */
struct error *other_code_find_anew(struct other_code *others,
				   const struct file_names *file, const char *path,
				   uint64_t since_ns, const struct other_runs **ret)
	__attribute__((warn_unused_result));

/* Does the process still map this code of the file at this address? It may have executed
 * another program since its mappings were read. True also if too much was read already,
 * or if its mappings cannot be read. Not for a run that is unread. */
bool other_code_is_mapped(struct other_code *others, const struct other_run *run);

/* The memory of this run cannot be read, or the run is unread. Count its process and
 * return true, unless it has exited or does not map the code any more. */
bool other_code_is_unread(struct other_code *others, const struct other_run *run);

/* The memory of this process is about to be read. False: too much was read already. */
bool other_code_may_read(struct other_code *others, int pid);

/* How many processes had unread code in a search, at most. Processes that we have no
 * permission to read do not count. */
uint64_t other_code_unread(const struct other_code *others);

/* "its code in the memory of process N differs from the file". Borrowed. Valid as long as
 * `others`, the same pointer for the same pid. */
const char *other_code_reason(struct other_code *others, int pid);

/* Likewise, for code that is unread: with the number of such processes, and what to do.
 */
const char *other_code_unread_reason(struct other_code *others, int pid);

#endif
