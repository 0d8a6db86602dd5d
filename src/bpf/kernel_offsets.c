// SPDX-License-Identifier: Apache-2.0
#include "bpf/kernel_offsets.h"

#include <string.h>

#include <bpf/btf.h>

#include "arch/arch.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free);

/* Find a member, also in nested anonymous structs: its offset in bytes and its type. */
static bool member_find(const struct btf *btf, uint32_t type_id, const char *name,
			uint32_t *offset, uint32_t *member_type)
{
	const struct btf_type *t = btf__type_by_id(btf, btf__resolve_type(btf, type_id));

	if (!t || !btf_is_composite(t))
		return false;
	for (uint16_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		const char *member_name = btf__name_by_offset(btf, m->name_off);
		uint32_t at = btf_member_bit_offset(t, i) / 8;

		if (member_name && !strcmp(member_name, name)) {
			*offset = at;
			*member_type = m->type;
			return true;
		}
		if ((!member_name || !*member_name) &&
		    member_find(btf, m->type, name, offset, member_type)) {
			*offset += at;
			return true;
		}
	}
	return false;
}

static bool struct_member(const struct btf *btf, const char *type, const char *name,
			  uint32_t *offset, uint32_t *member_type)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);

	return id > 0 && member_find(btf, (uint32_t)id, name, offset, member_type);
}

static uint32_t stack_bytes(const struct btf *btf)
{
	uint32_t offset, type;

	return struct_member(btf, "kmem_cache", "kasan_info", &offset, &type)
		       ? arch.kernel_stack_kasan_bytes
		       : arch.kernel_stack_bytes;
}

void kernel_offsets_read(struct kernel_offsets *ret)
{
	_cleanup_(btf__freep) struct btf *btf = btf__load_vmlinux_btf();
	uint32_t state, area, type;

	*ret = (struct kernel_offsets){0};
	if (!btf)
		return;

	if (struct_member(btf, "task_struct", "mm", &ret->task_mm, &type) &&
	    struct_member(btf, "mm_struct", "uprobes_state", &state, &type) &&
	    member_find(btf, type, "xol_area", &area, &type) &&
	    struct_member(btf, "xol_area", "vaddr", &ret->xol_vaddr, &type)) {
		ret->mm_xol_area = state + area;
		ret->has_trampoline = true;
	}
	ret->has_code_pages =
		struct_member(btf, "task_struct", "mm", &ret->task_mm, &type) &&
		struct_member(btf, "mm_struct", "exec_vm", &ret->mm_code_pages, &type);
	if (ret->has_code_pages &&
	    struct_member(btf, "mm_struct", "start_stack", &ret->mm_start_stack, &type) &&
	    struct_member(btf, "task_struct", "thread", &state, &type) &&
	    member_find(btf, type, "fsbase", &area, &type)) {
		ret->task_fsbase = state + area;
		ret->has_stack_ends = true;
	}
	ret->has_instances =
		struct_member(btf, "task_struct", "utask", &ret->task_utask, &type) &&
		struct_member(btf, "uprobe_task", "return_instances",
			      &ret->utask_instances, &type) &&
		struct_member(btf, "return_instance", "stack", &ret->instance_stack,
			      &type) &&
		struct_member(btf, "return_instance", "orig_ret_vaddr",
			      &ret->instance_return, &type) &&
		struct_member(btf, "return_instance", "next", &ret->instance_next, &type);
	ret->has_task = struct_member(btf, "task_struct", "pid", &ret->task_pid, &type) &&
			struct_member(btf, "task_struct", "tgid", &ret->task_tgid, &type);
	ret->has_parent = ret->has_task &&
			  struct_member(btf, "task_struct", "mm", &ret->task_mm, &type) &&
			  struct_member(btf, "task_struct", "real_parent",
					&ret->task_real_parent, &type);
	ret->has_live =
		struct_member(btf, "task_struct", "signal", &ret->task_signal, &type) &&
		struct_member(btf, "signal_struct", "live", &ret->signal_live, &type);
	ret->stack_bytes = stack_bytes(btf);
	ret->has_stack = ret->stack_bytes && struct_member(btf, "task_struct", "stack",
							   &ret->task_stack, &type);
	ret->has_pt_regs = arch.member_count &&
			   btf__find_by_name_kind(btf, "pt_regs", BTF_KIND_STRUCT) > 0;
	ret->pt_regs_as_embedded = ret->has_pt_regs;
	for (size_t i = 0; i < arch.member_count; i++) {
		uint32_t offset;

		if (!struct_member(btf, "pt_regs", arch.members[i].name, &offset,
				   &type) ||
		    offset != arch.members[i].offset)
			ret->pt_regs_as_embedded = false;
	}
}

/* --- syscall user dispatch ------------------------------------------------------------
 */

/* Get the value of an enumerator. */
static bool enum_value(const struct btf *btf, const char *type, const char *name,
		       uint32_t *ret)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_ENUM);
	const struct btf_type *t = id > 0 ? btf__type_by_id(btf, (uint32_t)id) : NULL;

	for (uint16_t i = 0; t && i < btf_vlen(t); i++) {
		const struct btf_enum *e = btf_enum(t) + i;
		const char *found = btf__name_by_offset(btf, e->name_off);

		if (found && !strcmp(found, name)) {
			*ret = (uint32_t)e->val;
			return true;
		}
	}
	return false;
}

bool kernel_dispatch_read(struct kernel_dispatch *ret)
{
	_cleanup_(btf__freep) struct btf *btf = btf__load_vmlinux_btf();
	uint32_t info, info_type, work, type;
	int iterator =
		btf ? btf__find_by_name_kind(btf, "bpf_iter_task", BTF_KIND_FUNC) : -1;

	if (iterator <= 0 ||
	    !struct_member(btf, "task_struct", "thread_info", &info, &info_type) ||
	    !member_find(btf, info_type, "syscall_work", &work, &type) ||
	    !enum_value(btf, "syscall_work_bit", "SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH",
			&ret->work_bit))
		return false;
	ret->iterator = (uint32_t)iterator;
	ret->task_work = info + work;
	return ret->work_bit < 31 && ret->task_work <= INT16_MAX;
}
