/* SPDX-License-Identifier: Apache-2.0 */
/* The sizes of an ELF file's symbol tables, by its section headers. libbcc and libelf
 * read these tables whole, whatever their sizes. A sparse file can thus make them use
 * much memory although it takes no space on the disk. */
#ifndef ELF_ELF_TABLES_H
#define ELF_ELF_TABLES_H

enum elf_table_sizes {
	/* The symbol tables (SHT_SYMTAB and SHT_DYNSYM, gABI, "Sections") have at most
	 * 256 MiB in total, and their string tables at most 512 MiB, counting bytes
	 * within the file. Also returned for a file without section headers. */
	ELF_TABLES_MODERATE,
	ELF_TABLES_TOO_LARGE,
	/* The section headers cannot be read, have another class or byte order, or
	 * number more than 65,279. */
	ELF_TABLES_UNKNOWN,
};

enum elf_table_sizes elf_tables_look(int fd);

#endif
