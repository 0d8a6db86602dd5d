/* SPDX-License-Identifier: Apache-2.0 */
/* libbcc's helpers.h includes it; our probes use nothing from it. */
