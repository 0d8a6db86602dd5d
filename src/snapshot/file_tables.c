// SPDX-License-Identifier: Apache-2.0
#include "snapshot/file_tables.h"

#include <string.h>

#define KIND(value)                                                                      \
	_Generic((value), bool                                                           \
		 : FILE_FLAG, double                                                     \
		 : FILE_FLOAT, char *                                                    \
		 : FILE_TEXT, default                                                    \
		 : FILE_INTEGER)

#define MEMBER(type, member) (((type *)NULL)->member)

#define FIELD(type, member)  NAMED(#member, type, member)
/* For a member whose name differs from the field's name in files. */
#define NAMED(text, type, member)                                                        \
	{                                                                                \
		.name = (text), .offset = offsetof(type, member),                        \
		.kind = KIND(MEMBER(type, member)),                                      \
		.width = sizeof(MEMBER(type, member)), .count = 1                        \
	}
#define ARRAY(type, member)                                                              \
	{                                                                                \
		.name = #member, .offset = offsetof(type, member),                       \
		.kind = KIND(MEMBER(type, member)[0]),                                   \
		.width = sizeof(MEMBER(type, member)[0]),                                \
		.count = sizeof(MEMBER(type, member)) / sizeof(MEMBER(type, member)[0])  \
	}

/* clang-format off */
static const struct file_field run_fields[] = {
#define F(member) FIELD(struct snapshot, member)
	F(library), F(wall_ns), F(time_ns), F(attached_ns), F(mappings_traced),
	NAMED("sample_every", struct snapshot, sampling.every),
	NAMED("sample_bytes", struct snapshot, sampling.mean_bytes),
	F(min_size_bytes), F(max_size_bytes),
	F(max_allocations), F(max_stacks), F(max_threads), F(has_traffic), F(has_lifetimes),
	F(has_trends), ARRAY(struct snapshot, sizes), F(peak_bytes), F(peak_time_ns),
	F(estimated_peak_bytes), F(ages_unknown), F(cause), F(before.reports), F(before.time_ns),
	ARRAY(struct snapshot, before.estimated_live_bytes), F(kernel_traced),
	F(heap_untraced), F(launched), F(inconsistent), F(has_at_peak), F(missed_peak_bytes),
	F(search.count), F(search.time_ns), F(search.took_ns), F(search.pause_ns),
	F(search.read_bytes), F(search.threads), F(search.processes), F(search.unsearched),
	F(search.has_rings),
#undef F
};

static const struct file_field process_fields[] = {
#define F(member) FIELD(struct snapshot_process, member)
	F(pid), F(namespace_pid), F(command), F(executable), F(exited),
	F(memory.vm_size_bytes), F(memory.vm_rss_bytes), F(memory.vm_data_bytes),
	F(memory.vm_hwm_bytes), F(memory.rss_anon_bytes), F(memory.rss_file_bytes),
	F(memory.rss_shmem_bytes),
#undef F
};

static const struct file_field module_fields[] = {
#define F(member) FIELD(struct file_module, member)
	F(process), F(module.start), F(module.end), F(module.file_offset),
	F(module.path), F(module.build_id),
#undef F
};

static const struct file_field allocator_fields[] = {
#define F(member) FIELD(struct snapshot_allocator, member)
	F(label), F(module),
#undef F
};

static const struct file_field block_fields[] = {
#define F(member) FIELD(struct snapshot_block, member)
	F(address), F(size_bytes), F(time_ns), F(stack), F(tid), F(process),
#undef F
};

static const struct file_field held_fields[] = {
#define F(member) FIELD(struct snapshot_held, member)
	F(size_bytes), F(count), F(estimated_bytes), F(estimated_count), F(oldest_ns),
	F(newest_ns),
#undef F
};

static const struct file_field stack_fields[] = {
#define F(member) FIELD(struct snapshot_stack, member)
	F(first_frame), F(depth), F(end), F(allocator), F(process), F(gap),
#undef F
};

static const struct file_field frame_fields[] = {
	{"address", 0, FILE_INTEGER, sizeof(uint64_t), 1},
};

static const struct file_field end_fields[] = {FIELD(struct file_end, name)};

static const struct file_field loss_fields[] = {
	FIELD(struct file_loss, name), FIELD(struct file_loss, count),
};

static const struct file_field totals_fields[] = {
#define F(member) FIELD(struct snapshot_totals, member)
	F(allocations), F(allocated_bytes), F(frees), F(freed_bytes), F(frees_unknown),
	F(failures), F(gone), F(gone_bytes),
#undef F
};

static const struct file_field kernel_class_fields[] = {
#define F(member) FIELD(struct snapshot_kernel_class, member)
	F(name), F(totals.allocations), F(totals.allocated_bytes), F(totals.frees),
	F(totals.freed_bytes), F(totals.frees_unknown), F(totals.failures),
	F(totals.gone), F(totals.gone_bytes),
#undef F
};

static const struct file_field traffic_fields[] = {
#define F(member) FIELD(struct snapshot_traffic, member)
	F(allocations), F(allocated_bytes), F(frees), F(freed_bytes), F(temporary),
	F(peak_bytes), F(peak_time_ns), F(peak_count), F(estimated_allocations),
	F(estimated_allocated_bytes), F(estimated_frees), F(estimated_freed_bytes),
	F(estimated_temporary), F(estimated_peak_bytes),
#undef F
};

static const struct file_field lifetimes_fields[] = {
	ARRAY(struct snapshot_lifetimes, count),
};

static const struct file_field path_sizes_fields[] = {
	ARRAY(struct snapshot_path_sizes, count),
};

static const struct file_field at_peak_fields[] = {
#define F(member) FIELD(struct snapshot_at_peak, member)
	F(bytes), F(count),
#undef F
};

static const struct file_field unreachable_fields[] = {
#define F(member) FIELD(struct snapshot_unreachable, member)
	F(lost.bytes), F(lost.count), F(held.bytes), F(held.count), F(possible.bytes),
	F(possible.count), F(unverified.bytes), F(unverified.count),
	F(lost_but_freed.bytes), F(lost_but_freed.count), F(held_but_freed.bytes),
	F(held_but_freed.count),
#undef F
};

static const struct file_field trend_fields[] = {
#define F(member) FIELD(struct snapshot_trend, member)
	F(intervals), F(grew), F(shrank), F(slope_bytes_per_s), F(determination),
	F(stands), F(rise_bytes), F(fall_bytes),
#undef F
};

static const struct file_field thread_fields[] = {
#define F(member) FIELD(struct snapshot_thread, member)
	F(process), F(tid), F(name), F(exited), F(allocations), F(allocated_bytes),
	F(frees), F(freed_bytes), F(freed_by_others), F(freed_by_others_bytes),
	F(freed_own), F(freed_own_bytes),
#undef F
};

static const struct file_field moment_fields[] = {
#define F(member) FIELD(struct snapshot_moment, member)
	F(time_ns), ARRAY(struct snapshot_moment, live_bytes),
	ARRAY(struct snapshot_moment, live_blocks), F(allocations), F(allocated_bytes),
	F(frees), F(vm_rss_bytes),
#undef F
};

static const struct file_field name_fields[] = {
#define F(member) FIELD(struct snapshot_name, member)
	F(process), F(address), F(symbol), F(module), F(offset), F(first_source),
	F(source_count),
#undef F
};

static const struct file_field source_fields[] = {
#define F(member) FIELD(struct snapshot_source, member)
	F(function), F(file), F(line), F(column), F(inlined),
#undef F
};

static const struct file_field stack_before_fields[] = {
#define F(member) FIELD(struct snapshot_stack_before, member)
	F(size_bytes), F(count), F(estimated_bytes), F(estimated_count),
#undef F
};

static const struct file_field process_before_fields[] = {
#define F(member) FIELD(struct snapshot_process_before, member)
	F(pid), F(size_bytes), F(count), F(estimated_bytes), F(estimated_count),
#undef F
};

#define TABLE(label, fixed, member, type, list)                                          \
	{                                                                                \
		.name = label, .offset = offsetof(struct file_content, member),          \
		.rows = fixed, .row_bytes = sizeof(type), .fields = list,                \
		.field_count = sizeof(list) / sizeof(*list)                              \
	}
#define VECTOR(label, member, type, list) TABLE(label, 0, member, type, list)
#define FIXED(label, count, member, type, list) TABLE(label, count, member, type, list)

/* In the order of the file. */
const struct file_table file_tables[] = {
	FIXED("run", 1, snap, struct snapshot, run_fields),
	VECTOR("processes", snap.processes, struct snapshot_process, process_fields),
	VECTOR("modules", modules, struct file_module, module_fields),
	VECTOR("allocators", snap.allocators, struct snapshot_allocator,
	       allocator_fields),
	VECTOR("ends", ends, struct file_end, end_fields),
	VECTOR("losses", losses, struct file_loss, loss_fields),
	FIXED("totals", BLOCK_EVENT, snap.totals, struct snapshot_totals,
	      totals_fields),
	FIXED("totals.kernel", 1, snap.totals[BLOCK_KERNEL], struct snapshot_totals,
	      totals_fields),
	VECTOR("kernel.classes", snap.kernel_classes, struct snapshot_kernel_class,
	       kernel_class_fields),
	FIXED("estimated", 1, snap.estimated, struct snapshot_totals, totals_fields),
	VECTOR("frames", snap.frames, uint64_t, frame_fields),
	VECTOR("stacks", snap.stacks, struct snapshot_stack, stack_fields),
	VECTOR("heap", snap.blocks[BLOCK_HEAP], struct snapshot_block, block_fields),
	VECTOR("mappings", snap.blocks[BLOCK_MAPPING], struct snapshot_block,
	       block_fields),
	VECTOR("kernel", snap.blocks[BLOCK_KERNEL], struct snapshot_block, block_fields),
	VECTOR("held.heap", snap.held[BLOCK_HEAP], struct snapshot_held, held_fields),
	VECTOR("held.mappings", snap.held[BLOCK_MAPPING], struct snapshot_held,
	       held_fields),
	VECTOR("traffic", snap.traffic, struct snapshot_traffic, traffic_fields),
	VECTOR("lifetimes", snap.lifetimes, struct snapshot_lifetimes, lifetimes_fields),
	VECTOR("path_sizes", snap.path_sizes, struct snapshot_path_sizes,
	       path_sizes_fields),
	VECTOR("at_peak", snap.at_peak, struct snapshot_at_peak, at_peak_fields),
	FIXED("search.total", 1, snap.search.total, struct snapshot_unreachable,
	      unreachable_fields),
	VECTOR("unreachable", snap.unreachable, struct snapshot_unreachable,
	       unreachable_fields),
	VECTOR("trends.heap", snap.trends[BLOCK_HEAP], struct snapshot_trend,
	       trend_fields),
	VECTOR("trends.mappings", snap.trends[BLOCK_MAPPING], struct snapshot_trend,
	       trend_fields),
	VECTOR("trends.kernel", snap.trends[BLOCK_KERNEL], struct snapshot_trend,
	       trend_fields),
	VECTOR("threads", snap.threads, struct snapshot_thread, thread_fields),
	VECTOR("moments", snap.moments, struct snapshot_moment, moment_fields),
	VECTOR("names", snap.names, struct snapshot_name, name_fields),
	VECTOR("sources", snap.sources, struct snapshot_source, source_fields),
	FIXED("before.totals", BLOCK_EVENT, snap.before.totals,
	      struct snapshot_totals, totals_fields),
	FIXED("before.totals.kernel", 1, snap.before.totals[BLOCK_KERNEL],
	      struct snapshot_totals, totals_fields),
	FIXED("before.estimated.kernel", 1, snap.before.estimated_totals[BLOCK_KERNEL],
	      struct snapshot_totals, totals_fields),
	FIXED("before.estimated", BLOCK_EVENT, snap.before.estimated_totals,
	      struct snapshot_totals, totals_fields),
	VECTOR("before.heap", snap.before.stacks[BLOCK_HEAP],
	       struct snapshot_stack_before, stack_before_fields),
	VECTOR("before.mappings", snap.before.stacks[BLOCK_MAPPING],
	       struct snapshot_stack_before, stack_before_fields),
	VECTOR("before.kernel", snap.before.stacks[BLOCK_KERNEL],
	       struct snapshot_stack_before, stack_before_fields),
	VECTOR("before.traffic", snap.before.traffic, struct snapshot_traffic,
	       traffic_fields),
	VECTOR("before.processes.heap", snap.before.processes[BLOCK_HEAP],
	       struct snapshot_process_before, process_before_fields),
	VECTOR("before.processes.kernel", snap.before.processes[BLOCK_KERNEL],
	       struct snapshot_process_before, process_before_fields),
	VECTOR("before.processes.mappings", snap.before.processes[BLOCK_MAPPING],
	       struct snapshot_process_before, process_before_fields),
};
/* clang-format on */

const size_t file_table_count = sizeof(file_tables) / sizeof(*file_tables);

/* All VEC()s have these members, of these types but for the first. */
struct any_vec {
	char *data;
	size_t len, cap;
};

struct file_rows file_rows_get(const struct file_table *table,
			       struct file_content *content)
{
	char *at = (char *)content + table->offset;
	struct any_vec vec;

	if (table->rows)
		return (struct file_rows){at, table->rows};
	memcpy(&vec, at, sizeof(vec));
	return (struct file_rows){vec.data, vec.len};
}

bool file_table_is_plain(const struct file_table *table)
{
	for (size_t i = 0; i < table->field_count; i++)
		if (table->fields[i].kind == FILE_TEXT)
			return false;
	return !table->rows;
}

bool file_rows_make(const struct file_table *table, struct file_content *content,
		    size_t count, bool is_zeroed)
{
	char *at = (char *)content + table->offset;
	struct any_vec vec = {.len = count, .cap = count};

	if (table->rows || !count)
		return true;
	if (is_zeroed)
		vec.data = calloc(count, table->row_bytes);
	else if (count <= SIZE_MAX / table->row_bytes)
		vec.data = malloc(count * table->row_bytes);
	if (!vec.data)
		return false;
	memcpy(at, &vec, sizeof(vec));
	return true;
}

size_t file_field_bytes(const struct file_field *field)
{
	return field->kind == FILE_TEXT ? sizeof(uint32_t) : field->width;
}

char file_kind_letter(enum file_kind kind)
{
	static const char letters[] = {[FILE_INTEGER] = 'i',
				       [FILE_FLAG] = 'b',
				       [FILE_FLOAT] = 'f',
				       [FILE_TEXT] = 's'};

	return letters[kind];
}

void file_content_deinit(struct file_content *content)
{
	vec_deinit(&content->modules);
	vec_deinit(&content->losses);
	vec_deinit(&content->ends);
}
