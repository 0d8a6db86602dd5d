// SPDX-License-Identifier: Apache-2.0
#include <netinet/in.h>
#include <sys/un.h>

#include "check.h"
#include "util/listen_address.h"

static struct listen_address parse(const char *text)
{
	struct listen_address address;
	struct error *err = listen_address_parse(text, &address);

	if (err)
		CHECK_FAIL("%s: %s", text, err->message);
	error_destroy(err);
	return address;
}

static void addresses_are_in_numbers(void)
{
	static const struct {
		const char *text, *shown;
		int family;
		bool is_loopback;
	} cases[] = {
		{"9911", "127.0.0.1:9911", AF_INET, true},
		{"0", "127.0.0.1:0", AF_INET, true},
		{"65535", "127.0.0.1:65535", AF_INET, true},
		{"localhost:80", "127.0.0.1:80", AF_INET, true},
		{"127.1.2.3:80", "127.1.2.3:80", AF_INET, true},
		{"0.0.0.0:9911", "0.0.0.0:9911", AF_INET, false},
		{"10.0.0.1:1", "10.0.0.1:1", AF_INET, false},
		{"128.0.0.1:1", "128.0.0.1:1", AF_INET, false},
		{"[::1]:9911", "[::1]:9911", AF_INET6, true},
		{"[::]:9911", "[::]:9911", AF_INET6, false},
		{"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:1", AF_INET6, true},
		{"[::ffff:10.0.0.1]:1", "[::ffff:10.0.0.1]:1", AF_INET6, false},
		{"[2001:db8::1]:1", "[2001:db8::1]:1", AF_INET6, false},
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct listen_address address = parse(cases[i].text);
		char shown[LISTEN_ADDRESS_TEXT];

		listen_address_format(&address, shown, sizeof(shown));
		CHECK_STR(shown, cases[i].shown);
		CHECK_INT(address.socket.ss_family, cases[i].family);
		CHECK_INT(address.is_loopback, cases[i].is_loopback);
		CHECK(!address.path);
	}
}

static void unix_sockets_have_a_path(void)
{
	struct listen_address address = parse("unix:/run/memtrace.sock");
	char shown[LISTEN_ADDRESS_TEXT];

	CHECK_INT(address.socket.ss_family, AF_UNIX);
	CHECK_STR(((struct sockaddr_un *)&address.socket)->sun_path,
		  "/run/memtrace.sock");
	CHECK_STR(address.path, "/run/memtrace.sock");
	CHECK(!address.is_loopback);
	listen_address_format(&address, shown, sizeof(shown));
	CHECK_STR(shown, "unix:/run/memtrace.sock");
}

static void others_are_refused(void)
{
	char longest[120] = "unix:/";
	static const char *const texts[] = {
		"",
		":9911",
		"65536",
		"-1",
		"9911 ",
		"+1",
		"0x10",
		"host:1",
		"127.0.0.1",
		"127.0.0.1:",
		"127.0.0.1:http",
		"127.0.0.1:65536",
		"127.1:80",
		"1.2.3.4.5:80",
		"::1:80",
		"[::1]",
		"[::1:80",
		"::1]:80",
		"[]:80",
		"[127.0.0.1]:80",
		"[::1]x:80",
		"[fe80::1%eth0]:80",
		"localhost.evil:80",
		"xlocalhost:80",
		"unix:",
		"http://127.0.0.1:80",
		"127.0.0.1:80/",
	};
	struct listen_address address;
	struct error *err;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		err = listen_address_parse(texts[i], &address);
		if (!err)
			CHECK_FAIL("'%s' is taken for an address", texts[i]);
		else
			CHECK_INT(err->code, ERROR_USAGE);
		error_destroy(err);
	}
	/* sun_path has 108 bytes with its NUL (unix(7)). */
	memset(longest + 6, 'x', 106);
	parse(longest);
	longest[112] = 'x';
	err = listen_address_parse(longest, &address);
	CHECK(err && strstr(err->message, "107 characters"));
	error_destroy(err);
}

int main(void)
{
	RUN(addresses_are_in_numbers);
	RUN(unix_sockets_have_a_path);
	RUN(others_are_refused);
	return check_done();
}
