/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* libbcc supplies the BPF interface itself, in its virtual bpf.h. */
#include <linux/types.h>
#include <linux/bpf_common.h>
