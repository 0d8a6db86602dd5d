/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 of ISO 3309, as zlib and .gnu_debuglink have it. */
#ifndef UTIL_CRC32_H
#define UTIL_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* The checksum of what `crc` covers (0: nothing yet) followed by `size` bytes. */
uint32_t crc32_update(uint32_t crc, const void *bytes, size_t size);

#endif
