// SPDX-License-Identifier: Apache-2.0
#include "render/class_words.h"

static const struct class_words words[BLOCK_CLASS_COUNT] = {
	[BLOCK_HEAP] = {.is_live = true,
			.is_in_json = true,
			.name = "heap",
			.csv = "heap",
			.measure = "memory",
			.innermost = "allocation function",
			.of_sections = "block",
			.of_sections_many = "blocks",
			.title = "Live heap",
			.heading = "Heap",
			.block = "block",
			.blocks = "blocks",
			.of_sizes = "heap blocks",
			.allocation = "allocation",
			.allocations = "allocations",
			.among = "",
			.stacks = "stacks",
			.origin = "allocated",
			.made = "allocated",
			.gone = "freed",
			.free = "free",
			.frees = "frees"},
	[BLOCK_MAPPING] = {.is_live = true,
			   .is_in_json = true,
			   .name = "mappings",
			   .csv = "mapping",
			   .measure = "memory",
			   .innermost = "allocation function",
			   .of_sections = "block",
			   .of_sections_many = "blocks",
			   .title = "Live mappings",
			   .heading = "Mappings",
			   .block = "mapping",
			   .blocks = "mappings",
			   .of_sizes = "mappings",
			   .allocation = "mapping",
			   .allocations = "mappings",
			   .among = " among mappings",
			   .stacks = "stacks with mappings",
			   .origin = "made",
			   .made = "mapped",
			   .gone = "unmapped",
			   .free = "unmap",
			   .frees = "unmaps"},
	[BLOCK_EVENT] = {.name = "events",
			 .csv = "event",
			 .measure = "events",
			 .innermost = "innermost function",
			 .of_sections = "events and mappings",
			 .of_sections_many = "events and mappings"},
	[BLOCK_KERNEL] = {.is_live = true,
			  .name = "kernel",
			  .csv = "kernel",
			  .subject = "kernel",
			  .measure = "memory",
			  .innermost = "allocation function",
			  .of_sections = "block",
			  .of_sections_many = "blocks",
			  .title = "Live in the kernel",
			  .heading = "Kernel",
			  .block = "block",
			  .blocks = "blocks",
			  .of_sizes = "blocks of the kernel",
			  .allocation = "allocation",
			  .allocations = "allocations",
			  .among = " in the kernel",
			  .stacks = "stacks of the kernel",
			  .origin = "allocated",
			  .made = "allocated",
			  .gone = "freed",
			  .free = "free",
			  .frees = "frees"},
};

const struct class_words *class_words(enum block_class class)
{
	return &words[class];
}

const struct class_words *class_words_main(const struct snapshot *snap)
{
	return class_words(snapshot_main_class(snap));
}

const char *class_blocks(enum block_class class, uint64_t count)
{
	return count == 1 ? words[class].block : words[class].blocks;
}

void class_append_target(struct strbuf *out, const struct snapshot *snap,
			 void (*append)(struct strbuf *out, const char *text))
{
	const struct snapshot_process *first = snap->processes.data;

	const char *subject = class_words_main(snap)->subject;

	if (subject) {
		strbuf_appendf(out, "the %s", subject);
		if (!first->pid)
			return;
		strbuf_append(out, " for ");
	}
	strbuf_appendf(out, "process %d (", first->pid);
	append(out, first->command ? first->command : "unknown");
	strbuf_append_char(out, ')');
}
