// SPDX-License-Identifier: Apache-2.0
#include "reach/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reach/by_process.h"
#include "reach/scanner.h"
#include "reach/verdicts.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/saturate.h"

/* Longest search for candidates of one process. */
#define LOOK_NS UINT64_C(240000000000)

/* A process and its candidates. */
struct candidates {
	int pid;
	uint32_t process; /* its index in the snapshot that they are from */
	/* Their indices there, into snap->blocks; ascending by the blocks' addresses. */
	VEC(uint32_t) numbers;
	bool is_stopped;
};

struct reach_search {
	struct reach_search_options options;
	struct reach_scanner *scanner;
	struct reach_verdicts verdicts;
	VEC(struct candidates) processes;
	/* What the last verification found, for reach_search_tell() to take over: there
	 * is time for that once the processes go on. */
	VEC(struct reach_judged) judged;
	VEC(struct reach_block) found;
	struct snapshot_search sums; /* of the search under way, then of the last one */
	uint64_t begun_ns, stopped_ns;
	struct reach_pause pause;
	int strict_pid; /* reach_search_be_strict(); 0: none */
};

struct error *reach_search_create(const struct reach_search_options *options,
				  struct reach_search **ret)
{
	const struct reach_scanner_options scanner = {
		.words = options->words,
		.progress = options->progress,
		.stopping_ns = options->stopping_ns,
		.arg = options->arg,
	};
	struct reach_search *search = calloc(1, sizeof(*search));
	struct error *err;

	if (!search)
		return error_no_memory();
	search->options = *options;
	err = reach_scanner_create(&scanner, &search->scanner);
	if (err) {
		reach_search_destroy(search);
		return err;
	}
	*ret = search;
	return NULL;
}

void reach_search_be_strict(struct reach_search *search, int pid)
{
	search->strict_pid = pid;
}

static void drop_candidates(struct reach_search *search)
{
	vec_foreach (process, &search->processes)
		vec_deinit(&process->numbers);
	search->processes.len = 0;
}

void reach_search_destroy(struct reach_search *search)
{
	if (!search)
		return;
	drop_candidates(search);
	vec_deinit(&search->processes);
	vec_deinit(&search->judged);
	vec_deinit(&search->found);
	reach_verdicts_deinit(&search->verdicts);
	reach_scanner_destroy(search->scanner);
	free(search);
}

/* Say why a process is left out. An error of this process itself, out of memory, is
 * returned. */
static struct error *leave_out(struct reach_search *search, struct error *err)
{
	if (!err || err->code == ERROR_NO_MEMORY)
		return err;
	search->sums.unsearched++;
	if (search->options.warn)
		search->options.warn(search->options.arg, err->message);
	error_destroy(err);
	return NULL;
}

static void add_effort(struct reach_search *search, const struct reach_effort *effort)
{
	search->sums.read_bytes += effort->read_bytes;
	search->sums.threads += effort->threads;
	search->sums.has_rings |= effort->has_rings;
	if (effort->pause_ns > search->sums.pause_ns)
		search->sums.pause_ns = effort->pause_ns;
}

/* The heap blocks of one process, in the table of the scanner. */
struct gathered {
	struct reach_table table;
	uint32_t *number; /* of each, the index into snap->blocks; borrowed */
};

/* Does the snapshot have all blocks of a process that was traced from its start on? */
static bool has_all_blocks(const struct snapshot *snap)
{
	static const enum loss of_blocks[] = {
		LOSS_BLOCKS_FULL,       LOSS_PENDING_FULL,    LOSS_READ_FAILED,
		LOSS_PROCESSES_FULL,    LOSS_PROBES_MISSED,   LOSS_FUNCTIONS_UNTRACED,
		LOSS_FILES_UNTRACED,    LOSS_MAPPINGS_UNREAD, LOSS_PROCESSES_UNCHECKED,
		LOSS_FUNCTIONS_MISREAD,
	};

	for (size_t i = 0; i < sizeof(of_blocks) / sizeof(*of_blocks); i++)
		if (snap->losses[of_blocks[i]])
			return false;
	return !snap->inconsistent;
}

/* Only the candidates among the blocks of a table, which is whole, are not reached yet.
 * `before`: the snapshot that the candidates are from. */
static void mark_others(const struct snapshot *before,
			const struct candidates *candidates, struct reach_table *table)
{
	const struct snapshot_block *blocks = before->blocks[BLOCK_HEAP].data;
	const uint32_t *next = candidates->numbers.data;
	const uint32_t *end = next + candidates->numbers.len;

	for (uint32_t i = 0; i < table->count; i++) {
		while (next < end && blocks[*next].address < table->start[i])
			next++;
		if (next == end || blocks[*next].address != table->start[i])
			table->level[i] = REACH_REACHED;
	}
}

/* Can the table have all blocks of `process`? For a verification (`is_stopped`) not while
 * a realloc() is under way: what it has moved already is in memory that would count as
 * free. */
static bool can_be_whole(const struct reach_search *search, const struct snapshot *snap,
			 uint32_t process, bool is_stopped)
{
	return snap->processes.data[process].pid == search->strict_pid &&
	       has_all_blocks(snap) && !(is_stopped && snap->has_moving);
}

/* Fill the table with these blocks. They are put into the order of their addresses, and
 * some may be left out. None is reached yet: a search that has no time leaves them so. */
static struct error *gather(struct reach_search *search, const struct snapshot *snap,
			    uint32_t numbers[], size_t count, struct gathered *ret)
{
	const struct snapshot_block *blocks = snap->blocks[BLOCK_HEAP].data;
	struct error *err;

	if (count >= REACH_NONE)
		return error_no_memory();
	ret->number = numbers;
	err = reach_scanner_table(search->scanner, (uint32_t)count, &ret->table);
	if (err)
		return err;
	for (size_t i = 0; i < count; i++) {
		const struct snapshot_block *block = &blocks[numbers[i]];

		ret->table.start[i] = block->address;
		ret->table.end[i] = block->address + block->size_bytes;
	}
	reach_scanner_pack(search->scanner,
			   reach_blocks_tidy(ret->table.start, ret->table.end, numbers,
					     (uint32_t)count),
			   &ret->table);
	memset(ret->table.level, REACH_UNREACHED, ret->table.count);
	return NULL;
}

/* Say that the process is searched as if --unreachable-strict were not given. */
static void say_not_strict(struct reach_search *search, int pid)
{
	char text[160];

	snprintf(
		text, sizeof(text),
		"not all blocks of process %d are known (see the losses): free memory of "
		"its heap is searched, too",
		pid);
	if (search->options.warn)
		search->options.warn(search->options.arg, text);
}

/* Without candidates there is nothing to verify: the process is not stopped. */
static struct error *add_candidates(struct reach_search *search, int pid,
				    uint32_t process, const struct gathered *blocks)
{
	struct candidates found = {.pid = pid, .process = process};

	for (uint32_t i = 0; i < blocks->table.count; i++)
		if (blocks->table.level[i] != REACH_REACHED &&
		    !vec_push(&found.numbers, blocks->number[i])) {
			vec_deinit(&found.numbers);
			return error_no_memory();
		}
	if (found.numbers.len
		    ? vec_push(&search->processes, found)
		    : vec_push(&search->judged, (struct reach_judged){.pid = pid}))
		return NULL;
	vec_deinit(&found.numbers);
	return error_no_memory();
}

static struct error *look_at(struct reach_search *search, const struct snapshot *snap,
			     const struct reach_by_process *index, uint32_t process)
{
	struct gathered blocks = {.number = NULL};
	int pid = snap->processes.data[process].pid;
	struct reach_effort effort = {0};
	uint32_t count, *numbers = reach_by_process_get(index, process, &count);
	struct error *err = gather(search, snap, numbers, count, &blocks);

	blocks.table.is_whole = can_be_whole(search, snap, process, false);
	if (!err && pid == search->strict_pid && !blocks.table.is_whole)
		say_not_strict(search, pid);
	if (!err && blocks.table.count)
		err = reach_scanner_first(search->scanner, pid, &blocks.table,
					  clock_now_ns() + LOOK_NS, &effort);
	if (!err && effort.is_late)
		err = error_create(
			ERROR_UNSUPPORTED,
			"the memory of process %d could not be searched within "
			"%d s",
			pid, (int)(LOOK_NS / 1000000000));
	if (!err)
		err = add_candidates(search, pid, process, &blocks);
	add_effort(search, &effort);
	return leave_out(search, err);
}

struct error *reach_search_look(struct reach_search *search, const struct snapshot *snap)
{
	_cleanup_(reach_by_process_deinit) struct reach_by_process index = {.first =
										    NULL};
	uint64_t before = search->sums.count;
	struct error *err = reach_by_process_init(snap, &index);

	drop_candidates(search);
	search->judged.len = search->found.len = 0;
	search->begun_ns = clock_now_ns();
	search->pause = (struct reach_pause){0};
	search->sums = (struct snapshot_search){.count = before};
	for (uint32_t i = 0; !err && i < snap->processes.len; i++) {
		if (snap->processes.data[i].exited)
			continue;
		search->sums.processes++;
		err = look_at(search, snap, &index, i);
	}
	return err;
}

void reach_search_stop(struct reach_search *search)
{
	search->stopped_ns = clock_now_ns();
	vec_foreach (process, &search->processes) {
		struct error *err = reach_scanner_stop(
			search->scanner, process->pid,
			search->stopped_ns + search->options.max_pause_ns);

		process->is_stopped = !err;
		error_destroy(leave_out(search, err));
	}
	search->pause.stopping_ns =
		search->processes.len ? clock_now_ns() - search->stopped_ns : 0;
}

/* What the scanner found of the block `i` of its table. */
static enum reach_verdict verdict_of(const struct reach_table *table, uint32_t i,
				     bool is_late)
{
	if (is_late)
		return REACH_UNVERIFIED;
	if (table->level[i] == REACH_POSSIBLE)
		return REACH_POSSIBLY_LOST;
	return table->head[i] == i ? REACH_LOST : REACH_HELD;
}

static struct error *add_found(struct reach_search *search, const struct snapshot *snap,
			       const struct snapshot_process *process,
			       const struct gathered *blocks, bool is_late)
{
	const struct snapshot_block *all = snap->blocks[BLOCK_HEAP].data;
	const struct reach_table *table = &blocks->table;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct snapshot_block *block = &all[blocks->number[i]];
		enum reach_verdict verdict = verdict_of(table, i, is_late);
		uint32_t head = verdict == REACH_HELD ? table->head[i] : i;

		if (table->level[i] == REACH_REACHED)
			continue;
		if (head >= table->count ||
		    !vec_push(&search->found,
			      (struct reach_block){
				      .address = block->address,
				      .size_bytes = block->size_bytes,
				      .time_ns = block->time_ns,
				      .since_ns = process->since_ns,
				      .pid = process->pid,
				      .stack = block->stack,
				      .for_stack = all[blocks->number[head]].stack,
				      .verdict = (uint8_t)verdict,
			      }))
			return error_no_memory();
	}
	return NULL;
}

/* Drop the candidates that are not there any more. */
static void keep_candidates(struct candidates *candidates, const bool is_there[])
{
	size_t kept = 0;

	for (size_t i = 0; i < candidates->numbers.len; i++)
		if (is_there[i])
			candidates->numbers.data[kept++] = candidates->numbers.data[i];
	candidates->numbers.len = kept;
}

struct error *reach_search_recheck(struct reach_search *search,
				   const struct snapshot *before,
				   reach_find_same *find_same, void *arg)
{
	vec_foreach (c, &search->processes) {
		_cleanup_(freep) bool *is_there =
			calloc(c->numbers.len + 1, sizeof(*is_there));
		struct error *err;

		if (!is_there)
			return error_no_memory();
		if (!c->is_stopped)
			continue;
		err = find_same(arg, before, c->numbers.data, c->numbers.len, is_there);
		c->is_stopped = !err;
		if (!err)
			keep_candidates(c, is_there);
		err = leave_out(search, err);
		if (err)
			return err;
	}
	return NULL;
}

bool reach_search_wants_all(const struct reach_search *search)
{
	vec_foreach (process, &search->processes)
		if (process->is_stopped && process->pid == search->strict_pid)
			return true;
	return false;
}

/* The index of the process in `stopped`, if that has all of its blocks. */
static bool find_whole(const struct reach_search *search, const struct snapshot *stopped,
		       int pid, uint32_t *ret)
{
	if (!stopped || pid != search->strict_pid)
		return false;
	for (uint32_t i = 0; i < stopped->processes.len; i++)
		if (stopped->processes.data[i].pid == pid &&
		    can_be_whole(search, stopped, i, true)) {
			*ret = i;
			return true;
		}
	return false;
}

static struct error *verify(struct reach_search *search, const struct snapshot *before,
			    const struct snapshot *stopped,
			    const struct candidates *candidates)
{
	_cleanup_(reach_by_process_deinit) struct reach_by_process index = {.first =
										    NULL};
	uint32_t *numbers = candidates->numbers.data;
	uint32_t count = (uint32_t)candidates->numbers.len;
	struct gathered blocks = {.number = NULL};
	uint32_t process = candidates->process;
	bool is_whole = find_whole(search, stopped, candidates->pid, &process);
	const struct snapshot *snap = is_whole ? stopped : before;
	struct reach_effort effort = {0};
	struct error *err = is_whole ? reach_by_process_init(snap, &index) : NULL;

	if (!err && is_whole)
		numbers = reach_by_process_get(&index, process, &count);
	if (!err)
		err = gather(search, snap, numbers, count, &blocks);
	blocks.table.is_whole = is_whole;
	if (!err && is_whole)
		mark_others(before, candidates, &blocks.table);
	if (!err)
		err = reach_scanner_verify(
			search->scanner, candidates->pid, &blocks.table,
			search->stopped_ns + search->options.max_pause_ns, &effort);
	add_effort(search, &effort);
	if (err)
		return leave_out(search, err);
	if (!vec_push(&search->judged,
		      (struct reach_judged){candidates->pid, effort.is_late}))
		return error_no_memory();
	return add_found(search, snap, &snap->processes.data[process], &blocks,
			 effort.is_late);
}

struct error *reach_search_verify(struct reach_search *search,
				  const struct snapshot *before,
				  const struct snapshot *stopped)
{
	uint64_t until_ns = search->stopped_ns + search->pause.stopping_ns;
	struct error *err = NULL;

	if (search->processes.len)
		search->pause.table_ns = clock_now_ns() - until_ns;
	vec_foreach (candidates, &search->processes)
		if (!err && candidates->is_stopped)
			err = verify(search, before, stopped, candidates);
	until_ns += search->pause.table_ns;
	if (search->sums.pause_ns)
		search->pause.search_ns = saturate_subtract(
			search->stopped_ns + search->sums.pause_ns, until_ns);
	reach_search_give_up(search);
	search->sums.count++;
	search->sums.time_ns = clock_now_ns();
	search->sums.took_ns = search->sums.time_ns - search->begun_ns;
	return err;
}

void reach_search_give_up(struct reach_search *search)
{
	reach_scanner_release(search->scanner);
	drop_candidates(search);
}

struct reach_pause reach_search_pause(const struct reach_search *search)
{
	return search->pause;
}

/* Replace verdicts by what the last search found. False: memory is out. */
static bool take_over(struct reach_search *search)
{
	struct reach_verdicts *verdicts = &search->verdicts;
	bool is_whole = true;
	size_t known;

	reach_verdicts_clear(verdicts, search->judged.data, search->judged.len);
	known = verdicts->list.len;
	vec_foreach (found, &search->found)
		if (found->verdict != REACH_UNVERIFIED ||
		    !reach_verdicts_know_lost(verdicts, known, found->pid,
					      found->address))
			is_whole = is_whole && reach_verdicts_add(verdicts, found);
	search->judged.len = search->found.len = 0;
	reach_verdicts_sort(verdicts);
	return is_whole;
}

struct error *reach_search_tell(struct reach_search *search, struct snapshot *snap)
{
	if (!search->sums.count)
		return NULL;
	snap->search = search->sums;
	/* First the verdicts of earlier searches: what they called lost may be freed. So
	 * may what the last one found, if the process has gone on since. */
	return reach_verdicts_audit(&search->verdicts, snap) && take_over(search) &&
			       reach_verdicts_audit(&search->verdicts, snap) &&
			       reach_verdicts_fill(&search->verdicts, snap)
		       ? NULL
		       : error_no_memory();
}
