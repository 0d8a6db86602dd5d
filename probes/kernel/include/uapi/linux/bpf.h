/* SPDX-License-Identifier: Apache-2.0 */
/* libbcc brings the BPF interface itself (its virtual bpf.h). */
#include <linux/types.h>
#include <linux/bpf_common.h>
