/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BPF_KERNEL_IDENTITY_H
#define BPF_KERNEL_IDENTITY_H

#include <stdbool.h>

#include "util/strbuf.h"

/* Append what tells the running kernel from every other one: its release and version, and
 * the notes of its image, among them the build-id. False when it does not say. */
bool kernel_identity_append(struct strbuf *text);

#endif
