// SPDX-License-Identifier: Apache-2.0
#include "bpf/offsets_reader.h"

#include <string.h>
#include <sys/stat.h>

#include "bpf/kernel_identity.h"
#include "util/cleanup.h"
#include "util/quiet_thread.h"

static void *run(void *arg)
{
	struct offsets_reader *r = arg;

	kernel_offsets_read(&r->offsets);
	return NULL;
}

void offsets_reader_init(struct offsets_reader *r)
{
	r->is_running = !quiet_thread_start(&r->thread, NULL, run, r);
}

void offsets_reader_deinit(struct offsets_reader *r)
{
	if (r->is_running)
		pthread_join(r->thread, NULL);
	r->is_running = false;
}

static void read_or_wait(struct offsets_reader *r, struct kernel_offsets *ret)
{
	if (!r || !r->is_running) {
		kernel_offsets_read(ret);
		return;
	}
	offsets_reader_deinit(r);
	*ret = r->offsets;
}

void offsets_reader_get(struct offsets_reader *r, struct cache *cache,
			struct kernel_offsets *ret)
{
	_cleanup_(strbuf_deinit) struct strbuf text = {0};
	_cleanup_(freep) void *kept = NULL;
	struct stat self = {0};
	struct cache_key key;
	size_t size;
	bool has_key;

	/* The binary is part of the key: another build may need other offsets. */
	has_key = stat("/proc/self/exe", &self) == 0;
	strbuf_appendf(&text, "kernel offsets %ju %ju %jd %jd.%09ld\n",
		       (uintmax_t)self.st_dev, (uintmax_t)self.st_ino,
		       (intmax_t)self.st_size, (intmax_t)self.st_ctim.tv_sec,
		       self.st_ctim.tv_nsec);
	has_key = has_key && kernel_identity_append(&text) && cache_key_make(&text, &key);
	if (has_key)
		kept = cache_get(cache, &key, &size);
	if (kept && size == sizeof(*ret)) {
		memcpy(ret, kept, sizeof(*ret));
		return;
	}
	read_or_wait(r, ret);
	/* Without types, all is 0: they could not be read this time. */
	if (has_key && ret->has_task)
		cache_put(cache, &key, ret, sizeof(*ret));
}
