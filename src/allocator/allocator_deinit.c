// SPDX-License-Identifier: Apache-2.0
#include <stdlib.h>

#include "allocator/allocator.h"
#include "process/target_file.h"

void allocator_deinit(struct allocator *allocator)
{
	free(allocator->module_path);
	target_file_release(allocator->file);
	free(allocator->label);
	free(allocator->build_id);
	free(allocator->debug_path);
	free(allocator->prefixed);
	vec_deinit(&allocator->functions);
	vec_deinit(&allocator->missing);
	vec_deinit(&allocator->hidden);
	*allocator = (struct allocator){0};
}

void allocators_deinit(struct allocators *allocators)
{
	vec_foreach (allocator, &allocators->list)
		allocator_deinit(allocator);
	vec_deinit(&allocators->list);
}
