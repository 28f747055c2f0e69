/* Every opcode of the census (tests/ptxfront/opcodes.txt) is lowered, one instruction a kernel with
 * operands made from what the front end says it takes. */
#include "tier0/harness.h"

#include "ptx/lir/lower/single.h"
#include "tier0/opcodes.h"

/* NULL if the opcode lowers, else the reason. */
static const char *refusal(const char *opcode)
{
    static char text[4096], instruction[2400];
    static struct ptx_diag d;
    void *image = NULL;
    size_t size;
    make_operands(opcode);
    snprintf(instruction, sizeof instruction, "%s %s", opcode, operands);
    make_kernel(text, sizeof text, "sm_100a", instruction);
    struct ptx_module *m = ptx_module_open(text, strlen(text), &d);
    int status = m ? lir_lower_kernel(m, "k", &image, &size, &d) : -1;
    if (!status) { /* what was made must load as well */
        const char *why = "?";
        struct t0_module *t = t0_module_load(image, size, &t0t_env, &why);
        if (!t) {
            snprintf(d.msg, sizeof d.msg, "not loaded: %s", why);
            status = -1;
        }
        t0_module_unload(t);
    }
    free(image);
    ptx_module_close(m);
    return status ? d.msg : NULL;
}

/* An atomic operation by itself, of whose result nobody knows who reads it: none is dropped, nothing is looked up. */
static void alone(unsigned operation, unsigned type)
{
    static const uint32_t row[3] = {512, 1024, 1536};
    struct ptx_reg reg[3] = {{.type = (uint8_t)type}, {.type = PTX_U64}, {.type = (uint8_t)type}};
    struct ptx_opnd list[1] = {{.kind = PTX_O_NONE}};
    struct ptx_func f = {.name = "k", .is_entry = true, .reg = reg, .nreg = 3, .opnd = list};
    struct ptx_instr in = {
        .op = PTX_OP_ATOM, .sub = (uint8_t)operation, .type = {(uint8_t)type}, .vec = 1, .guard = -1};
    struct ptx_diag d;
    void *image = NULL;
    size_t size;
    uint32_t room;
    in.opcode = "atom";
    in.ndst = 1;
    in.nsrc = 2;
    in.dst[0] = (struct ptx_opnd){.kind = PTX_O_REG, .reg = 0};
    in.src[0] = (struct ptx_opnd){.kind = PTX_O_ADDR, .reg = 1, .sym = -1};
    in.src[1] = (struct ptx_opnd){.kind = PTX_O_REG, .reg = 2};
    int status = lir_lower_single(NULL, &f, &in, row, 4096, &image, &size, &room, &d);
    check(!status && size, "operation %u of %s by itself: %d, %s", operation, ptx_type_name(type), status, d.msg);
    free(image);
}

int main(void)
{
    FILE *census = fopen(CENSUS, "r");
    char opcode[200];
    unsigned lowered = 0;
    if (!check(census, "%s can be read", CENSUS))
        return 1;
    while (fgets(opcode, sizeof opcode, census)) {
        opcode[strcspn(opcode, "\n")] = '\0';
        const char *why = refusal(opcode);
        lowered += !why;
        if (why)
            check(false, "%s %s: %s", opcode, operands, why);
    }
    fclose(census);
    alone(PTX_SUB_ADD, PTX_F64);
    alone(PTX_SUB_EXCH, PTX_U32);
    check(lowered > 850, "%u opcodes of the census lower", lowered);
    return check_end("census");
}
