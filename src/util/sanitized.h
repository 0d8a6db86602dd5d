/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_SANITIZED_H
#define UTIL_SANITIZED_H

/*
 * Is this a build with AddressSanitizer or ThreadSanitizer? Both map terabytes for their
 * shadow memory. The leak checker of the first traces the process's own threads; the
 * second has a thread of its own in every process. Limits and filters must permit that.
 */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define IS_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define IS_SANITIZED 1
#endif
#endif
#ifndef IS_SANITIZED
#define IS_SANITIZED 0
#endif

#endif
