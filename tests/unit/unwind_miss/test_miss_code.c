// SPDX-License-Identifier: Apache-2.0
/* The mappings of processes that ended before memtrace read them, and of code that was
 * replaced by other code: known from the kernel's events. */
#include "check.h"

#include <sys/mman.h>

#include "unwind_miss/miss_code.h"
#include "unit/process/child.h"
#include "util/clock.h"

#define NOW (UINT64_MAX - 1)

/* --- what miss_code calls ------------------------------------------------------ */

struct replaced {
	unsigned times;
	uint32_t slot;
	struct code_replaced what;
};

/* Something has changed, and the kernel has sent events for it. */
static const struct code_change reported = {.is_any = true};

static uint64_t tag_now, moves_now;

static uint64_t tag_of(void *arg, uint32_t slot)
{
	(void)arg;
	(void)slot;
	return tag_now;
}

static uint64_t moves_of(void *arg, int pid)
{
	(void)arg;
	(void)pid;
	return moves_now;
}

static void note(void *arg, uint32_t slot, const struct code_replaced *what)
{
	struct replaced *r = arg;

	*r = (struct replaced){r->times + 1, slot, *what};
}

static void open_code(struct miss_code *code, enum trace_scope scope, struct replaced *r)
{
	*code = (struct miss_code){.scope = scope,
				   .on_replaced = note,
				   .tag = tag_of,
				   .moves = moves_of,
				   .arg = r};
	REQUIRE(!miss_code_init(code, NULL, NULL));
	if (!code->watch)
		check_skip("the kernel does not tell us of all processes");
}

static bool knows(const struct process_code *p, const void *function, uint64_t at_ns)
{
	struct walk_code code;

	return p && images_find(p->images, (uint64_t)(uintptr_t)function, at_ns, &code) &&
	       code.cfi;
}

/* --- a process that executes commands --------------------------------------------- */

struct job {
	int go[2], done[2];
	int *answer; /* shared memory */
};

/* Bytes of address space for the generated code, if the job 'j' runs JIT_ROUNDS times. */
enum {
	JIT_ROUNDS = 70,
	JIT_BYTES = JIT_ROUNDS * 500 * 8192
};

extern char __executable_start; /* defined by the linker */

static void run_jobs(void *arg);

/* The offset of this code in our file. Text is as far from the file's start as from the
 * load address (ld(1)). */
static off_t own_code_offset(void)
{
	return (off_t)((uintptr_t)run_jobs - (uintptr_t)&__executable_start) & ~4095l;
}

static void run_jobs(void *arg)
{
	struct job *job = arg;
	char letter;
	pid_t pid;
	void *at = NULL;
	char *next = NULL;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	if (fork())
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	job->answer[0] = getpid();
	if (write(job->done[1], "", 1) != 1)
		_exit(1);
	while (read(job->go[0], &letter, 1) == 1) {
		switch (letter) {
		case 'f': /* a child that ends at once */
		case 'e': /* a child that executes a program first */
			pid = fork();
			if (!pid && letter == 'e')
				execl("/bin/true", "true", (char *)NULL);
			if (!pid)
				_exit(0);
			job->answer[0] = pid;
			waitpid(pid, NULL, 0);
			break;
		case 'm': /* map our first page as code */
			at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd, 0);
			*(void **)(job->answer + 2) = at;
			break;
		case 't': /* map a page of our code again */
			at = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, fd,
				  own_code_offset());
			*(void **)(job->answer + 2) = at;
			break;
		case 'j': /* 500 pages of code, each unmapped before the next */
			if (!next)
				next = mmap(NULL, JIT_BYTES, PROT_NONE,
					    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			for (int i = 0; i < 500; i++, next += 8192) {
				mmap(next, 4096, PROT_READ | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
				mmap(next, 4096, PROT_NONE,
				     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			}
			break;
		case 's': /* move anonymous code there: the kernel sends no event */
			next = mmap(NULL, 4096, PROT_READ | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (mremap(next, 4096, 4096, MREMAP_MAYMOVE | MREMAP_FIXED, at) ==
			    MAP_FAILED)
				_exit(2);
			break;
		case 'r':
			munmap(at, 4096);
			mmap(at, 4096, PROT_READ | PROT_EXEC,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
			break;
		}
		if (write(job->done[1], "", 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static struct child start(struct job *job)
{
	char byte;

	REQUIRE(pipe2(job->go, O_CLOEXEC) == 0 && pipe2(job->done, O_CLOEXEC) == 0);
	job->answer = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			   -1, 0);
	REQUIRE(job->answer != MAP_FAILED);

	struct child child = child_fork(run_jobs, job);

	REQUIRE(read(job->done[0], &byte, 1) == 1);
	return child;
}

static int run(struct job *job, char letter)
{
	char byte;

	REQUIRE(write(job->go[1], &letter, 1) == 1);
	REQUIRE(read(job->done[0], &byte, 1) == 1);
	return job->answer[0];
}

static void stop(struct job *job, struct child *child)
{
	child_end(child);
	close(job->go[0]);
	close(job->go[1]);
	close(job->done[0]);
	close(job->done[1]);
	munmap(job->answer, 4096);
}

/* --- tests ------------------------------------------------------------------------ */

static void children_that_are_gone(void)
{
	struct replaced replaced = {0};
	struct miss_code code;
	struct job job;
	struct child child = start(&job);
	int parent = job.answer[0], pid;
	const void *ours = (const void *)(uintptr_t)children_that_are_gone;

	open_code(&code, SCOPE_FORKS, &replaced);
	CHECK(knows(miss_code_of(&code, parent, 0, true, &reported), ours, NOW));
	pid = run(&job, 'f');
	CHECK(knows(miss_code_of(&code, pid, 1, false, &reported), ours, NOW));
	CHECK(!miss_code_of(&code, pid, 1, false, &reported)->is_doubtful);
	/* After something has moved in the parent, its mappings are doubtful until
	 * memtrace reads them. */
	moves_now = 1;
	pid = run(&job, 'f');
	CHECK(miss_code_of(&code, pid, 1, false, &reported)->is_doubtful);
	CHECK_INT(code.parents.len, 1);
	CHECK_INT(code.parents.data[0], parent);
	(void)miss_code_look(&code, miss_code_of(&code, parent, 0, true, &reported));
	pid = run(&job, 'f');
	CHECK(!miss_code_of(&code, pid, 1, false, &reported)->is_doubtful);
	moves_now = 0;

	/* The child executed a program: it has the code of that program, of the dynamic
	 * linker, of libc and of the vDSO. Before that it had its parent's code. */
	uint64_t before_ns = clock_now_ns();

	while (miss_code_next_mapped(&code))
		;
	pid = run(&job, 'e');

	struct process_code *p = miss_code_of(&code, pid, 2, false, &reported);

	REQUIRE(p);
	CHECK(p->ended_ns > before_ns);
	CHECK(knows(p, ours, p->ended_ns - 1));
	CHECK(!knows(p, ours, NOW));
	CHECK_INT(images_unread(p->images), 0);
	CHECK(miss_code_next_mapped(&code) == p);
	CHECK(!miss_code_next_mapped(&code));
	images_prune(p->images, p->ended_ns + 1);
	CHECK(images_count(p->images) >= 4);
	CHECK(!knows(p, ours, p->ended_ns - 1));

	miss_code_remove(&code, pid);
	CHECK(!miss_code_of(&code, pid, 2, false, &reported));
	CHECK_INT(replaced.times, 0);
	miss_code_deinit(&code);
	stop(&job, &child);
}

static void children_of_no_interest(void)
{
	struct replaced replaced = {0};
	struct miss_code code;
	struct job job;
	struct child child = start(&job);
	int parent = job.answer[0];

	open_code(&code, SCOPE_PROCESSES, &replaced);
	REQUIRE(miss_code_of(&code, parent, 0, true, &reported));
	CHECK(!miss_code_of(&code, run(&job, 'f'), 1, false, &reported));
	CHECK(!miss_code_of(&code, run(&job, 'e'), 1, true, &reported));
	miss_code_deinit(&code);
	stop(&job, &child);
}

static void code_in_the_place_of_code(void)
{
	struct replaced replaced = {0};
	struct miss_code code;
	struct job job;
	struct child child = start(&job);
	int pid = job.answer[0];
	struct walk_code found;

	open_code(&code, SCOPE_PROCESSES, &replaced);
	tag_now = 7;
	struct process_code *p = miss_code_of(&code, pid, 3, true, &reported);

	REQUIRE(p);
	CHECK_INT(p->changed_ns, 0);
	run(&job, 'm');
	miss_code_catch_up(&code);
	uint64_t at = *(uint64_t *)(void *)(job.answer + 2), mapped_ns = clock_now_ns();

	REQUIRE(images_find(p->images, at, NOW, &found));
	CHECK_INT(replaced.times, 0);
	CHECK(p->changed_ns && p->changed_ns < mapped_ns);
	tag_now = 8;
	run(&job, 'r');
	miss_code_catch_up(&code);
	CHECK_INT(replaced.times, 1);
	CHECK_INT(replaced.slot, 3);
	CHECK_INT(replaced.what.start, at);
	CHECK_INT(replaced.what.end, at + 4096);
	CHECK_INT(replaced.what.tag, 7);
	CHECK(!replaced.what.is_found);
	CHECK(images_find(p->images, at, mapped_ns, &found));

	/* Lost events make memtrace read /proc, which shows nothing new. */
	size_t before = images_count(p->images);
	uint64_t changed_ns = p->changed_ns;

	CHECK(changed_ns > mapped_ns);

	p->must_read = true;
	p->next_look_ns = 0;
	CHECK(miss_code_of(&code, pid, 3, true, &reported) == p);
	CHECK(!p->must_read);
	CHECK_INT(images_count(p->images), before);
	CHECK_INT(p->changed_ns, changed_ns);
	miss_code_deinit(&code);
	stop(&job, &child);
}

/* Changes without an event: memtrace reads /proc if the probes report a change. It also
 * finds such changes when it reads /proc for another reason. */
static void code_that_was_moved(void)
{
	static const struct {
		bool is_told_when, is_looked_for;
	} ways[] = {{true, false}, {false, false}, {false, true}};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		struct replaced replaced = {0};
		struct miss_code code;
		struct job job;
		struct child child = start(&job);
		int pid = job.answer[0];
		struct code_change change = {.is_any = true, .is_unreported = true};
		struct walk_code found;

		open_code(&code, SCOPE_PROCESSES, &replaced);
		struct process_code *p = miss_code_of(&code, pid, 3, true, &reported);

		REQUIRE(p);
		run(&job, 't');
		CHECK(miss_code_of(&code, pid, 3, true, &reported) == p);

		uint64_t at = *(uint64_t *)(void *)(job.answer + 2);
		uint64_t before_ns = clock_now_ns();

		REQUIRE(images_find(p->images, at, NOW, &found) && found.cfi);
		run(&job, 's');
		CHECK(miss_code_of(&code, pid, 3, true, &reported) == p);
		CHECK(images_find(p->images, at, NOW, &found) && found.cfi);
		CHECK_INT(replaced.times, 0);

		uint64_t moved_ns = clock_now_ns();

		if (ways[i].is_told_when)
			change.since_ns = change.after_ns = moved_ns;
		if (ways[i].is_looked_for)
			CHECK(miss_code_look(&code, p));
		else
			CHECK(miss_code_of(&code, pid, 3, true, &change) == p);
		CHECK_INT(replaced.times, 1);
		CHECK_INT(replaced.what.start, at);
		CHECK(replaced.what.is_found == ways[i].is_looked_for);
		CHECK(replaced.what.was_ns < before_ns);
		CHECK(replaced.what.is_ns >= before_ns);
		CHECK(images_find(p->images, at, NOW, &found) && !found.cfi);
		CHECK(p->changed_ns >= moved_ns);
		/* The code between the two readings is unknown, unless the time of the
		 * change is known. */
		if (ways[i].is_told_when) {
			CHECK(images_find(p->images, at, moved_ns, &found) && !found.cfi);
			CHECK(images_find(p->images, at, moved_ns - 1, &found) &&
			      found.cfi);
		} else {
			CHECK(!images_find(p->images, at, moved_ns, &found));
			CHECK(!images_find(p->images, at, before_ns, &found));
			CHECK(knows(p, (const void *)(uintptr_t)code_that_was_moved,
				    before_ns));
		}
		miss_code_deinit(&code);
		stop(&job, &child);
	}
}

/* The first reading of a child, after reports were lost: what it finds may be new. */
static void a_first_reading_after_lost_reports(void)
{
	struct replaced replaced = {0};
	struct miss_code code;
	struct job job;
	struct child child = start(&job);
	int pid = job.answer[0];
	uint64_t begin_ns;

	open_code(&code, SCOPE_PROCESSES, &replaced);
	struct process_code *p = miss_code_of(&code, pid, 3, true, &reported);

	REQUIRE(p);
	run(&job, 't');
	CHECK(miss_code_of(&code, pid, 3, true, &reported) == p);
	run(&job, 's');
	miss_code_catch_up(&code);
	begin_ns = clock_now_ns();
	CHECK(p->changed_ns < begin_ns);
	p->read_ns = 0;
	p->must_read = true;
	p->next_look_ns = 0;
	CHECK(miss_code_of(&code, pid, 3, true, &reported) == p);
	CHECK(!p->must_read);
	CHECK(p->changed_ns > begin_ns);
	miss_code_deinit(&code);
	stop(&job, &child);
}

/* System-wide tracing: processes whose parent is unknown, and which end before memtrace
 * reads /proc. */
static void programs_of_unknown_parents(void)
{
	const void *ours = (const void *)(uintptr_t)programs_of_unknown_parents;
	struct replaced replaced = {0};
	struct miss_code code;
	struct job job;
	struct child child = start(&job);

	open_code(&code, SCOPE_ALL, &replaced);
	int forked = run(&job, 'f'), executed = run(&job, 'e'), other = run(&job, 'e');

	CHECK(!miss_code_of(&code, forked, 1, false, &reported));

	struct process_code *p = miss_code_of(&code, executed, 2, false, &reported);

	REQUIRE(p);
	CHECK(!knows(p, ours, NOW));
	CHECK_INT(images_unread(p->images), 0);
	CHECK(images_count(p->images) >= 4);

	/* Processes that no stack belongs to are dropped some time after their end. */
	size_t noted = code.noted_count;

	CHECK(noted >= 4);
	miss_code_prune(&code, 1);
	CHECK_INT(code.noted_count, noted);
	miss_code_prune(&code, NOW);
	/* At most: the programs of all other processes are noted, too. */
	CHECK(code.noted_count <= noted - 4);
	CHECK(!miss_code_of(&code, other, 3, false, &reported));
	miss_code_deinit(&code);
	CHECK_INT(code.count, 0);
	CHECK_INT(code.noted_count, 0);
	stop(&job, &child);
}

/* A child that runs its parent's program gets the mappings that were noted for the
 * parent. */
static void children_of_unknown_parents(void)
{
	struct replaced replaced = {0};
	struct miss_code code;
	pid_t parent;
	int pipe_of[2], child = 0;

	open_code(&code, SCOPE_ALL, &replaced);
	REQUIRE(pipe(pipe_of) == 0);
	parent = fork();
	REQUIRE(parent >= 0);
	if (!parent) {
		dup2(pipe_of[1], 1);
		execl("/bin/sh", "sh", "-c", "(:; exit 0) & echo $!; wait", (char *)NULL);
		_exit(127);
	}

	FILE *said = fdopen(pipe_of[0], "r");

	close(pipe_of[1]);
	REQUIRE(said && fscanf(said, "%d", &child) == 1);
	fclose(said);
	REQUIRE(waitpid(parent, NULL, 0) == parent);

	struct process_code *p = miss_code_of(&code, child, 1, false, &reported);

	REQUIRE(p);
	CHECK(images_count(p->images) >= 4);
	CHECK_INT(images_unread(p->images), 0);
	miss_code_deinit(&code);
}

/* A program that generates code all the time. */
static void code_without_end(void)
{
	const void *ours = (const void *)(uintptr_t)code_without_end;
	struct replaced replaced = {0};
	struct miss_code code;
	struct job job;
	struct child child = start(&job);
	int pid = job.answer[0];
	struct walk_code found;

	open_code(&code, SCOPE_PROCESSES, &replaced);
	struct process_code *p = miss_code_of(&code, pid, 0, true, &reported);

	REQUIRE(knows(p, ours, NOW));
	for (int i = 0; i < JIT_ROUNDS; i++) {
		run(&job, 'j');
		miss_code_catch_up(&code);
	}
	CHECK(images_count(p->images) > 30000);
	run(&job, 'm');
	miss_code_catch_up(&code);
	miss_code_prune(&code, clock_now_ns());
	p->next_look_ns = 0;
	(void)miss_code_look_again(&code, p);
	CHECK(images_find(p->images, *(uint64_t *)(void *)(job.answer + 2), NOW, &found));
	CHECK(knows(p, ours, NOW));
	CHECK(images_count(p->images) < 100);
	miss_code_deinit(&code);
	stop(&job, &child);
}

int main(void)
{
	RUN(children_that_are_gone);
	RUN(children_of_no_interest);
	RUN(programs_of_unknown_parents);
	RUN(children_of_unknown_parents);
	RUN(code_in_the_place_of_code);
	RUN(code_that_was_moved);
	RUN(a_first_reading_after_lost_reports);
	RUN(code_without_end);
	return check_done();
}
