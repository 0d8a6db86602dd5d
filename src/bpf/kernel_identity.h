/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BPF_KERNEL_IDENTITY_H
#define BPF_KERNEL_IDENTITY_H

#include <stdbool.h>

#include "util/strbuf.h"

/* Append what identifies the running kernel: its release and version, and the notes of
 * its image, the build-id among them. Returns false if the kernel does not provide
 * them. */
bool kernel_identity_append(struct strbuf *text);

#endif
