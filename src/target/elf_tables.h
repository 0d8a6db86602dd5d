/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of an ELF file's symbol tables, from its section headers. libbcc and libelf
 * read these tables whole, whatever their sizes: so do they with a sparse file, which
 * takes no room on the disk. */
#ifndef TARGET_ELF_TABLES_H
#define TARGET_ELF_TABLES_H

enum elf_tables {
	/* The symbol tables (SHT_SYMTAB and SHT_DYNSYM, gABI, "Sections") have at most
	 * 256 MiB in all, and the strings that they name at most 512 MiB, as far as they
	 * are in the file. So it is, too, without section headers. */
	ELF_TABLES_MODERATE,
	ELF_TABLES_TOO_LARGE,
	/* The section headers cannot be read, are of another class or byte order, or are
	 * more than 65,279. */
	ELF_TABLES_UNKNOWN,
};

enum elf_tables elf_tables_look(int fd);

#endif
