/* SPDX-License-Identifier: Apache-2.0 */
/* Definitions for single fragments of the probes that are compiled for the host, with
 * maps of the test. host_bpf/ compiles all fragments. */
#ifndef TESTS_PROBES_HOST_H
#define TESTS_PROBES_HOST_H

#include "abi.h"
#include "host_bpf/probes.h"
#include "host_bpf/instructions.h"

#endif
