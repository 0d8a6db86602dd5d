// SPDX-License-Identifier: Apache-2.0
#include "bpf/code.h"

#include <linux/bpf.h>
#include <sys/stat.h>

#include "util/cleanup.h"

DEFINE_CLEANUP(struct code *, code_destroy);

/* Far more than any real count, so that no product below overflows. */
#define COUNT_MAX (1u << 20)

struct head {
	/* how many of each follow, in this order */
	uint32_t libraries, maps, programs, insns;
};

void code_destroy(struct code *code)
{
	if (!code)
		return;
	vec_deinit(&code->libraries);
	vec_deinit(&code->maps);
	vec_deinit(&code->programs);
	vec_deinit(&code->insns);
	free(code);
}

static size_t packed_bytes(const struct head *head)
{
	return sizeof(*head) + head->libraries * sizeof(struct code_library) +
	       head->maps * sizeof(struct code_map) +
	       head->programs * sizeof(struct code_program) +
	       head->insns * sizeof(struct bpf_insn);
}

#define PUT(at, v)                                                                       \
	do {                                                                             \
		if ((v)->len)                                                            \
			memcpy((at), (v)->data, (v)->len * sizeof(*(v)->data));          \
		(at) += (v)->len * sizeof(*(v)->data);                                   \
	} while (0)

void *code_pack(const struct code *code, size_t *size)
{
	const struct head head = {
		.libraries = (uint32_t)code->libraries.len,
		.maps = (uint32_t)code->maps.len,
		.programs = (uint32_t)code->programs.len,
		.insns = (uint32_t)code->insns.len,
	};
	char *bytes = calloc(1, packed_bytes(&head)), *at = bytes;

	if (!bytes)
		return NULL;
	memcpy(at, &head, sizeof(head));
	at += sizeof(head);
	PUT(at, &code->libraries);
	PUT(at, &code->maps);
	PUT(at, &code->programs);
	PUT(at, &code->insns);
	*size = (size_t)(at - bytes);
	return bytes;
}

#define GET(at, v, count)                                                                \
	(vec_reserve((v), (count) + 1) &&                                                \
	 (memcpy((v)->data, (at), (count) * sizeof(*(v)->data)),                         \
	  (at) += (count) * sizeof(*(v)->data), (v)->len = (count), true))

static bool is_text(const char *text, size_t room)
{
	return memchr(text, 0, room);
}

/* Are all programs within the instructions, and do they name existing maps only? */
static bool is_sound(const struct code *code)
{
	vec_foreach (library, &code->libraries)
		if (!is_text(library->path, sizeof(library->path)))
			return false;
	vec_foreach (map, &code->maps)
		if (!is_text(map->name, sizeof(map->name)))
			return false;
	vec_foreach (program, &code->programs) {
		if (!is_text(program->name, sizeof(program->name)) ||
		    program->first > code->insns.len ||
		    program->count > code->insns.len - program->first)
			return false;

		const struct bpf_insn *insns = code->insns.data + program->first;

		for (uint32_t i = 0; i < program->count; i++) {
			if (insns[i].code != (BPF_LD | BPF_DW | BPF_IMM))
				continue;
			if (i + 1 == program->count)
				return false;
			if (insns[i].src_reg == BPF_PSEUDO_MAP_FD &&
			    (uint32_t)insns[i].imm >= code->maps.len)
				return false;
			i++;
		}
	}
	return true;
}

struct code *code_unpack(const void *bytes, size_t size)
{
	_cleanup_(code_destroyp) struct code *code = calloc(1, sizeof(*code));
	const char *at = bytes;
	struct head head;

	if (!code || size < sizeof(head))
		return NULL;
	memcpy(&head, at, sizeof(head));
	at += sizeof(head);
	if (head.libraries > COUNT_MAX || head.maps > COUNT_MAX ||
	    head.programs > COUNT_MAX || head.insns > COUNT_MAX ||
	    size != packed_bytes(&head))
		return NULL;
	if (!GET(at, &code->libraries, head.libraries) ||
	    !GET(at, &code->maps, head.maps) ||
	    !GET(at, &code->programs, head.programs) ||
	    !GET(at, &code->insns, head.insns) || !is_sound(code))
		return NULL;
	return take(code);
}

const struct code_program *code_program_find(const struct code *code, const char *name)
{
	vec_foreach (program, &code->programs)
		if (!strcmp(program->name, name))
			return program;
	return NULL;
}

bool code_library_look_at(struct code_library *library)
{
	struct stat st;

	if (stat(library->path, &st))
		return false;
	library->device = st.st_dev;
	library->inode = st.st_ino;
	library->size_bytes = (uint64_t)st.st_size;
	library->changed_ns =
		(uint64_t)st.st_ctim.tv_sec * 1000000000 + (uint64_t)st.st_ctim.tv_nsec;
	return true;
}

bool code_is_current(const struct code *code)
{
	vec_foreach (then, &code->libraries) {
		struct code_library now = *then;

		if (!code_library_look_at(&now) || now.device != then->device ||
		    now.inode != then->inode || now.size_bytes != then->size_bytes ||
		    now.changed_ns != then->changed_ns)
			return false;
	}
	return true;
}
