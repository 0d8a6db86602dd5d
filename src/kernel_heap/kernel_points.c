// SPDX-License-Identifier: Apache-2.0
#include "kernel_heap/kernel_points.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <bpf/btf.h>

#include "abi.h"
#include "kernel_heap/kernel_events.h"
#include "util/cleanup.h"

_Static_assert((int)KERNEL_SLAB == ABI_KERNEL_SLAB, "same numbers");
_Static_assert((int)KERNEL_PAGES == ABI_KERNEL_PAGES, "same numbers");
_Static_assert((int)KERNEL_PERCPU == ABI_KERNEL_PERCPU, "same numbers");
_Static_assert((int)KERNEL_VMALLOC == ABI_KERNEL_VMALLOC, "same numbers");
_Static_assert((int)KERNEL_CLASS_COUNT == ABI_KERNEL_CLASS_COUNT, "same numbers");

DEFINE_CLEANUP(struct btf *, btf__free);

#define NAMES_MAX 2

/* What one tracepoint must have. Of several names the first that exists is used. */
struct point_rule {
	enum kernel_class kind;
	bool is_allocation, size_is_order;
	bool is_optional; /* the class does not need it */
	const char *category, *name;
	const char *address[NAMES_MAX], *size[NAMES_MAX];
	/* NULL: failures have no address, or are not reported */
	const char *failed;
	/* The size, if it is not an argument itself: a member of the struct that an
	 * argument points to. */
	const char *behind, *type, *member;
};

/*
 * Linux 6.1 merged the variants for nodes into the others. Since then kmem_cache_alloc
 * has the cache as an argument, and its size only in the record. Pages are identified by
 * their struct page or, in the record, by their number. vmalloc has tracepoints since
 * Linux 6.2.
 */
static const struct point_rule rules[] = {
	{KERNEL_SLAB, false, .category = "kmem", .name = "kfree", .address = {"ptr"}},
	{KERNEL_SLAB, false, .category = "kmem", .name = "kmem_cache_free",
	 .address = {"ptr"}},
	{KERNEL_SLAB, true, .category = "kmem", .name = "kmalloc", .address = {"ptr"},
	 .size = {"bytes_alloc"}},
	{KERNEL_SLAB, true, .category = "kmem", .name = "kmem_cache_alloc",
	 .address = {"ptr"}, .size = {"bytes_alloc"}, .behind = "s", .type = "kmem_cache",
	 .member = "size"},
	{KERNEL_SLAB, true, .is_optional = true, .category = "kmem",
	 .name = "kmalloc_node", .address = {"ptr"}, .size = {"bytes_alloc"}},
	{KERNEL_SLAB, true, .is_optional = true, .category = "kmem",
	 .name = "kmem_cache_alloc_node", .address = {"ptr"}, .size = {"bytes_alloc"},
	 .behind = "s", .type = "kmem_cache", .member = "size"},
	{KERNEL_PAGES, false, .category = "kmem", .name = "mm_page_free",
	 .address = {"page", "pfn"}},
	{KERNEL_PAGES, true, .size_is_order = true, .category = "kmem",
	 .name = "mm_page_alloc", .address = {"page", "pfn"}, .size = {"order"}},
	{KERNEL_PERCPU, false, .category = "percpu", .name = "percpu_free_percpu",
	 .address = {"ptr"}},
	{KERNEL_PERCPU, true, .category = "percpu", .name = "percpu_alloc_percpu",
	 .address = {"ptr"}, .size = {"size"}},
	{KERNEL_VMALLOC, false, .category = "vmalloc", .name = "free_vmap_area_noflush",
	 .address = {"va_start"}},
	{KERNEL_VMALLOC, true, .category = "vmalloc", .name = "alloc_vmap_area",
	 .address = {"addr"}, .size = {"size"}, .failed = "failed"},
};

const char *kernel_class_name(enum kernel_class kind)
{
	static const char *const names[KERNEL_CLASS_COUNT] = {
		[KERNEL_SLAB] = "slab",
		[KERNEL_PAGES] = "pages",
		[KERNEL_PERCPU] = "percpu",
		[KERNEL_VMALLOC] = "vmalloc",
	};

	return names[kind];
}

const char *kernel_class_points(enum kernel_class kind)
{
	static const char *const names[KERNEL_CLASS_COUNT] = {
		[KERNEL_SLAB] = "kmem:kmalloc, kfree, kmem_cache_alloc, kmem_cache_free",
		[KERNEL_PAGES] = "kmem:mm_page_alloc, mm_page_free",
		[KERNEL_PERCPU] = "percpu:percpu_alloc_percpu, percpu_free_percpu",
		[KERNEL_VMALLOC] = "vmalloc:alloc_vmap_area, free_vmap_area_noflush",
	};

	return names[kind];
}

/* --- records ---------------------------------------------------------------------- */

/* Read the number after `key` in a line that ends at `end`. */
static bool read_number(const char *line, const char *end, const char *key, uint32_t *ret)
{
	size_t len = strlen(key);
	uint64_t n = 0;
	const char *at = memmem(line, (size_t)(end - line), key, len);

	if (!at || at + len == end || at[len] < '0' || at[len] > '9')
		return false;
	for (at += len; at < end && *at >= '0' && *at <= '9'; at++) {
		n = n * 10 + (uint64_t)(*at - '0');
		if (n > UINT32_MAX)
			return false;
	}
	*ret = (uint32_t)n;
	return at < end && *at == ';';
}

/* Does the declaration "TYPE NAME" declare this name? Array declarations do not match. */
static bool declares(const char *declaration, const char *end, const char *name)
{
	size_t len = strlen(name);

	return (size_t)(end - declaration) > len && !memcmp(end - len, name, len) &&
	       strchr(" *", end[-(ptrdiff_t)len - 1]);
}

/* Programs can read this much of a record, which must fit a page
 * (include/linux/perf_event.h, PERF_MAX_TRACE_SIZE). They cannot read its first 8
 * bytes. */
#define RECORD_BYTES 8192
#define RECORD_FIRST 8

static bool is_readable(uint32_t offset, uint32_t size)
{
	return (size == 1 || size == 2 || size == 4 || size == 8) &&
	       offset >= RECORD_FIRST && offset % size == 0 &&
	       offset <= RECORD_BYTES - size;
}

bool kernel_format_field(const char *text, size_t len, const char *name,
			 struct kernel_value *ret)
{
	static const char begin[] = "\tfield:";
	const char *limit = text + len;

	while (text < limit) {
		const char *end = memchr(text, '\n', (size_t)(limit - text));
		const char *line = text, *stop;
		uint32_t offset, size;

		if (!end)
			return false;
		text = end + 1;
		if ((size_t)(end - line) < sizeof(begin) - 1 ||
		    memcmp(line, begin, sizeof(begin) - 1))
			continue;
		line += sizeof(begin) - 1;
		stop = memchr(line, ';', (size_t)(end - line));
		if (!stop || !declares(line, stop, name))
			continue;
		if (!read_number(stop, end, "\toffset:", &offset) ||
		    !read_number(stop, end, "\tsize:", &size) ||
		    !is_readable(offset, size))
			return false;
		*ret = (struct kernel_value){.offset = offset, .bytes = (uint8_t)size};
		return true;
	}
	return false;
}

/* --- arguments -------------------------------------------------------------------- */

/* The size in bytes of a number or a pointer; 0 for other types. */
static uint8_t scalar_bytes(const struct btf *btf, uint32_t type_id)
{
	int id = btf__resolve_type(btf, type_id);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	int64_t size = t ? btf__resolve_size(btf, (uint32_t)id) : 0;

	if (!t || !(btf_is_int(t) || btf_is_ptr(t) || btf_is_enum(t)))
		return 0;
	return size == 1 || size == 2 || size == 4 || size == 8 ? (uint8_t)size : 0;
}

bool kernel_argument(const struct btf *btf, const char *point, const char *name,
		     struct kernel_value *ret)
{
	char function[128];
	const struct btf_type *t;
	int id;

	snprintf(function, sizeof(function), "__traceiter_%s", point);
	id = btf__find_by_name_kind(btf, function, BTF_KIND_FUNC);
	t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);
	t = t ? btf__type_by_id(btf, t->type) : NULL;
	if (!t || !btf_is_func_proto(t))
		return false;
	/* Skip the first parameter, which is not an argument of the tracepoint. */
	for (uint16_t i = 1; i < btf_vlen(t); i++) {
		const struct btf_param *p = btf_params(t) + i;
		const char *its = btf__name_by_offset(btf, p->name_off);

		if (!its || strcmp(its, name))
			continue;
		*ret = (struct kernel_value){.offset = (i - 1) * 8u,
					     .bytes = scalar_bytes(btf, p->type)};
		return ret->bytes;
	}
	return false;
}

bool kernel_argument_member(const struct btf *btf, const char *point, const char *name,
			    const char *type, const char *member,
			    struct kernel_value *ret)
{
	int id = btf__find_by_name_kind(btf, type, BTF_KIND_STRUCT);
	const struct btf_type *t = id < 0 ? NULL : btf__type_by_id(btf, (uint32_t)id);

	if (!t || !kernel_argument(btf, point, name, ret) || ret->bytes != 8)
		return false;
	for (uint16_t i = 0; i < btf_vlen(t); i++) {
		const struct btf_member *m = btf_members(t) + i;
		const char *its = btf__name_by_offset(btf, m->name_off);

		if (!its || strcmp(its, member) || btf_member_bitfield_size(t, i))
			continue;
		ret->behind_offset = btf_member_bit_offset(t, i) / 8;
		ret->behind_bytes = scalar_bytes(btf, m->type);
		return ret->behind_bytes;
	}
	return false;
}

/* --- the tracepoints -------------------------------------------------------------- */

static bool find_arguments(const struct btf *btf, const struct point_rule *rule,
			   struct kernel_point *ret)
{
	bool has_address = false, has_size = !rule->is_allocation;

	if (!btf)
		return false;
	for (size_t i = 0; i < NAMES_MAX; i++) {
		if (!has_address && rule->address[i])
			has_address = kernel_argument(btf, rule->name, rule->address[i],
						      &ret->address);
		if (!has_size && rule->size[i])
			has_size = kernel_argument(btf, rule->name, rule->size[i],
						   &ret->size);
	}
	if (!has_size && rule->behind)
		has_size = kernel_argument_member(btf, rule->name, rule->behind,
						  rule->type, rule->member, &ret->size);
	ret->is_raw = true;
	return has_address && has_size &&
	       (!rule->failed ||
		kernel_argument(btf, rule->name, rule->failed, &ret->failed));
}

/* More than the size of any format file. */
#define FORMAT_BYTES ((size_t)64 * 1024)

/* Read the format file: *ret is owned by the caller, NULL if the tracepoint does not
 * exist. */
static struct error *read_format(int events, const struct point_rule *rule, char **ret,
				 size_t *len)
{
	_cleanup_(freep) char *text = malloc(FORMAT_BYTES);
	char path[128];
	ssize_t n = 1;

	*ret = NULL;
	*len = 0;
	if (!text)
		return error_no_memory();
	snprintf(path, sizeof(path), "%s/%s/format", rule->category, rule->name);

	_cleanup_(closep) int fd = openat(events, path, O_RDONLY | O_CLOEXEC);

	if (fd < 0 && (errno == EACCES || errno == EPERM))
		return error_errno(ERROR_PERMISSION, errno,
				   "cannot look at the tracepoint %s:%s", rule->category,
				   rule->name);
	while (fd >= 0 && n > 0 && *len < FORMAT_BYTES) {
		n = read(fd, text + *len, FORMAT_BYTES - *len);
		*len += n > 0 ? (size_t)n : 0;
	}
	if (*len)
		*ret = take(text);
	return NULL;
}

static struct error *find_fields(int events, const struct point_rule *rule,
				 struct kernel_point *ret, bool *found)
{
	_cleanup_(freep) char *text = NULL;
	bool has_address = false, has_size = !rule->is_allocation;
	size_t len;
	struct error *err = read_format(events, rule, &text, &len);

	for (size_t i = 0; text && i < NAMES_MAX; i++) {
		if (!has_address && rule->address[i])
			has_address = kernel_format_field(text, len, rule->address[i],
							  &ret->address);
		if (!has_size && rule->size[i])
			has_size =
				kernel_format_field(text, len, rule->size[i], &ret->size);
	}
	ret->is_raw = false;
	*found = has_address && has_size &&
		 (!rule->failed ||
		  kernel_format_field(text, len, rule->failed, &ret->failed));
	return err;
}

struct search {
	const struct btf *btf; /* NULL: no BTF, or it must not be used */
	int events;            /* tracefs; -1: not opened yet */
};

static struct error *find_point(struct search *search, const struct point_rule *rule,
				bool is_raw, struct kernel_point *ret, bool *found)
{
	struct error *err = NULL;

	*ret = (struct kernel_point){.kind = rule->kind,
				     .is_allocation = rule->is_allocation,
				     .size_is_order = rule->size_is_order,
				     .category = rule->category,
				     .name = rule->name};
	*found = is_raw && find_arguments(search->btf, rule, ret);
	if (is_raw)
		return NULL;
	if (search->events < 0)
		err = kernel_events_open_tracefs(&search->events);
	return err ? err : find_fields(search->events, rule, ret, found);
}

/* Find all tracepoints of a class, either raw or with records. They cannot be mixed:
 * arguments identify pages in another way than records do. */
static struct error *find_class(struct search *search, enum kernel_class kind,
				bool is_raw, struct kernel_points *ret)
{
	size_t before = ret->list.len;
	struct error *err = NULL;

	ret->is_seen[kind] = true;
	for (size_t i = 0; !err && i < sizeof(rules) / sizeof(*rules); i++) {
		struct kernel_point point;
		bool found;

		if (rules[i].kind != kind)
			continue;
		err = find_point(search, &rules[i], is_raw, &point, &found);
		if (!err && found && !vec_push(&ret->list, point))
			err = error_no_memory();
		if (!err && !found && !rules[i].is_optional)
			ret->is_seen[kind] = false;
	}
	if (err || !ret->is_seen[kind])
		ret->list.len = before;
	return err;
}

static struct error *find_all(struct search *search, struct kernel_points *ret)
{
	struct error *err = NULL;

	for (size_t kind = 0; !err && kind < KERNEL_CLASS_COUNT; kind++) {
		err = find_class(search, kind, true, ret);
		if (err || ret->is_seen[kind])
			continue;
		err = find_class(search, kind, false, ret);
		/* With BTF, do not fail if tracefs is missing and a class has no raw
		 * tracepoints. */
		if (err && err->code == ERROR_UNSUPPORTED && search->btf) {
			error_destroy(err);
			err = NULL;
			ret->is_seen[kind] = false;
		}
	}
	if (err || ret->list.len)
		return err;
	return error_create(ERROR_UNSUPPORTED,
			    "this kernel has no tracepoints of its allocations "
			    "(categories kmem and percpu): it was built without them");
}

struct error *kernel_points_find(bool by_record, struct kernel_points *ret)
{
	_cleanup_(btf__freep) struct btf *btf =
		by_record ? NULL : btf__load_vmlinux_btf();
	_cleanup_(closep) int events = -1;
	struct search search = {btf, -1};
	struct error *err;

	*ret = (struct kernel_points){0};
	err = find_all(&search, ret);
	events = search.events; /* close it on return */
	if (err)
		kernel_points_deinit(ret);
	return err;
}

void kernel_points_deinit(struct kernel_points *points)
{
	vec_deinit(&points->list);
}

static void print_value(FILE *out, const char *what, const struct kernel_value *value)
{
	if (!value->bytes)
		return;
	fprintf(out, ", %s in %u bytes at %u", what, value->bytes, value->offset);
	if (value->behind_bytes)
		fprintf(out, " and %u at %u behind", value->behind_bytes,
			value->behind_offset);
}

void kernel_points_print(const struct kernel_points *points, FILE *out)
{
	vec_foreach (point, &points->list) {
		fprintf(out, "%-8s %s:%s, %s", kernel_class_name(point->kind),
			point->category, point->name, point->is_raw ? "raw" : "record");
		print_value(out, "address", &point->address);
		print_value(out, point->size_is_order ? "order" : "size", &point->size);
		fputc('\n', out);
	}
	for (size_t i = 0; i < KERNEL_CLASS_COUNT; i++)
		if (!points->is_seen[i])
			fprintf(out, "%-8s not traced: this kernel lacks some of %s\n",
				kernel_class_name(i), kernel_class_points(i));
}
