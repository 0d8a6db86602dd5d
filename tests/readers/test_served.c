// SPDX-License-Identifier: Apache-2.0
/* go tool pprof fetches from --listen: a profile, its difference to an earlier one, and
 * the changes of some seconds. */
#include "readers.h"

#include "unit/serve/served.h"

#define GO "/usr/bin/go"
/* served.h: what each snapshot has more than the one before. */
#define MORE_BYTES 100

/* The bytes that `pprof -top` shows, of live blocks. */
static long long bytes_of(const char *options, const struct served *s, const char *query)
{
	static const char begin[] = "Showing nodes accounting for ";
	char command[512];
	_cleanup_(freep) char *said = NULL;
	const char *at;

	snprintf(command, sizeof(command),
		 "HOME=/nonexistent PPROF_TMPDIR=/tmp " GO " tool pprof -symbolize=none "
		 "-unit=B -nodecount=1000 -nodefraction=0 -sample_index=inuse_space -top "
		 "%s 'http://127.0.0.1:%u/debug/pprof/heap%s' 2>/dev/null",
		 options, s->port, query);
	said = readers_run(command);
	at = strstr(said, begin);
	return at ? strtoll(at + strlen(begin), NULL, 10) : -1;
}

static void pprof_takes_differences(void)
{
	_cleanup_(temp_dir_destroy) struct temp_dir dir = temp_dir_create();
	char options[256];
	struct served s;
	struct http_answer a;
	FILE *f;

	served_begin(&s);
	s.grows = true;
	a = http_get(s.port, "/debug/pprof/heap");
	REQUIRE(a.status == 200);
	f = fopen(temp_dir_path(&dir, "base.pb.gz"), "we");
	REQUIRE(f && fwrite(a.body, 1, a.body_len, f) == a.body_len && !fclose(f));
	http_free(&a);
	snprintf(options, sizeof(options), "-diff_base=%s",
		 temp_dir_path(&dir, "base.pb.gz"));
	usleep(1100 * 1000);
	CHECK_INT(bytes_of(options, &s, ""), MORE_BYTES);
	usleep(1100 * 1000);
	CHECK_INT(bytes_of("", &s, ""), 2 * 1024 * 1024 + 3100 + 64 + 7 + 3 * MORE_BYTES);
	usleep(1100 * 1000);
	CHECK_INT(bytes_of("", &s, "?seconds=1"), MORE_BYTES);
	served_end(&s);
}

int main(void)
{
	readers_need(GO, "golang-go");
	RUN(pprof_takes_differences);
	return check_done();
}
