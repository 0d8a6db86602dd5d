/* SPDX-License-Identifier: Apache-2.0 */
/* Named by libbcc's helpers.h; our probes use nothing from it. */
