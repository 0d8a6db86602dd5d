// SPDX-License-Identifier: Apache-2.0
#include "symbol/fetch_files.h"

#include <stdlib.h>
#include <string.h>

/* Where libraries are, and what libcurl, the TLS libraries and the C library's modules
 * for names of hosts read. Files there that only root may read stay closed, as this is
 * not root's process. /etc is permitted whole: programs replace resolv.conf, and a rule
 * for the file would not cover the new one. */
static const char *const fixed[] = {
	"/etc",
	"/usr",
	"/lib",
	"/lib32",
	"/lib64",
	"/opt",
	"/nix/store",
	"/gnu/store",
	"/var/lib/ca-certificates",
	"/var/lib/sss",
	"/run/systemd/resolve",
	"/run/resolvconf",
	"/run/NetworkManager",
	"/run/connman",
	"/run/nscd",
	"/dev/random",
	"/dev/urandom",
};

/* Lists of paths, divided by colons: debuginfod_find_debuginfo(3), curl(1), openssl(1),
 * ld.so(8). */
static const char *const variables[] = {
	"DEBUGINFOD_HEADERS_FILE",
	"DEBUGINFOD_IMA_CERT_PATH",
	"CURL_CA_BUNDLE",
	"SSL_CERT_FILE",
	"SSL_CERT_DIR",
	"LD_LIBRARY_PATH",
};

static bool add_owned(struct fetch_files *f, const char *path, size_t size)
{
	char *copy = strndup(path, size);

	if (!copy || !vec_push(&f->owned, copy)) {
		free(copy);
		return false;
	}
	return vec_push(&f->paths, copy);
}

/* Add the absolute paths of a list. */
static bool add_list(struct fetch_files *f, const char *list)
{
	bool ok = true;

	while (ok && list && *list) {
		size_t size = strcspn(list, ":");

		if (*list == '/')
			ok = add_owned(f, list, size);
		list += size + (list[size] == ':');
	}
	return ok;
}

#define FILE_SCHEME "file://"

/* Servers may be directories. */
static bool add_urls(struct fetch_files *f)
{
	const char *urls = getenv("DEBUGINFOD_URLS");
	size_t skip = strlen(FILE_SCHEME);
	bool ok = true;

	while (ok && urls && *urls) {
		size_t size = strcspn(urls, " \t\n");

		if (size > skip && !strncmp(urls, FILE_SCHEME, skip) && urls[skip] == '/')
			ok = add_owned(f, urls + skip, size - skip);
		urls += size + strspn(urls + size, " \t\n");
	}
	return ok;
}

struct error *fetch_files_init(struct fetch_files *f, int cache)
{
	bool ok = true;

	*f = (struct fetch_files){.files = {.writable = cache}};
	for (size_t i = 0; i < sizeof(fixed) / sizeof(*fixed); i++)
		ok = ok && vec_push(&f->paths, fixed[i]);
	for (size_t i = 0; i < sizeof(variables) / sizeof(*variables); i++)
		ok = ok && add_list(f, getenv(variables[i]));
	ok = ok && add_urls(f) && vec_push(&f->paths, NULL);
	f->files.readable = f->paths.data;
	if (ok)
		return NULL;
	fetch_files_deinit(f);
	return error_no_memory();
}

void fetch_files_deinit(struct fetch_files *f)
{
	vec_foreach (path, &f->owned)
		free(*path);
	vec_deinit(&f->owned);
	vec_deinit(&f->paths);
}
