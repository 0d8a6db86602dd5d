// SPDX-License-Identifier: Apache-2.0
#include "screen/loader.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "output/outputs.h"
#include "report/recorded.h"
#include "util/cleanup.h"

#define STACK_BYTES ((size_t)512 * 1024)
#define NAMES_MAX   1000 /* how many names are tried for a file */

enum job {
	JOB_NONE,
	JOB_LOAD,
	JOB_WRITE,
	JOB_END,
};

struct loader {
	struct moment_options how; /* how.base: of the next moment, kept here */
	struct outputs outputs;
	pthread_t thread;
	pthread_mutex_t mutex;
	pthread_cond_t work;
	int done_fd;
	/* Below: guarded by the mutex. */
	enum job job;
	bool has_result;
	struct snapshot_file file;
	const struct moment *moment;
	enum output_kind kind;
	struct loader_result result;
};

DEFINE_CLEANUP(struct report *, report_destroy);
DEFINE_CLEANUP(struct report_history *, report_history_destroy);

/* Files have more than the screen: single blocks, for histograms and labels. */
static struct error *write_file(struct loader *loader, const struct moment *moment,
				enum output_kind kind, char **ret_path)
{
	_cleanup_(report_history_destroyp) struct report_history *history = NULL;
	_cleanup_(report_destroyp) struct report *report = NULL;
	_cleanup_(report_renamed_deinit) struct snapshot renamed = {.wall_ns = 0};
	struct report_options wanted =
		outputs_report_options(&loader->outputs, &moment->report->options, true);
	struct error *err = report_recorded_history(moment->made.snap, &history);

	wanted.sums_only = false;
	if (!err)
		err = report_build(moment->made.snap, history, moment->file.frames,
				   &wanted, moment->report->cause, &report);
	/* With the names that --debug-dir found. */
	loader->outputs.saved = NULL;
	if (!err && kind == OUTPUT_SAVE && loader->how.store) {
		loader->outputs.saved = &renamed;
		err = report_rename(moment->file.snap, moment->file.frames, &renamed);
	}
	return err ? err
		   : outputs_write_free(&loader->outputs, kind, report, NAMES_MAX,
					ret_path);
}

/* The first moment, and one that shares too little with its base, which is not needed
 * any more then: the next moment has none. */
static void choose_base(struct loader *loader, struct moment *moment)
{
	if (moment->base && !moment->is_apart)
		return;
	moment_release(loader->how.base);
	loader->how.base = moment->base ? NULL : moment_keep(moment);
}

static struct loader_result do_job(struct loader *loader, enum job job)
{
	struct loader_result result = {.moment = NULL};

	if (job == JOB_LOAD) {
		result.err = moment_create(&loader->file, &loader->how, &result.moment);
		if (result.moment)
			choose_base(loader, result.moment);
	} else {
		result.err =
			write_file(loader, loader->moment, loader->kind, &result.written);
	}
	return result;
}

static void *work(void *arg)
{
	struct loader *loader = arg;

	pthread_mutex_lock(&loader->mutex);
	while (loader->job != JOB_END) {
		struct loader_result result;
		enum job job = loader->job;

		if (job == JOB_NONE) {
			pthread_cond_wait(&loader->work, &loader->mutex);
			continue;
		}
		pthread_mutex_unlock(&loader->mutex);
		result = do_job(loader, job);
		pthread_mutex_lock(&loader->mutex);
		loader->result = result;
		loader->has_result = true;
		if (loader->job == job)
			loader->job = JOB_NONE;
		eventfd_write(loader->done_fd, 1);
	}
	pthread_mutex_unlock(&loader->mutex);
	return NULL;
}

struct error *loader_start(const struct moment_options *how,
			   const struct options *options, struct writer *writer,
			   struct loader **ret)
{
	struct loader *loader = calloc(1, sizeof(*loader));
	pthread_attr_t attributes;
	int result;

	if (!loader)
		return error_no_memory();
	loader->how = *how;
	loader->outputs = (struct outputs){.options = options, .writer = writer};
	loader->done_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	pthread_mutex_init(&loader->mutex, NULL);
	pthread_cond_init(&loader->work, NULL);
	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	result = loader->done_fd < 0
			 ? errno
			 : pthread_create(&loader->thread, &attributes, work, loader);
	pthread_attr_destroy(&attributes);
	if (result) {
		closep(&loader->done_fd);
		free(loader);
		return error_errno(ERROR_IO, result, "cannot start a thread");
	}
	*ret = loader;
	return NULL;
}

static void result_deinit(struct loader_result *result)
{
	moment_destroy(result->moment);
	free(result->written);
	error_destroy(result->err);
}

void loader_stop(struct loader *loader)
{
	if (!loader)
		return;
	pthread_mutex_lock(&loader->mutex);
	loader->job = JOB_END;
	pthread_cond_signal(&loader->work);
	pthread_mutex_unlock(&loader->mutex);
	pthread_join(loader->thread, NULL);
	if (loader->has_result)
		result_deinit(&loader->result);
	moment_release(loader->how.base);
	snapshot_file_deinit(&loader->file);
	close(loader->done_fd);
	pthread_cond_destroy(&loader->work);
	pthread_mutex_destroy(&loader->mutex);
	free(loader);
}

bool loader_is_busy(struct loader *loader)
{
	bool busy;

	pthread_mutex_lock(&loader->mutex);
	busy = loader->job != JOB_NONE || loader->has_result;
	pthread_mutex_unlock(&loader->mutex);
	return busy;
}

void loader_load(struct loader *loader, struct snapshot_file *file, bool with_steps)
{
	pthread_mutex_lock(&loader->mutex);
	loader->how.with_steps = with_steps;
	loader->file = *file;
	*file = (struct snapshot_file){.snap = NULL};
	loader->job = JOB_LOAD;
	pthread_cond_signal(&loader->work);
	pthread_mutex_unlock(&loader->mutex);
}

void loader_write(struct loader *loader, const struct moment *moment,
		  enum output_kind kind)
{
	pthread_mutex_lock(&loader->mutex);
	loader->moment = moment;
	loader->kind = kind;
	loader->job = JOB_WRITE;
	pthread_cond_signal(&loader->work);
	pthread_mutex_unlock(&loader->mutex);
}

int loader_fd(const struct loader *loader)
{
	return loader->done_fd;
}

bool loader_take(struct loader *loader, struct loader_result *ret)
{
	eventfd_t count;
	bool has;

	pthread_mutex_lock(&loader->mutex);
	eventfd_read(loader->done_fd, &count);
	has = loader->has_result;
	*ret = loader->result;
	loader->has_result = false;
	loader->result = (struct loader_result){.moment = NULL};
	pthread_mutex_unlock(&loader->mutex);
	return has;
}
