/* SPDX-License-Identifier: Apache-2.0 */
/* CRC-32 of ISO 3309, as used by zlib and .gnu_debuglink. */
#ifndef UTIL_CRC32_H
#define UTIL_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continue the checksum `crc` (0: start) with `size` bytes. */
uint32_t crc32_update(uint32_t crc, const void *bytes, size_t size);

#endif
