/* SPDX-License-Identifier: Apache-2.0 */
/* Files of probes/ that cmake/Embed.cmake puts into the binary. */
#ifndef BPF_EMBEDDED_H
#define BPF_EMBEDDED_H

struct embedded_file {
	const char *name; /* relative to probes/ (or probes/kernel/); NULL ends a list */
	const char *text;
};

/* The fragments of the BPF program, in the order in which they are joined. */
extern const struct embedded_file embedded_probes[];

/* The minimal kernel header tree, by path inside it. */
extern const struct embedded_file embedded_headers[];

#endif
