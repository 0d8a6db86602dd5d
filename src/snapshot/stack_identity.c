// SPDX-License-Identifier: Apache-2.0
#include "snapshot/stack_identity.h"

#include <string.h>
#include <sys/random.h>

#include "util/ends_with.h"
#include "util/strbuf.h"

__extension__ typedef unsigned __int128 wide;

#define PRIME ((UINT64_C(1) << 61) - 1)

/* The kind of a frame, and with it the meaning of its other two words. */
enum frame_kind {
	FRAME_ANONYMOUS, /* code outside files: an address in a process */
	FRAME_FILE,      /* an offset in a file */
	FRAME_KERNEL, /* an address in the kernel, which is the same in all processes */
};

/* The upper half of the address space is the kernel's. */
#define KERNEL_BIT (UINT64_C(1) << 63)

static uint64_t random_point(void)
{
	uint64_t point;

	if (getrandom(&point, sizeof(point), GRND_NONBLOCK) != sizeof(point))
		point = hashmap_seed();
	return point % (PRIME - 1) + 1;
}

void stack_identities_init(struct stack_identities *ids)
{
	*ids = (struct stack_identities){.points = {random_point(), random_point()}};
}

void stack_identities_deinit(struct stack_identities *ids)
{
	stack_identities_end(ids);
	vec_deinit(&ids->allocators);
	string_table_deinit(&ids->texts);
}

static bool intern(struct stack_identities *ids, char kind, const char *text,
		   const char *more, uint32_t *ret)
{
	struct strbuf key = {0};
	bool ok;

	strbuf_append_char(&key, kind);
	strbuf_append(&key, text ? text : "");
	/* A byte that is rare in names separates the two texts. */
	if (more) {
		strbuf_append_char(&key, '\x1f');
		strbuf_append(&key, more);
	}
	ok = !key.failed && string_table_add(&ids->texts, strbuf_text(&key), ret);
	strbuf_deinit(&key);
	return ok;
}

bool stack_identities_begin(struct stack_identities *ids, const struct snapshot *snap)
{
	ids->snap = snap;
	ids->allocators.len = 0;
	ids->processes = calloc(snap->processes.len + 1, sizeof(*ids->processes));
	if (!ids->processes)
		return false;
	vec_foreach (allocator, &snap->allocators) {
		uint32_t id;

		if (!intern(ids, 'a', allocator->label, allocator->module, &id) ||
		    !vec_push(&ids->allocators, id))
			return false;
	}
	return true;
}

void stack_identities_end(struct stack_identities *ids)
{
	for (size_t i = 0; ids->processes && i < ids->snap->processes.len; i++)
		free(ids->processes[i].modules);
	free(ids->processes);
	ids->processes = NULL;
	ids->snap = NULL;
}

/* Does the module's name mean the same file in all processes? The kernel appends "
 * (deleted)" to the path of a file without a directory entry: a file that was removed, of
 * memfd_create(), or shared memory (d_path(), fs/d_path.c). */
static bool is_file(const struct snapshot_module *module)
{
	return module->build_id || !strcmp(module->path, "[vdso]") ||
	       (module->path[0] == '/' && module->path[1] != '/' &&
		!ends_with(module->path, strlen(module->path), " (deleted)"));
}

/* The numbers of a process's modules; STRING_NONE: not a file. */
static const uint32_t *modules_of(struct stack_identities *ids, uint32_t process)
{
	const struct snapshot_process *p = &ids->snap->processes.data[process];
	uint32_t **list = &ids->processes[process].modules;

	if (*list)
		return *list;
	*list = calloc(p->modules.len + 1, sizeof(**list));
	for (size_t i = 0; *list && i < p->modules.len; i++) {
		const struct snapshot_module *module = &p->modules.data[i];
		bool by_id = module->build_id;

		(*list)[i] = STRING_NONE;
		if (is_file(module) &&
		    !intern(ids, by_id ? 'b' : 'p',
			    by_id ? module->build_id : module->path, NULL, &(*list)[i])) {
			free(*list);
			*list = NULL;
		}
	}
	return *list;
}

static uint64_t multiply(uint64_t a, uint64_t b)
{
	wide product = (wide)a * b;
	uint64_t sum = (uint64_t)(product & PRIME) + (uint64_t)(product >> 61);

	return sum >= PRIME ? sum - PRIME : sum;
}

/* Continue the polynomials with `word`, which must be less than 2^60. */
static void feed(const struct stack_identities *ids, struct stack_identity *id,
		 uint64_t word)
{
	uint64_t first = multiply(id->first, ids->points[0]) + word;
	uint64_t second = multiply(id->second, ids->points[1]) + word;

	id->first = first >= PRIME ? first - PRIME : first;
	id->second = second >= PRIME ? second - PRIME : second;
}

static void feed_frame(const struct stack_identities *ids, struct stack_identity *id,
		       enum frame_kind kind, uint32_t whose, uint64_t place)
{
	feed(ids, id, (uint64_t)whose << 2 | (uint64_t)kind);
	feed(ids, id, place >> 32);
	feed(ids, id, (uint32_t)place);
}

bool stack_identities_get(struct stack_identities *ids,
			  const struct snapshot_stack *stack, struct stack_identity *ret)
{
	const struct snapshot *snap = ids->snap;
	const struct snapshot_process *process = &snap->processes.data[stack->process];
	const uint32_t *modules = modules_of(ids, stack->process);
	const struct snapshot_module *module = NULL;
	size_t depth = stack->depth;

	if (!modules)
		return false;
	if (stack->first_frame > snap->frames.len ||
	    depth > snap->frames.len - stack->first_frame)
		depth = 0;
	*ret = (struct stack_identity){.first = 1, .second = 1};
	feed(ids, ret,
	     stack->allocator < ids->allocators.len
		     ? ids->allocators.data[stack->allocator]
		     : STRING_NONE);
	feed(ids, ret, (uint64_t)stack->end << 32 | (uint64_t)stack->gap << 16 | depth);
	for (size_t i = 0; i < depth; i++) {
		uint64_t address = snap->frames.data[stack->first_frame + i];
		/* The last byte of the call. */
		uint64_t call = address ? address - 1 : 0;

		/* Callers and callees often share a file. */
		if (!module || call < module->start || call >= module->end)
			module = snapshot_find_module(process, call);
		if (module && modules[module - process->modules.data] != STRING_NONE)
			feed_frame(ids, ret, FRAME_FILE,
				   modules[module - process->modules.data],
				   call - module->start + module->file_offset);
		else if (!module && call & KERNEL_BIT)
			feed_frame(ids, ret, FRAME_KERNEL, 0, call);
		else
			feed_frame(ids, ret, FRAME_ANONYMOUS, (uint32_t)process->pid,
				   call);
	}
	return true;
}
