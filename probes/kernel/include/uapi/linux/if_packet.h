/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* libbcc's helpers.h includes it; our probes use nothing from it. */
