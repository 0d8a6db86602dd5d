/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* In place of late_numbers.c: without unwind rules each stack has its number at once. */

#define traffic_is_late(event) 0
