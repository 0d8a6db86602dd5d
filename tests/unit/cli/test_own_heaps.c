// SPDX-License-Identifier: Apache-2.0
#include "check.h"

#include "cli/own_heaps.h"
#include "cli/return_probes.h"

static const char *risk_of(char *path)
{
	struct proc_mapping mapping = {.path = path, .executable = true};
	struct proc_maps maps = {0};

	maps.mappings.data = &mapping;
	maps.mappings.len = 1;
	return return_probes_risk(&maps);
}

/* Programs that a return probe may break. */
static void risks(void)
{
	CHECK_CONTAINS(risk_of("[anon: Go: heap]"), "Go");
	CHECK_CONTAINS(risk_of("/usr/lib/x86_64-linux-gnu/libstdc++.so.6.0.30"), "C++");
	CHECK_CONTAINS(risk_of("/usr/lib/libc++.so.1"), "C++");
	CHECK(!risk_of("/usr/bin/env"));
}

static const char *of(char *path, bool executable)
{
	struct proc_mapping mappings[] = {
		{.path = "/usr/bin/env", .executable = true},
		{.path = path, .executable = executable},
		{.path = "[stack]"},
	};
	struct proc_maps maps = {0};

	maps.mappings.data = mappings;
	maps.mappings.len = 3;
	return own_heap_of(&maps);
}

static void known(void)
{
	CHECK_CONTAINS(of("/usr/lib/jvm/java-17/lib/server/libjvm.so", true), "Java");
	CHECK_CONTAINS(of("/usr/bin/node", true), "V8");
	CHECK_CONTAINS(of("/usr/lib/libnode.so.108", true), "V8");
	CHECK_CONTAINS(of("/usr/bin/python3.11", true), "PYTHONMALLOC");
	CHECK_CONTAINS(of("/usr/lib/libpython3.13t.so.1.0", true), "PYTHONMALLOC");
	CHECK_CONTAINS(of("/usr/sbin/php-fpm8.2", true), "USE_ZEND_ALLOC");
	CHECK_CONTAINS(of("[anon: Go: heap]", false), "Go");
}

static void unknown(void)
{
	CHECK(!of("/usr/bin/nodeadline", true));
	CHECK(!of("/usr/bin/python-config-tool", true));
	CHECK(!of("/usr/bin/phpize", true));
	CHECK(!of("/usr/lib/libjvm.so", false));
	CHECK(!of("[anon: mine]", false));
	CHECK(!of("/usr/bin/perl", true));
}

int main(void)
{
	RUN(known);
	RUN(unknown);
	RUN(risks);
	return check_done();
}
