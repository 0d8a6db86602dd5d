/* SPDX-License-Identifier: Apache-2.0 */
/* The requests that elf/elf_remote.c sends to elf/elf_service.c. */
#ifndef ELF_ELF_WIRE_H
#define ELF_ELF_WIRE_H

#include "confined/confined.h"
#include "elf/elf_file.h"
#include "elf/elf_links.h"
#include "elf/usdt.h"

enum elf_request {
	/* An open file, and its name for errors. Answer: a handle, which identifies the
	 * file in later requests. */
	ELF_OPEN = 0x300,
	ELF_CLOSE,           /* handle */
	ELF_FIND_FUNCTIONS,  /* handle, count, names. Answer: elf_put_symbol() for each */
	ELF_OFFER_FUNCTIONS, /* handle, the wanted name. Answer: elf_put_nearest() */
	ELF_READ_LINKS,      /* handle. Answer: elf_put_links() */
	/* handle, provider, name, the wanted name or NULL. Answer: elf_put_places(),
	 * then elf_put_nearest() */
	ELF_FIND_USDT,
	ELF_HAS_SYMBOLS,    /* handle. Answer: 1 or 0 */
	ELF_READ_DEBUGLINK, /* handle. Answer: name, checksum */
	/* handle, name and checksum of the link, and the open debug file. Answer: 1 if
	 * it fits, else 0 */
	ELF_TRY_DEBUG,
	ELF_END,
};

/* The readers check that each value is in range. They cannot check that it is true. */
void elf_put_symbol(struct strbuf *out, const struct elf_symbol *symbol);
/* `name` is the wanted name. The file offset is computed from `file`; if the address is
 * not in an executable segment of `file`, the symbol counts as not found. */
void elf_get_symbol(struct wire *in, const struct elf_file *file, const char *name,
		    struct elf_symbol *ret);

void elf_put_nearest(struct strbuf *out, const struct nearest *nearest);
void elf_get_nearest(struct wire *in, struct nearest *ret);

void elf_put_links(struct strbuf *out, const struct elf_links *links);
/* Names are borrowed from the message. */
struct error *elf_get_links(struct wire *in, struct elf_links *ret)
	__attribute__((warn_unused_result));

void elf_put_places(struct strbuf *out, const struct usdt_places *places);
struct error *elf_get_places(struct wire *in, const struct elf_file *file,
			     struct usdt_places *ret) __attribute__((warn_unused_result));

/* For the child: its open files and its request handler. */
struct elf_service;

struct elf_service *elf_service_create(void);
void elf_service_destroy(struct elf_service *service);
struct confined_service elf_service_entry(struct elf_service *service);

#endif
