/* SPDX-License-Identifier: Apache-2.0 */
/* libbcc supplies the BPF interface itself, in its virtual bpf.h. */
#include <linux/types.h>
#include <linux/bpf_common.h>
