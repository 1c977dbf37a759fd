/*
 * Written by hand and small, so that building the harness needs no nvcc. Loops
 * run over the whole grid: any launch size is right.
 */
#include "cuda_kernels.h"

/* %first: this thread's index in the grid; %step: threads in the grid; %start. */
#define FIND_PLACE                                                                                 \
    "    .reg .pred %done;\n"                                                                      \
    "    .reg .b32 %thread, %threads, %block, %blocks;\n"                                          \
    "    .reg .b64 %first, %step, %start, %now, %cycles, %i, %at, %vectors, %bytes;\n"             \
    "    mov.u64 %start, %clock64;\n"                                                              \
    "    mov.u32 %thread, %tid.x;\n"                                                               \
    "    mov.u32 %threads, %ntid.x;\n"                                                             \
    "    mov.u32 %block, %ctaid.x;\n"                                                              \
    "    mov.u32 %blocks, %nctaid.x;\n"                                                            \
    "    cvt.u64.u32 %first, %thread;\n"                                                           \
    "    mad.wide.u32 %first, %block, %threads, %first;\n"                                         \
    "    mul.wide.u32 %step, %blocks, %threads;\n"                                                 \
    "    ld.param.u64 %vectors, [vectors];\n"                                                      \
    "    ld.param.u64 %bytes, [bytes];\n"

/* for (i = first; i < vectors; i += step), with %at = 16 * i */
#define FOR_EACH_VECTOR                                                                            \
    "    mov.u64 %i, %first;\n"                                                                    \
    "next_vector:\n"                                                                               \
    "    setp.ge.u64 %done, %i, %vectors;\n"                                                       \
    "    @%done bra vectors_end;\n"                                                                \
    "    shl.b64 %at, %i, 4;\n"
#define END_VECTORS                                                                                \
    "    add.u64 %i, %i, %step;\n"                                                                 \
    "    bra next_vector;\n"                                                                       \
    "vectors_end:\n"

/* for (i = 16 * vectors + first; i < bytes; i += step) */
#define FOR_EACH_BYTE                                                                              \
    "    shl.b64 %i, %vectors, 4;\n"                                                               \
    "    add.u64 %i, %i, %first;\n"                                                                \
    "next_byte:\n"                                                                                 \
    "    setp.ge.u64 %done, %i, %bytes;\n"                                                         \
    "    @%done bra bytes_end;\n"
#define END_BYTES                                                                                  \
    "    add.u64 %i, %i, %step;\n"                                                                 \
    "    bra next_byte;\n"                                                                         \
    "bytes_end:\n"

#define STAY_FOR_CYCLES                                                                            \
    "    ld.param.u64 %cycles, [cycles];\n"                                                        \
    "stay:\n"                                                                                      \
    "    mov.u64 %now, %clock64;\n"                                                                \
    "    sub.u64 %now, %now, %start;\n"                                                            \
    "    setp.lt.u64 %done, %now, %cycles;\n"                                                      \
    "    @%done bra stay;\n"                                                                       \
    "    ret;\n"

#define FILL                                                                                       \
    ".visible .entry gp_fill(.param .u64 ptr, .param .u64 vectors, .param .u64 bytes,\n"           \
    "                        .param .u32 value, .param .u64 cycles)\n"                             \
    "{\n"                                                                                          \
    "    .reg .b32 %value;\n"                                                                      \
    "    .reg .b64 %ptr;\n" FIND_PLACE "    ld.param.u64 %ptr, [ptr];\n"                           \
    "    cvta.to.global.u64 %ptr, %ptr;\n"                                                         \
    "    ld.param.u32 %value, [value];\n" FOR_EACH_VECTOR "    add.u64 %at, %at, %ptr;\n"          \
    "    st.global.v4.b32 [%at], {%value, %value, %value, %value};\n" END_VECTORS FOR_EACH_BYTE    \
    "    add.u64 %at, %i, %ptr;\n"                                                                 \
    "    st.global.b8 [%at], %value;\n" END_BYTES STAY_FOR_CYCLES "}\n"

/* vset4 compares four bytes at once and adds the number of those that differ. */
#define CHECK                                                                                      \
    ".visible .entry gp_check(.param .u64 ptr, .param .u64 vectors, .param .u64 bytes,\n"          \
    "                         .param .u32 value, .param .u64 counter)\n"                           \
    "{\n"                                                                                          \
    "    .reg .pred %equal, %clean;\n"                                                             \
    "    .reg .b32 %value, %byte, %found, %wrong, %a, %b, %c, %d;\n"                               \
    "    .reg .b64 %ptr, %counter, %total, %more;\n" FIND_PLACE "    ld.param.u64 %ptr, [ptr];\n"  \
    "    cvta.to.global.u64 %ptr, %ptr;\n"                                                         \
    "    ld.param.u64 %counter, [counter];\n"                                                      \
    "    cvta.to.global.u64 %counter, %counter;\n"                                                 \
    "    ld.param.u32 %value, [value];\n"                                                          \
    "    and.b32 %byte, %value, 255;\n"                                                            \
    "    mov.u64 %total, 0;\n" FOR_EACH_VECTOR "    add.u64 %at, %at, %ptr;\n"                     \
    "    ld.global.v4.b32 {%a, %b, %c, %d}, [%at];\n"                                              \
    "    mov.u32 %wrong, 0;\n"                                                                     \
    "    vset4.u32.u32.ne.add %wrong, %a, %value, %wrong;\n"                                       \
    "    vset4.u32.u32.ne.add %wrong, %b, %value, %wrong;\n"                                       \
    "    vset4.u32.u32.ne.add %wrong, %c, %value, %wrong;\n"                                       \
    "    vset4.u32.u32.ne.add %wrong, %d, %value, %wrong;\n"                                       \
    "    cvt.u64.u32 %more, %wrong;\n"                                                             \
    "    add.u64 %total, %total, %more;\n" END_VECTORS FOR_EACH_BYTE                               \
    "    add.u64 %at, %i, %ptr;\n"                                                                 \
    "    ld.global.u8 %found, [%at];\n"                                                            \
    "    setp.eq.u32 %equal, %found, %byte;\n"                                                     \
    "    @!%equal add.u64 %total, %total, 1;\n" END_BYTES "    setp.eq.u64 %clean, %total, 0;\n"   \
    "    @!%clean red.global.add.u64 [%counter], %total;\n"                                        \
    "    ret;\n"                                                                                   \
    "}\n"

#define COMPUTE                                                                                    \
    ".visible .entry gp_compute(.param .u64 in, .param .u64 out, .param .u64 workspace,\n"         \
    "                           .param .u64 vectors, .param .u64 bytes, .param .u64 cycles)\n"     \
    "{\n"                                                                                          \
    "    .reg .pred %work;\n"                                                                      \
    "    .reg .b32 %byte, %a, %b, %c, %d;\n"                                                       \
    "    .reg .b64 %in, %out, %workspace, %to;\n" FIND_PLACE "    ld.param.u64 %in, [in];\n"       \
    "    cvta.to.global.u64 %in, %in;\n"                                                           \
    "    ld.param.u64 %out, [out];\n"                                                              \
    "    cvta.to.global.u64 %out, %out;\n"                                                         \
    "    ld.param.u64 %workspace, [workspace];\n"                                                  \
    "    setp.ne.u64 %work, %workspace, 0;\n"                                                      \
    "    cvta.to.global.u64 %workspace, %workspace;\n" FOR_EACH_VECTOR                             \
    "    add.u64 %to, %at, %in;\n"                                                                 \
    "    ld.global.v4.b32 {%a, %b, %c, %d}, [%to];\n"                                              \
    "    add.u64 %to, %at, %workspace;\n"                                                          \
    "    @%work st.global.v4.b32 [%to], {%a, %b, %c, %d};\n"                                       \
    "    add.u32 %a, %a, 1;\n"                                                                     \
    "    add.u32 %b, %b, 1;\n"                                                                     \
    "    add.u32 %c, %c, 1;\n"                                                                     \
    "    add.u32 %d, %d, 1;\n"                                                                     \
    "    add.u64 %to, %at, %out;\n"                                                                \
    "    st.global.v4.b32 [%to], {%a, %b, %c, %d};\n" END_VECTORS FOR_EACH_BYTE                    \
    "    add.u64 %to, %i, %in;\n"                                                                  \
    "    ld.global.u8 %byte, [%to];\n"                                                             \
    "    add.u64 %to, %i, %workspace;\n"                                                           \
    "    @%work st.global.u8 [%to], %byte;\n"                                                      \
    "    add.u32 %byte, %byte, 1;\n"                                                               \
    "    add.u64 %to, %i, %out;\n"                                                                 \
    "    st.global.u8 [%to], %byte;\n" END_BYTES STAY_FOR_CYCLES "}\n"

/* The oldest target and version that a driver of CUDA 12 and later still compiles. */
#define MODULE(kernel)                                                                             \
    ".version 7.0\n"                                                                               \
    ".target sm_52\n"                                                                              \
    ".address_size 64\n" kernel

const cuda_kernel cuda_kernels[CUDA_KERNEL_COUNT] = {
    [CUDA_KERNEL_FILL] = {"gp_fill", MODULE(FILL)},
    [CUDA_KERNEL_CHECK] = {"gp_check", MODULE(CHECK)},
    [CUDA_KERNEL_COMPUTE] = {"gp_compute", MODULE(COMPUTE)},
};
