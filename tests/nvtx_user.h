/* A program's own NVTX, of whatever version its headers are. */
#ifndef GP_TESTS_NVTX_USER_H
#define GP_TESTS_NVTX_USER_H

/* A range of the program's own domain. */
void user_push(const char *text);
void user_pop(void);

#endif
