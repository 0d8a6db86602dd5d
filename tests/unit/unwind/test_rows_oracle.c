// SPDX-License-Identifier: Apache-2.0
/*
 * The rows of real programs and libraries against libdw's: every register of the caller,
 * on made-up registers. And the packed rule of each row, applied by the probes' step,
 * against the row.
 */
#include "unit/unwind/dwarf_oracle.h"
#include "unit/unwind/section.h"

#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <link.h>
#include <unistd.h>

#include "unwind/cfi.h"
#include "unwind/frame.h"
#include "unwind/rules.h"

/* At most so many rows of one file are compared, evenly spread. */
#define ROWS_MAX 150000

static struct made_up made_up;

struct subject {
	const char *path;
	struct cfi *cfi;
	Elf *elf;
	Dwarf *dwarf;
	Dwarf_CFI *eh, *debug;
	unsigned rows, debug_rows, packed, slow, ends, signals, gaps, differences;
};

static uint64_t word_at(uint64_t address)
{
	struct oracle_value v = oracle_read(&made_up, address, 8);

	return v.known ? v.value : 0;
}

/* The rule must say of pc, sp and bp what the row says. */
static bool check_rule(struct subject *s, const struct cfi_row *row, uint64_t pc,
		       const struct unwind_registers *caller, bool is_known)
{
	const uint64_t *value = made_up.registers.value;
	struct unwind_regs regs = {value[ARCH_PC], value[ARCH_SP], value[ARCH_BP]};
	uint64_t rule = rule_from_row(row, pc);

	switch (UNWIND_TYPE(rule)) {
	case UNWIND_SLOW:
		s->slow++;
		return true;
	case UNWIND_END:
		s->ends++;
		return row->registers[ARCH_PC].how == CFI_UNDEFINED;
	case UNWIND_SIGNAL:
		s->signals++;
		if (!row->is_signal_frame)
			return false;
		unwind_step_signal(&regs, word_at(regs.sp + UNWIND_SIGNAL_BP),
				   word_at(regs.sp + UNWIND_SIGNAL_SP),
				   word_at(regs.sp + UNWIND_SIGNAL_PC));
		break;
	default:
		if (!unwind_can_step(rule))
			return false;
		s->packed++;

		uint64_t cfa = unwind_cfa_at(&regs, rule);

		if (unwind_derefs(rule))
			cfa = unwind_cfa_from(rule, word_at(cfa));

		uint64_t bp = unwind_bp_saved(rule)
				      ? word_at(unwind_bp_at(&regs, rule, cfa))
				      : 0xdead;

		unwind_step(&regs, rule, cfa, word_at(unwind_return_address_at(cfa)), bp);
	}
	/* Made-up memory is small: what lies outside of it cannot be compared. */
	if (!is_known)
		return true;
	return regs.pc == caller->value[ARCH_PC] && regs.sp == caller->value[ARCH_SP] &&
	       regs.bp == (caller->known >> ARCH_BP & 1 ? caller->value[ARCH_BP] : 0);
}

static bool same_registers(const struct cfi_row *row, Dwarf_Frame *frame,
			   const struct unwind_registers *caller, bool is_known)
{
	struct oracle_value cfa = oracle_cfa(&made_up, frame);
	bool undefined;

	if (!cfa.known)
		return !is_known;

	struct oracle_value pc =
		oracle_register(&made_up, frame, ARCH_PC, cfa.value, &undefined);

	if (undefined)
		return row->registers[ARCH_PC].how == CFI_UNDEFINED;

	struct oracle_value sp =
		oracle_register(&made_up, frame, ARCH_SP, cfa.value, &undefined);

	/* There is no step without these two. */
	if (!pc.known || !sp.known)
		return !is_known;
	if (!is_known)
		return false;
	for (int reg = 0; reg < ARCH_REGISTERS; reg++) {
		/* libdw takes rax to be kept and rbx not (x86_64_cfi.c of elfutils 0.188
		 * numbers rbx 0); the psABI has it the other way round. */
		if (row->registers[reg].how == CFI_UNSPECIFIED &&
		    (reg == 0 || reg == ARCH_RBX)) {
			if ((caller->known >> reg & 1) != (reg == ARCH_RBX))
				return false;
			continue;
		}

		struct oracle_value v =
			oracle_register(&made_up, frame, reg, cfa.value, &undefined);

		if (v.known != (caller->known >> reg & 1) ||
		    (v.known && v.value != caller->value[reg]))
			return false;
	}
	return true;
}

/* Compare at one address; the end of libdw's row there, or 0 without a row. */
static uint64_t compare_at(struct subject *s, uint64_t address)
{
	Dwarf_Frame *frame = NULL;
	struct cfi_row row;
	bool is_signal = false;
	Dwarf_Addr start = 0, end = 0;

	if (s->eh && dwarf_cfi_addrframe(s->eh, address, &frame))
		frame = NULL;
	if (!frame && s->debug) {
		if (dwarf_cfi_addrframe(s->debug, address, &frame))
			frame = NULL;
		s->debug_rows += frame != NULL;
	}

	enum cfi_result result = cfi_find_row(s->cfi, address, &row);

	if (!frame) {
		s->differences += result != CFI_NONE;
		s->gaps++;
		return 0;
	}
	s->rows++;
	REQUIRE(dwarf_frame_info(frame, &start, &end, &is_signal) == ARCH_PC);

	bool same = result == CFI_FOUND && is_signal == row.is_signal_frame;

	if (same) {
		struct unwind_registers caller;

		made_up.registers.value[ARCH_PC] = address;

		bool is_known = frame_step(&row, &made_up.registers, &made_up.stack,
					   &caller) == EVAL_OK;

		same = same_registers(&row, frame, &caller, is_known) &&
		       check_rule(s, &row, address, &caller, is_known);
	}
	if (!same && s->differences++ < 5)
		CHECK_FAIL("%s: the row at 0x%" PRIx64 " is another", s->path, address);
	free(frame);
	return end;
}

static void compare_segment(struct subject *s, uint64_t start, uint64_t end)
{
	/* A row is some 10 bytes of code. */
	uint64_t spread = (end - start) / ROWS_MAX / 10, gap = 0;

	for (uint64_t at = start; at < end;) {
		uint64_t row_end = compare_at(s, at);

		if (!row_end || row_end <= at) {
			at += ++gap < 64 ? 1 : 16;
			continue;
		}
		gap = 0;
		compare_at(s, row_end - 1);
		at = row_end + spread * 10;
	}
}

static void compare_file(const char *path, unsigned rows_min, unsigned debug_rows_min,
			 unsigned packed_percent)
{
	struct subject s = {.path = path};
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t count;

	REQUIRE(fd >= 0);
	REQUIRE(!cfi_open_file(dup(fd), &s.cfi));
	REQUIRE(elf_version(EV_CURRENT) != EV_NONE);
	s.elf = elf_begin(fd, ELF_C_READ, NULL);
	REQUIRE(s.elf);
	s.eh = dwarf_getcfi_elf(s.elf);
	s.dwarf = dwarf_begin_elf(s.elf, DWARF_C_READ, NULL);
	s.debug = s.dwarf ? dwarf_getcfi(s.dwarf) : NULL;
	REQUIRE(s.eh || s.debug);
	REQUIRE(elf_getphdrnum(s.elf, &count) == 0);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		REQUIRE(gelf_getphdr(s.elf, (int)i, &p));
		if (p.p_type == PT_LOAD && p.p_flags & PF_X)
			compare_segment(&s, p.p_vaddr, p.p_vaddr + p.p_filesz);
	}
	printf("     %s: %u rows, %u packed, %u slow, %u ends, %u signals, %u gaps\n",
	       path, s.rows, s.packed, s.slow, s.ends, s.signals, s.gaps);
	CHECK_INT(s.differences, 0);
	CHECK(s.rows >= rows_min);
	CHECK(s.debug_rows >= debug_rows_min);
	CHECK(s.packed > s.rows / 100 * packed_percent);
	cfi_close(s.cfi);
	if (s.eh)
		dwarf_cfi_end(s.eh);
	dwarf_end(s.dwarf);
	elf_end(s.elf);
	close(fd);
}

static void this_program(void)
{
	compare_file("/proc/self/exe", 500, 0, 90);
}

static void static_program(void)
{
	compare_file(TEST_STATIC_PROGRAM, 5000, 0, 90);
}

static void debug_frame(void)
{
	compare_file(TEST_DEBUG_FRAME, 20, 20, 90);
}

static int compare_loaded(struct dl_phdr_info *info, size_t size, void *argument)
{
	unsigned *compared = argument;
	const char *slash = strrchr(info->dlpi_name, '/');

	(void)size;
	if (slash && (strstr(slash, "/libc.so") || strstr(slash, "/ld-linux"))) {
		compare_file(info->dlpi_name, 1000, 0, 90);
		++*compared;
	}
	return 0;
}

static void libc_and_linker(void)
{
	unsigned compared = 0;

	dl_iterate_phdr(compare_loaded, &compared);
	CHECK_INT(compared, 2);
}

/* What the machine has of large libraries of other compilers and languages. */
static void large_libraries(void)
{
	static const char *const names[] = {
		"libstdc++.so.6", "libcrypto.so.3",   "libLLVM-1*.so.1",     "libm.so.6",
		"libgcc_s.so.1",  "libclang-1*.so.1", "libpython3.*.so.1.0",
	};
	unsigned found = 0;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char pattern[128];
		glob_t paths;

		snprintf(pattern, sizeof(pattern), "/usr/lib/*-linux-gnu/%s", names[i]);
		if (glob(pattern, 0, NULL, &paths) != 0) {
			printf("     %s is not here\n", names[i]);
			continue;
		}
		compare_file(paths.gl_pathv[0], 100, 0, 90);
		found++;
		globfree(&paths);
	}
	/* libm comes with libc. */
	CHECK(found > 0);
}

/* --- programs made by chance ----------------------------------------------------------
 */

#define RANDOM_FUNCTIONS 3000
#define FUNCTION_BYTES   64

static uint64_t chance = 0x2545f4914f6cdd1d;

static unsigned pick(unsigned count)
{
	return (unsigned)(made_up_random(&chance) % count);
}

/* A number as LEB128, of one byte or two. */
static void put_leb(struct built_section *s, bool is_signed)
{
	unsigned value = pick(1 << 14);

	if (pick(2)) {
		put_number(s, value & (is_signed ? 0x7f : 0x3f), 1);
	} else {
		put_number(s, (value & 0x7f) | 0x80, 1);
		put_number(s, is_signed ? value >> 7 : value >> 7 & 7, 1);
	}
}

static void put_register(struct built_section *s)
{
	put_number(s, pick(ARCH_PC), 1);
}

static void put_expression(struct built_section *s)
{
	static const struct {
		uint8_t size, bytes[12];
	} expressions[] = {
		{2, {0x76, 0x70}},
		{3, {0x77, 0x80, 0x01}},
		{3, {0x76, 0x78, 0x06}},
		{5, {0x77, 0x10, 0x06, 0x23, 0x20}},
		{4, {0x92, 10, 0x08, 0x06}},
		{11, {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}},
		{6, {0x73, 0, 0x09, 0xf0, 0x1a, 0x06}},
		{8, {0x7c, 0, 0x0a, 0x10, 0x00, 0x38, 0x1e, 0x22}},
	};
	unsigned i = pick(sizeof(expressions) / sizeof(expressions[0]));

	put_number(s, expressions[i].size, 1);
	put(s, expressions[i].bytes, expressions[i].size);
}

/* A program that any reader takes for well formed. */
static void put_program(struct built_section *s)
{
	bool is_expression = false, remembered[4];
	unsigned depth = 0;

	for (unsigned n = pick(24); n; n--) {
		switch (pick(21)) {
		case 0:
			put_number(s, 0x40 | pick(8), 1);
			break;
		case 1:
			put_number(s, 0x02, 1);
			put_number(s, pick(8), 1);
			break;
		case 2:
			put_number(s, 0x03, 1);
			put_number(s, pick(8), 2);
			break;
		case 3:
			put_number(s, 0x80 | pick(ARCH_PC), 1);
			put_leb(s, false);
			break;
		case 4:
			put_number(s, 0xc0 | pick(ARCH_REGISTERS), 1);
			break;
		case 5: /* offset_extended, val_offset, GNU_negative_offset_extended */
			put_number(s, (const uint8_t[]){0x05, 0x14, 0x2f}[pick(3)], 1);
			put_register(s);
			put_leb(s, false);
			break;
		case 6: /* offset_extended_sf, val_offset_sf */
			put_number(s, pick(2) ? 0x11 : 0x15, 1);
			put_register(s);
			put_leb(s, true);
			break;
		case 7: /* undefined, same_value, restore_extended */
			put_number(s, 0x06 + pick(3), 1);
			put_register(s);
			break;
		case 8:
			put_number(s, 0x09, 1);
			put_register(s);
			put_register(s);
			break;
		case 9:
			if (depth == 4)
				break;
			remembered[depth++] = is_expression;
			put_number(s, 0x0a, 1);
			break;
		case 10:
			if (!depth)
				break;
			is_expression = remembered[--depth];
			put_number(s, 0x0b, 1);
			break;
		case 11:
			put_number(s, 0x0f, 1);
			put_expression(s);
			is_expression = true;
			break;
		case 12: /* expression, val_expression */
			put_number(s, pick(2) ? 0x10 : 0x16, 1);
			put_register(s);
			put_expression(s);
			break;
		case 13:
			if (is_expression)
				break;
			put_number(s, 0x0d, 1);
			put_register(s);
			break;
		case 14:
			if (is_expression)
				break;
			put_number(s, 0x0e, 1);
			put_leb(s, false);
			break;
		case 15:
			if (is_expression)
				break;
			put_number(s, 0x13, 1);
			put_leb(s, true);
			break;
		case 16:
			put_number(s, 0x12, 1);
			put_register(s);
			put_leb(s, true);
			is_expression = false;
			break;
		case 17:
			put_number(s, 0x2e, 1);
			put_leb(s, false);
			break;
		case 18: /* the return address */
			put(s,
			    pick(4) ? (const uint8_t[]){0x90, 1, 0}
				    : (const uint8_t[]){0x07, 16, 0},
			    3);
			break;
		default: /* def_cfa, most often by rsp or rbp */
			put_number(s, 0x0c, 1);
			put_number(s, pick(4) ? 6 + pick(2) : pick(ARCH_PC), 1);
			put_leb(s, false);
			is_expression = false;
		}
	}
}

static void write_at(int fd, const void *bytes, size_t size, size_t at)
{
	REQUIRE(pwrite(fd, bytes, size, (off_t)at) == (ssize_t)size);
}

static void random_programs(void)
{
	static struct built_section s;
	static const char names[] = "\0.eh_frame\0.shstrtab";
	char path[] = "/tmp/memtrace-rows-XXXXXX";
	const size_t code = 0x1000, code_size = RANDOM_FUNCTIONS * FUNCTION_BYTES;
	const size_t table = 0x100000, names_at = table + sizeof(s.bytes),
		     sections_at = names_at + 64;
	int fd = mkstemp(path);
	size_t cie = put_cie(&s, 1, "", NULL, 0);

	REQUIRE(fd >= 0);
	for (size_t i = 0; i < RANDOM_FUNCTIONS; i++) {
		const uint64_t address[2] = {code + i * FUNCTION_BYTES, FUNCTION_BYTES};
		size_t at = put_fde(&s, cie, (const uint8_t *)address, sizeof(address),
				    NULL, 0);

		put_program(&s);
		put_length(&s, at);
	}
	put_number(&s, 0, 4);

	const Elf64_Ehdr header = {
		.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
			    EV_CURRENT},
		.e_type = ET_DYN,
		.e_machine = ARCH_ELF_MACHINE,
		.e_version = EV_CURRENT,
		.e_ehsize = sizeof(header),
		.e_phoff = sizeof(header),
		.e_phentsize = sizeof(Elf64_Phdr),
		.e_phnum = 1,
		.e_shoff = sections_at,
		.e_shentsize = sizeof(Elf64_Shdr),
		.e_shnum = 3,
		.e_shstrndx = 2,
	};
	const Elf64_Phdr segment = {.p_type = PT_LOAD,
				    .p_flags = PF_R | PF_X,
				    .p_offset = code,
				    .p_vaddr = code,
				    .p_filesz = code_size,
				    .p_memsz = code_size};
	const Elf64_Shdr sections[3] = {
		[1] = {.sh_name = 1,
		       .sh_type = SHT_PROGBITS,
		       .sh_flags = SHF_ALLOC,
		       .sh_addr = table,
		       .sh_offset = table,
		       .sh_size = s.size,
		       .sh_addralign = 1},
		[2] = {.sh_name = 11,
		       .sh_type = SHT_STRTAB,
		       .sh_offset = names_at,
		       .sh_size = sizeof(names),
		       .sh_addralign = 1},
	};

	write_at(fd, &header, sizeof(header), 0);
	write_at(fd, &segment, sizeof(segment), sizeof(header));
	write_at(fd, s.bytes, s.size, table);
	write_at(fd, names, sizeof(names), names_at);
	write_at(fd, sections, sizeof(sections), sections_at);
	close(fd);
	compare_file(path, 10000, 0, 5);
	unlink(path);
}

int main(void)
{
	made_up_init(&made_up);
	RUN(this_program);
	RUN(static_program);
	RUN(debug_frame);
	RUN(libc_and_linker);
	RUN(large_libraries);
	RUN(random_programs);
	return check_done();
}
