/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UTIL_BISECT_H
#define UTIL_BISECT_H

/* How many of the numbers 0 to count - 1 have `holds`, an expression of `at`: the first
 * ones have it, and all further ones have not. */
#define bisect(count, at, holds)                                                         \
	__extension__({                                                                  \
		__typeof__((count) + 0) low_ = 0, high_ = (count);                       \
                                                                                         \
		while (low_ < high_) {                                                   \
			__typeof__(low_) at = low_ + (high_ - low_) / 2;                 \
                                                                                         \
			if (holds)                                                       \
				low_ = at + 1;                                           \
			else                                                             \
				high_ = at;                                              \
		}                                                                        \
		low_;                                                                    \
	})

#endif
