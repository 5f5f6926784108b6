// SPDX-License-Identifier: GPL-2.0
/*
 * symbols.c - port: symbol tables and program headers through libelf.  Knows nothing of processes or probes.
 */
#include "symbols.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include <gelf.h>

/* A symbol's value is an address; the segment that holds it says where its bytes are in the file.  0: in none. */
static uint64_t file_offset(Elf *elf, uint64_t address)
{
	size_t nr, i;
	GElf_Phdr segment;

	if (elf_getphdrnum(elf, &nr))
		return 0;
	for (i = 0; i < nr; i++)
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_LOAD && segment.p_flags & PF_X &&
		    address >= segment.p_vaddr && address - segment.p_vaddr < segment.p_filesz)
			return address - segment.p_vaddr + segment.p_offset;
	return 0;
}

static int search_table(Elf *elf, Elf_Scn *section, const GElf_Shdr *header, const char *const *prefixes,
			unsigned int nr_prefixes, uint64_t *offsets)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t nr = data && header->sh_entsize ? header->sh_size / header->sh_entsize : 0, i;
	unsigned int p;
	int found = 0;

	for (i = 0; i < nr; i++) {
		const char *name;
		GElf_Sym symbol;

		if (!gelf_getsym(data, (int)i, &symbol) || GELF_ST_TYPE(symbol.st_info) != STT_FUNC ||
		    symbol.st_shndx == SHN_UNDEF)
			continue;
		name = elf_strptr(elf, header->sh_link, symbol.st_name);
		for (p = 0; name && p < nr_prefixes; p++) {
			if (offsets[p] || strncmp(name, prefixes[p], strlen(prefixes[p])) || strchr(name, '.'))
				continue;
			offsets[p] = file_offset(elf, symbol.st_value);
			found += offsets[p] != 0;
		}
	}
	return found;
}

int symbols_find(const char *path, const char *const *prefixes, unsigned int nr_prefixes, uint64_t *ret_offsets)
{
	uint64_t offsets[SYMBOLS_MAX_PREFIXES] = { 0 };
	int fd = open(path, O_RDONLY | O_CLOEXEC), found = 0;
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	Elf *elf;

	if (fd < 0)
		return -errno;
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF) {
		found = -ENOEXEC;
		goto out;
	}
	while (found < (int)nr_prefixes && (section = elf_nextscn(elf, section)))
		if (gelf_getshdr(section, &header) && (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			found += search_table(elf, section, &header, prefixes, nr_prefixes, offsets);
	memcpy(ret_offsets, offsets, nr_prefixes * sizeof(offsets[0]));
out:
	elf_end(elf);
	close(fd);
	return found;
}
