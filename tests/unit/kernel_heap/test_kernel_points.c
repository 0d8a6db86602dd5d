// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include <bpf/btf.h>
#include <string.h>

#include "kernel_heap/kernel_points.h"
#include "util/cleanup.h"

DEFINE_CLEANUP(struct btf *, btf__free);

/* --- formats of records ----------------------------------------------------------- */

static bool field(const char *text, const char *name, struct kernel_value *ret)
{
	return kernel_format_field(text, strlen(text), name, ret);
}

/* The format of Linux 5.10. Linux 6.18 has more fields before and after. */
static const char old_kmalloc[] =
	"name: kmalloc\nID: 451\nformat:\n"
	"\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
	"\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;\n"
	"\n"
	"\tfield:unsigned long call_site;\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:const void * ptr;\toffset:16;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t bytes_req;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:size_t bytes_alloc;\toffset:32;\tsize:8;\tsigned:0;\n"
	"\tfield:gfp_t gfp_flags;\toffset:40;\tsize:4;\tsigned:0;\n"
	"\nprint fmt: \"ptr=%p\", REC->ptr\n";
static const char percpu[] =
	"\tfield:bool reserved;\toffset:16;\tsize:1;\tsigned:0;\n"
	"\tfield:size_t size;\toffset:24;\tsize:8;\tsigned:0;\n"
	"\tfield:int off;\toffset:48;\tsize:4;\tsigned:1;\n"
	"\tfield:void __seg_gs * ptr;\toffset:56;\tsize:8;\tsigned:0;\n";

static void fields(void)
{
	struct kernel_value value;

	REQUIRE(field(old_kmalloc, "ptr", &value));
	CHECK_INT(value.offset, 16);
	CHECK_INT(value.bytes, 8);
	CHECK_INT(value.behind_bytes, 0);
	REQUIRE(field(old_kmalloc, "bytes_alloc", &value));
	CHECK_INT(value.offset, 32);
	REQUIRE(field(old_kmalloc, "gfp_flags", &value));
	CHECK_INT(value.bytes, 4);
	REQUIRE(field(percpu, "ptr", &value));
	CHECK_INT(value.offset, 56);
	REQUIRE(field(percpu, "size", &value));
	CHECK_INT(value.offset, 24);
	/* Only complete names match. */
	CHECK(!field(old_kmalloc, "alloc", &value));
	CHECK(!field(old_kmalloc, "bytes", &value));
	CHECK(!field(old_kmalloc, "pfn", &value));
	CHECK(!field(old_kmalloc, "", &value));
	/* The first 8 bytes are not available to programs. */
	CHECK(!field(old_kmalloc, "common_pid", &value));
	CHECK(!field("", "ptr", &value));
}

static void hostile_fields(void)
{
	static const char *const texts[] = {
		"\tfield:void * ptr;\toffset:16;\tsize:8;", /* the line has no end */
		"field:void * ptr;\toffset:16;\tsize:8;\n",
		"\tfield:void * ptr\n",
		"\tfield:ptr;\toffset:16;\tsize:8;\n",
		"\tfield:void * ptr;\n",
		"\tfield:void * ptr;\toffset:;\tsize:8;\n",
		"\tfield:void * ptr;\toffset:-8;\tsize:8;\n",
		"\tfield:void * ptr;\toffset:16;\tsize:\n",
		"\tfield:void * ptr;\toffset:16\tsize:8\n",
		"\tfield:void * ptr;\toffset:4294967304;\tsize:8;\n",
		"\tfield:void * ptr;\toffset:99999999999999999999;\tsize:8;\n",
		"\tfield:void * ptr;\toffset:16;\tsize:3;\n",
		"\tfield:void * ptr;\toffset:16;\tsize:16;\n",
		"\tfield:void * ptr;\toffset:17;\tsize:8;\n",
		"\tfield:void * ptr;\toffset:8192;\tsize:8;\n",
		"\tfield:void ptr[2];\toffset:16;\tsize:8;\n",
	};
	struct kernel_value value;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		if (field(texts[i], "ptr", &value))
			CHECK_FAIL("taken: %s", texts[i]);
	check_state.checks += sizeof(texts) / sizeof(*texts);
	/* Each prefix of the text, without a read beyond it. */
	for (size_t len = 0; len < sizeof(old_kmalloc); len++) {
		_cleanup_(freep) char *part = malloc(len + 1);

		REQUIRE(part);
		memcpy(part, old_kmalloc, len);
		if (kernel_format_field(part, len, "bytes_alloc", &value))
			CHECK_INT(value.offset, 32);
	}
}

/* --- arguments -------------------------------------------------------------------- */

struct types {
	struct btf *btf;
	int word, number, byte, pointer, cache, cache_pointer;
};

static void types_init(struct types *t)
{
	struct btf *btf = btf__new_empty();

	REQUIRE(btf);
	*t = (struct types){.btf = btf};
	t->word = btf__add_int(btf, "unsigned long", 8, 0);
	t->number = btf__add_int(btf, "unsigned int", 4, 0);
	t->byte = btf__add_int(btf, "bool", 1, BTF_INT_BOOL);
	t->pointer = btf__add_ptr(btf, btf__add_const(btf, 0));
	t->cache = btf__add_struct(btf, "kmem_cache", 32);
	REQUIRE(!btf__add_field(btf, "flags", t->number, 64, 0));
	REQUIRE(!btf__add_field(btf, "size", t->number, 96, 0));
	REQUIRE(!btf__add_field(btf, "bits", t->number, 128, 3));
	t->cache_pointer = btf__add_ptr(btf, t->cache);
	REQUIRE(t->byte > 0 && t->pointer > 0 && t->cache > 0 && t->cache_pointer > 0);
}

struct argument {
	const char *name;
	int type;
};

/* int __traceiter_POINT(void *__data, arguments) */
static void add_point(struct types *t, const char *name,
		      const struct argument arguments[], size_t count)
{
	int proto = btf__add_func_proto(t->btf, t->number);

	REQUIRE(proto > 0 && !btf__add_func_param(t->btf, "__data", t->pointer));
	for (size_t i = 0; i < count; i++)
		REQUIRE(!btf__add_func_param(t->btf, arguments[i].name,
					     arguments[i].type));
	REQUIRE(btf__add_func(t->btf, name, BTF_FUNC_GLOBAL, proto) > 0);
}

static void arguments(void)
{
	struct types t;
	struct kernel_value value;

	types_init(&t);

	_cleanup_(btf__freep) struct btf *btf = t.btf;
	int gfp = btf__add_typedef(btf, "gfp_t", t.number);
	const struct argument point[] = {
		{"call_site", t.word}, {"ptr", t.pointer}, {"s", t.cache_pointer},
		{"gfp_flags", gfp},    {"flag", t.byte},   {"whole", t.cache},
		{"__data", t.word},
	};

	add_point(&t, "__traceiter_alloc", point, sizeof(point) / sizeof(*point));
	REQUIRE(kernel_argument(btf, "alloc", "ptr", &value));
	CHECK_INT(value.offset, 8);
	CHECK_INT(value.bytes, 8);
	/* The type is behind a typedef. */
	REQUIRE(kernel_argument(btf, "alloc", "gfp_flags", &value));
	CHECK_INT(value.offset, 24);
	CHECK_INT(value.bytes, 4);
	REQUIRE(kernel_argument(btf, "alloc", "flag", &value));
	CHECK_INT(value.bytes, 1);
	/* The tracepoint's own argument, not the first parameter of the function. */
	REQUIRE(kernel_argument(btf, "alloc", "__data", &value));
	CHECK_INT(value.offset, 48);
	CHECK(!kernel_argument(btf, "alloc", "whole", &value));
	CHECK(!kernel_argument(btf, "alloc", "bytes_alloc", &value));
	CHECK(!kernel_argument(btf, "other", "ptr", &value));

	REQUIRE(kernel_argument_member(btf, "alloc", "s", "kmem_cache", "size", &value));
	CHECK_INT(value.offset, 16);
	CHECK_INT(value.bytes, 8);
	CHECK_INT(value.behind_offset, 12);
	CHECK_INT(value.behind_bytes, 4);
	CHECK(!kernel_argument_member(btf, "alloc", "s", "kmem_cache", "none", &value));
	CHECK(!kernel_argument_member(btf, "alloc", "s", "kmem_cache", "bits", &value));
	CHECK(!kernel_argument_member(btf, "alloc", "s", "none", "size", &value));
	/* An integer is not a pointer. */
	CHECK(!kernel_argument_member(btf, "alloc", "gfp_flags", "kmem_cache", "size",
				      &value));
}

/* A variable with that name is not a function. A function without arguments has no
 * values. */
static void odd_types(void)
{
	struct types t;
	struct kernel_value value;

	types_init(&t);

	_cleanup_(btf__freep) struct btf *btf = t.btf;

	REQUIRE(btf__add_var(btf, "__traceiter_alloc", BTF_VAR_STATIC, t.word) > 0);
	CHECK(!kernel_argument(btf, "alloc", "ptr", &value));
	add_point(&t, "__traceiter_free", NULL, 0);
	CHECK(!kernel_argument(btf, "free", "__data", &value));
	CHECK(!kernel_argument(btf, "free", "ptr", &value));
}

/* --- names and main --------------------------------------------------------------- */

static void names(void)
{
	CHECK_STR(kernel_class_name(KERNEL_SLAB), "slab");
	CHECK_STR(kernel_class_name(KERNEL_VMALLOC), "vmalloc");
	for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++)
		CHECK(strchr(kernel_class_points(i), ':'));
}

int main(void)
{
	RUN(fields);
	RUN(hostile_fields);
	RUN(arguments);
	RUN(odd_types);
	RUN(names);
	return check_done();
}
