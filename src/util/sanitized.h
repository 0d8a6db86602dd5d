/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_SANITIZED_H
#define UTIL_SANITIZED_H

/*
 * Is this a build with AddressSanitizer? It maps terabytes for its shadow memory, and
 * its leak checker traces the process's own threads. Limits and filters must permit
 * that.
 */
#if defined(__SANITIZE_ADDRESS__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#endif
