/* Words of loaded objects that lie in memory for reading: opened for a change, and closed as they were. Linkers before
 * binutils 2.31 lay names, symbols and code side by side, so that a page of symbols may be one of code. */
#include "audit/audit.h"

#include <elf.h>
#include <sys/mman.h>

enum { PAGE = 4096 };

/* PROT_EXEC where the object's file says that there is code. */
static int code_there(const struct link_map *m, uintptr_t from, uintptr_t end)
{
    struct audit_elf e;
    const ElfW(Phdr) * p;
    int found = 0;
    if (audit_elf_open(&e, m->l_name[0] ? m->l_name : "/proc/self/exe") != 0)
        return 0;
    for (unsigned i = 0; (p = audit_elf_segment(&e, i)); i++)
        if (p->p_type == PT_LOAD && p->p_flags & PF_X && p->p_vaddr + m->l_addr < end &&
            p->p_vaddr + p->p_memsz + m->l_addr > from)
            found = PROT_EXEC;
    audit_elf_close(&e);
    return found;
}

bool audit_pages_open(struct audit_pages *p, const struct link_map *m, const void *at, size_t size)
{
    uintptr_t end = ((uintptr_t)at + size + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
    p->from = (uintptr_t)at & ~(uintptr_t)(PAGE - 1);
    p->size = end - p->from;
    p->after = PROT_READ | code_there(m, p->from, end);
    return mprotect((void *)p->from, p->size, p->after | PROT_WRITE) == 0;
}

void audit_pages_close(const struct audit_pages *p) { (void)mprotect((void *)p->from, p->size, p->after); }
