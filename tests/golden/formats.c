// SPDX-License-Identifier: Apache-2.0
/*
 * Flame graphs that must equal NAME.svg byte for byte, but for the script. With a
 * directory as argument they are written there instead, script and all, to be looked at.
 */
#include "unit/render/fixture.h"

#include <time.h>

#include "render/flame.h"

static const char *write_dir;

static void render(const struct report *report, const struct flame_options *options,
		   char **ret)
{
	size_t len = 0;
	FILE *out = open_memstream(ret, &len);

	REQUIRE(out);
	REQUIRE(!flame_render(report, options, out));
	REQUIRE(!fclose(out));
}

static void check_case(const char *name, struct fixture *f,
		       const struct flame_options *options)
{
	_cleanup_(freep) char *svg = NULL;
	char path[512];

	render(fixture_report(f), options, &svg);
	snprintf(path, sizeof(path), "%s/%s.svg",
		 write_dir ? write_dir : TEST_DATA_DIR "/golden", name);

	_cleanup_(fclosep) FILE *file = fopen(path, write_dir ? "we" : "re");

	REQUIRE(file);
	if (write_dir) {
		fputs(svg, file);
		return;
	}

	size_t cap = 1 << 20;
	_cleanup_(freep) char *want = malloc(cap);

	REQUIRE(want && strstr(svg, "<script>"));
	want[fread(want, 1, cap - 1, file)] = '\0';
	strcpy(strstr(svg, "<script>"), "</svg>\n");
	CHECK_STR(svg, want);
}

static void flame(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	check_case("flame", &f, &(struct flame_options){0});
}

/* With all that a page can show. */
static void flame_reverse(void)
{
	_cleanup_(fixture_deinit) struct fixture f;

	fixture_init(&f);
	fixture_fill(&f);
	fixture_fill_mappings(&f);
	f.snap->sample_every = 100;
	f.snap->losses[LOSS_BLOCKS_FULL] = 12;
	f.snap->losses[LOSS_EVENTS_LOST] = UINT64_MAX;
	f.symbols.data[2].name = "</title>\"<&'>\x1b\xff";
	f.symbols.data[3].module = "/tmp/<\"evil\" & co>\n.so";
	check_case("flame-reverse", &f,
		   &(struct flame_options){.inverted = true, .reverse = true});
}

int main(int argc, char *argv[])
{
	if (argc > 1)
		write_dir = argv[1];
	setenv("TZ", "UTC", 1);
	tzset();
	RUN(flame);
	RUN(flame_reverse);
	return check_done();
}
