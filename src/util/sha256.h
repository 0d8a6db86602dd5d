/* SPDX-License-Identifier: Apache-2.0 */
/* The hash SHA-256 (FIPS 180-4) of short texts. None of the libraries that memtrace links
 * has it, and AF_ALG needs a kernel module that containers may not load. */
#ifndef UTIL_SHA256_H
#define UTIL_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define SHA256_BYTES 32

void sha256(const void *data, size_t len, uint8_t ret[SHA256_BYTES]);

/* The hash in base64 (RFC 4648 section 4), as in a page's content security policy. */
#define SHA256_BASE64_CHARS 44
struct sha256_text {
	char s[SHA256_BASE64_CHARS + 1];
};
struct sha256_text sha256_base64(const char *text);

#endif
