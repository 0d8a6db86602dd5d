// SPDX-License-Identifier: Apache-2.0
#include "empty_probes.h"

#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"
#include "attach/attach.h"
#include "bpf/features.h"
#include "plan/plan.h"
#include "probe_places.h"
#include "process/proc.h"

struct empty_probes {
	struct attachment attachment;
	int program, return_program;
	int stacks; /* a BPF_MAP_TYPE_STACK_TRACE map, or -1 */
};

static void require(struct error *err)
{
	if (err)
		die("empty probes: %s", err->message);
}

static int load_empty(uint32_t attach_type)
{
	int fd = kernel_load_empty(BPF_PROG_TYPE_KPROBE, attach_type);

	if (fd < 0)
		die("cannot load an empty program: %s", strerror(-fd));
	return fd;
}

#define STACK_DEPTH 127

/* Call bpf_get_stackid(): r2 = the map; r3 = BPF_F_USER_STACK. */
static int load_stackid(uint32_t attach_type, int stacks)
{
	const struct bpf_insn insns[] = {
		{.code = BPF_LD | BPF_DW | BPF_IMM,
		 .dst_reg = BPF_REG_2,
		 .src_reg = BPF_PSEUDO_MAP_FD,
		 .imm = stacks},
		{0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K,
		 .dst_reg = BPF_REG_3,
		 .imm = BPF_F_USER_STACK},
		{.code = BPF_JMP | BPF_CALL, .imm = BPF_FUNC_get_stackid},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = attach_type);
	int fd = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "stackid", "GPL", insns,
			       sizeof(insns) / sizeof(*insns), &options);

	if (fd < 0)
		die("cannot load a program with bpf_get_stackid: %s", strerror(-fd));
	return fd;
}

/* Probes in the files that process `of` has mapped. They fire in process `pid`, or, if
 * that is 0, in every process that maps such a file. */
static struct empty_probes *probes_attach(pid_t of, pid_t pid, enum probe_places places,
					  bool with_stacks)
{
	struct empty_probes *self = calloc(1, sizeof(*self));
	struct kernel_features features;
	struct proc_maps maps = {0};
	struct proc *proc;
	struct probe_list probes;
	struct plan *plan;

	require(proc_open(of, &proc));
	require(proc_read_maps(proc, &maps));
	require(plan_build(proc, &maps, &(struct plan_options){0}, &plan));

	if (!self)
		die("out of memory");
	kernel_features_detect(&features);
	self->attachment.ops =
		features.uprobe_multi ? &attach_uprobe_multi : &attach_perf_event;
	self->program = self->return_program =
		load_empty(self->attachment.ops->attach_type);
	self->stacks = -1;
	if (with_stacks) {
		self->stacks = bpf_map_create(BPF_MAP_TYPE_STACK_TRACE, "stacks", 4,
					      STACK_DEPTH * 8, 16384, NULL);
		if (self->stacks < 0)
			die("cannot make a map of stacks: %s", strerror(-self->stacks));
		self->return_program =
			load_stackid(self->attachment.ops->attach_type, self->stacks);
	}
	probe_list_init(&probes, plan, places);
	vec_foreach (probe, &probes.list)
		probe->program = probe->is_return ? self->return_program : self->program;
	if (probes.list.len)
		require(self->attachment.ops->attach(&self->attachment, pid,
						     probes.list.data, probes.list.len,
						     features.cookies));
	probe_list_deinit(&probes);
	plan_destroy(plan);
	proc_maps_deinit(&maps);
	proc_close(proc);
	return self;
}

struct empty_probes *empty_probes_attach(pid_t pid)
{
	return probes_attach(pid, pid, PLACES_OUTSIDE, false);
}

struct empty_probes *inside_probes_attach(pid_t pid)
{
	return probes_attach(pid, pid, PLACES_INSIDE, false);
}

struct empty_probes *inside_probes_attach_to_all(pid_t pid)
{
	return probes_attach(pid, 0, PLACES_INSIDE, false);
}

struct empty_probes *stepped_probes_attach(pid_t pid)
{
	return probes_attach(pid, pid, PLACES_STEPPED, false);
}

struct empty_probes *stackid_probes_attach(pid_t pid)
{
	return probes_attach(pid, pid, PLACES_OUTSIDE, true);
}

double empty_probes_detach(struct empty_probes *self)
{
	uint64_t start_ns = now_ns();

	self->attachment.ops->detach(&self->attachment);
	if (self->stacks >= 0) {
		close(self->return_program);
		close(self->stacks);
	}
	close(self->program);
	free(self);
	return (double)(now_ns() - start_ns) / 1e6;
}
