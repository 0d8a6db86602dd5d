// SPDX-License-Identifier: Apache-2.0
#include "render/json/groups.h"

#include "report/functions.h"

static void write_thread(struct json_stream *s, const struct report *report,
			 const struct groups *groups, const struct group *group)
{
	const struct snapshot_thread *thread = group_thread(report, groups, group);
	const struct snapshot_process *process =
		thread ? snapshot_process(report->snapshot, thread->process) : NULL;

	json_stream_text(s, "name", thread ? thread->name : NULL);
	json_stream_unsigned(s, "tid", group->tid);
	if (process)
		json_stream_integer(s, "pid", process->pid);
	else
		json_stream_null(s, "pid");
}

static void write_code(struct json_stream *s, const struct groups *groups,
		       const struct group *group)
{
	json_stream_text(s, "name", group_name(groups, group));
	json_stream_text(s, "module", group_module(groups, group));
	json_stream_text(s, "file", group_file(groups, group));
	if (group->line)
		json_stream_unsigned(s, "line", group->line);
	else
		json_stream_null(s, "line");
}

static void write_identity(struct json_stream *s, const struct report *report,
			   const struct groups *groups, const struct group *group)
{
	const struct snapshot_allocator *allocator = group->row->allocator;

	if (group->kind == GROUP_THREAD)
		write_thread(s, report, groups, group);
	else if (group->kind == GROUP_ALLOCATOR)
		json_stream_text(s, "name", allocator ? allocator->label : NULL);
	else
		write_code(s, groups, group);
}

static void write_sum(struct json_stream *s, const char *key,
		      const struct function_sum *sum, bool has_growth)
{
	json_stream_open(s, key, '{');
	json_stream_unsigned(s, "size_bytes", sum->size_bytes);
	json_stream_unsigned(s, "blocks", sum->count);
	if (has_growth)
		json_stream_integer(s, "growth_bytes", sum->growth_bytes);
	json_stream_close(s, '}');
}

static void write_list(struct json_page *page, const struct functions *functions)
{
	bool has_growth = functions_have_growth(functions->groups.by);
	struct json_stream *s = &page->stream;
	size_t shown = json_shown(page->report, functions->count);

	for (size_t i = 0; i < shown; i++) {
		const struct function *function = &functions->list[i];
		const struct group *group = &functions->groups.list.data[function->group];

		json_stream_open(s, NULL, '{');
		write_identity(s, page->report, &functions->groups, group);
		write_sum(s, "flat", &function->flat, has_growth);
		write_sum(s, "cumulative", &function->cumulative, has_growth);
		json_stream_close(s, '}');
		json_stream_flush_some(s);
	}
}

void json_write_groups(struct json_page *page, const struct report_section *section)
{
	struct functions functions;
	struct error *err;

	if (!functions_are_shown(page->report))
		return;
	err = functions_find(page->report, section, page->report->options.group_by,
			     &functions);
	json_stream_open(&page->stream, "groups", '[');
	if (err)
		page->stream.text.failed = true;
	else
		write_list(page, &functions);
	json_stream_close(&page->stream, ']');
	error_destroy(err);
	functions_deinit(&functions);
}
