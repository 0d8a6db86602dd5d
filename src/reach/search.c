// SPDX-License-Identifier: Apache-2.0
#include "reach/search.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "reach/scanner.h"
#include "reach/verdicts.h"
#include "util/cleanup.h"
#include "util/clock.h"
#include "util/saturate.h"

/* Longest search for candidates of one process. */
#define LOOK_NS UINT64_C(240000000000)

/* A process whose candidates the last search has verified, as far as there was time. */
struct judged {
	int pid;
	bool is_late; /* there was no time for all of its memory */
};

/* A process and its candidates. */
struct candidates {
	int pid;
	VEC(uint64_t) addresses; /* ascending */
	bool is_stopped;
};

struct reach_search {
	struct reach_search_options options;
	struct reach_scanner *scanner;
	struct reach_verdicts verdicts;
	VEC(struct candidates) processes;
	/* What the last verification found, for reach_search_tell() to take over: there
	 * is time for that once the processes go on. */
	VEC(struct judged) judged;
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
		vec_deinit(&process->addresses);
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
	uint32_t *number; /* of each, the index into snap->blocks */
};

static void gathered_deinit(struct gathered *gathered)
{
	free(gathered->number);
}

static int compare_addresses(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static bool is_wanted(const struct candidates *only, uint64_t address)
{
	return !only || bsearch(&address, only->addresses.data, only->addresses.len,
				sizeof(address), compare_addresses);
}

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

/* Set the level of each block in the table. The blocks of `only` are candidates; if it is
 * NULL, all blocks are. Both lists are ascending. */
static void mark_candidates(const struct candidates *only, struct reach_table *table)
{
	size_t at = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		bool is_one = true;

		if (only) {
			while (at < only->addresses.len &&
			       only->addresses.data[at] < table->start[i])
				at++;
			is_one = at < only->addresses.len &&
				 only->addresses.data[at] == table->start[i];
		}
		table->level[i] = is_one ? REACH_UNREACHED : REACH_REACHED;
	}
}

/* Fill the table with the blocks of `process`; with `only`, with those candidates that
 * are still there, and if the table is whole, with the others, too. */
static struct error *gather(struct reach_search *search, const struct snapshot *snap,
			    uint32_t process, const struct candidates *only,
			    struct gathered *ret)
{
	/* What a realloc() has moved already is in memory that would count as free. */
	bool is_whole = snap->processes.data[process].pid == search->strict_pid &&
			has_all_blocks(snap) && !(only && snap->has_moving);
	size_t most = snap->blocks[BLOCK_HEAP].len;
	uint32_t count = 0;
	struct error *err;

	if (most >= REACH_NONE)
		return error_no_memory();
	ret->number = calloc(most + 1, sizeof(*ret->number));
	err = ret->number
		      ? reach_scanner_table(search->scanner, (uint32_t)most, &ret->table)
		      : error_no_memory();
	for (size_t i = 0; !err && i < most; i++) {
		const struct snapshot_block *block = &snap->blocks[BLOCK_HEAP].data[i];

		if (block->process != process ||
		    (!is_whole && !is_wanted(only, block->address)))
			continue;
		ret->table.start[count] = block->address;
		ret->table.end[count] = block->address + block->size_bytes;
		ret->number[count++] = (uint32_t)i;
	}
	if (err)
		return err;
	count = reach_blocks_tidy(ret->table.start, ret->table.end, ret->number, count);
	reach_scanner_pack(search->scanner, count, &ret->table);
	ret->table.is_whole = is_whole;
	mark_candidates(only, &ret->table);
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
				    const struct gathered *blocks)
{
	struct candidates found = {.pid = pid};

	for (uint32_t i = 0; i < blocks->table.count; i++)
		if (blocks->table.level[i] != REACH_REACHED &&
		    !vec_push(&found.addresses, blocks->table.start[i])) {
			vec_deinit(&found.addresses);
			return error_no_memory();
		}
	if (found.addresses.len ? vec_push(&search->processes, found)
				: vec_push(&search->judged, (struct judged){.pid = pid}))
		return NULL;
	vec_deinit(&found.addresses);
	return error_no_memory();
}

static struct error *look_at(struct reach_search *search, const struct snapshot *snap,
			     uint32_t process)
{
	_cleanup_(gathered_deinit) struct gathered blocks = {.number = NULL};
	int pid = snap->processes.data[process].pid;
	struct reach_effort effort = {0};
	struct error *err = gather(search, snap, process, NULL, &blocks);

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
		err = add_candidates(search, pid, &blocks);
	add_effort(search, &effort);
	return leave_out(search, err);
}

struct error *reach_search_look(struct reach_search *search, const struct snapshot *snap)
{
	uint64_t before = search->sums.count;
	struct error *err = NULL;

	drop_candidates(search);
	search->judged.len = search->found.len = 0;
	search->begun_ns = clock_now_ns();
	search->pause = (struct reach_pause){0};
	search->sums = (struct snapshot_search){.count = before};
	for (uint32_t i = 0; !err && i < snap->processes.len; i++) {
		if (snap->processes.data[i].exited)
			continue;
		search->sums.processes++;
		err = look_at(search, snap, i);
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
			       int pid, const struct gathered *blocks, bool is_late)
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
				      .pid = pid,
				      .stack = block->stack,
				      .for_stack = all[blocks->number[head]].stack,
				      .verdict = (uint8_t)verdict,
			      }))
			return error_no_memory();
	}
	return NULL;
}

static struct error *verify(struct reach_search *search, const struct snapshot *snap,
			    uint32_t process, const struct candidates *candidates)
{
	_cleanup_(gathered_deinit) struct gathered blocks = {.number = NULL};
	struct reach_effort effort = {0};
	struct error *err = gather(search, snap, process, candidates, &blocks);

	if (!err)
		err = reach_scanner_verify(
			search->scanner, candidates->pid, &blocks.table,
			search->stopped_ns + search->options.max_pause_ns, &effort);
	add_effort(search, &effort);
	if (err)
		return leave_out(search, err);
	if (!vec_push(&search->judged, (struct judged){candidates->pid, effort.is_late}))
		return error_no_memory();
	return add_found(search, snap, candidates->pid, &blocks, effort.is_late);
}

struct error *reach_search_verify(struct reach_search *search,
				  const struct snapshot *snap)
{
	uint64_t until_ns = search->stopped_ns + search->pause.stopping_ns;
	struct error *err = NULL;

	if (search->processes.len)
		search->pause.table_ns = clock_now_ns() - until_ns;
	vec_foreach (candidates, &search->processes)
		for (uint32_t i = 0; !err && i < snap->processes.len; i++)
			if (candidates->is_stopped && !snap->processes.data[i].exited &&
			    snap->processes.data[i].pid == candidates->pid) {
				err = verify(search, snap, i, candidates);
				candidates->is_stopped = false;
			}
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

	vec_foreach (process, &search->judged)
		reach_verdicts_clear(verdicts, process->pid, process->is_late);
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
	/* First the verdicts of earlier searches: what they called lost may be freed. */
	return reach_verdicts_audit(&search->verdicts, snap) && take_over(search) &&
			       reach_verdicts_fill(&search->verdicts, snap)
		       ? NULL
		       : error_no_memory();
}
