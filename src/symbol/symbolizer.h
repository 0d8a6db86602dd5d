/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names for addresses. A symbolizer is an ops table. Implementations are bcc_symcache
 * (symbol/bcc.c), a confined child (symbol/reader.c), the kernel's names before either
 * (symbol/kernel_names.c), and the names of a snapshot (report/recorded.c). frame_cache
 * (symbol/cache.h) asks it once for each address.
 */
#ifndef SYMBOL_SYMBOLIZER_H
#define SYMBOL_SYMBOLIZER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "dwarf/source_frame.h"
#include "process/maps.h"
#include "util/error.h"

/* The name and place of one code address. */
struct symbol {
	char *name;      /* as in the symbol table (mangled); NULL: none. Raw bytes: the
			    target chose them, so renderers escape them. Owned. */
	char *module;    /* path of the file that contains it, or NULL. Owned. */
	uint64_t offset; /* bytes from the symbol's start; without a name, from the
			    module's start in its file's address space */
	bool is_plain;   /* names, also of source frames, are already demangled if they
			    are to be demangled */
	bool is_put_off; /* not looked up, because the report has taken long enough: ask
			    again in the next one */
};

struct frame;
struct symbolizer;

struct symbolizer_ops {
	/* Fill `ret` for the code at `address`. A miss is not an error: it leaves name
	 * (and perhaps module) NULL. Fails only when out of memory. */
	struct error *(*resolve)(struct symbolizer *self, uint64_t address,
				 struct symbol *ret) __attribute__((warn_unused_result));
	/* Fill `ret`, which is empty, with the source frames of the code at `address`.
	 * It stays empty if they are unknown. May be NULL: then only a line_finder can
	 * find them. */
	struct error *(*find_sources)(struct symbolizer *self, uint64_t address,
				      struct source_frames *ret)
		__attribute__((warn_unused_result));
	/* The target's mappings may have changed (dlopen, exec): read them again. True
	 * if they did, so that earlier answers may be out of date. May be NULL. */
	bool (*mappings_changed)(struct symbolizer *self);
	/* Frames that the symbolizer has made in advance, as the cache (symbol/cache.h)
	 * would make them from the functions above. They have ascending return addresses,
	 * never 0, and live as long as the symbolizer. May be NULL. */
	const struct frame *(*known_frames)(struct symbolizer *self, size_t *ret_count);
	void (*destroy)(struct symbolizer *self);
};

struct symbolizer {
	const struct symbolizer_ops *ops;
};

void symbol_deinit(struct symbol *symbol);

/* Destroy through the ops; NULL is fine. */
void symbolizer_destroy(struct symbolizer *symbolizer);

/*
 * Names by BCC's bcc_symcache for the process `pid`. Its pidfd is borrowed; with -1 the
 * reuse of the pid by another process goes unnoticed. Opens the files that the process
 * has mapped as code, at most 1,024, so that names are available after its exit too. A
 * symbol table is read at the first lookup in it. Each open file takes a descriptor.
 * *ret_maps is what it has read of /proc/PID/maps, for others that need it; the text is
 * NULL or owned by the caller, also on failure.
 */
struct error *symbolizer_bcc_create(int pid, int pidfd, struct symbolizer **ret,
				    struct maps_text *ret_maps)
	__attribute__((warn_unused_result));

/* Amounts that such a symbolizer ignores because of its limits. */
struct symbolizer_left_out {
	/* Lines, or bytes, of the process's /tmp/perf-PID.map (symbol/perf_map.h). */
	uint64_t of_perf_map;
	/* Code mappings, of the newest mappings read (symbol/code_maps.h). */
	uint64_t mappings;
};

struct symbolizer_left_out symbolizer_bcc_left_out(const struct symbolizer *symbolizer);

#endif
