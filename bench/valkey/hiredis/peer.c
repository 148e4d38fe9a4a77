/* hiredis on the same workloads: peer-hiredis WORKLOAD SOCKET REQUESTS. The values are there already. */
#include <assert.h>
#include <hiredis/hiredis.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEPTH 32
#define SMALL 1024
#define LARGE (64 << 20)

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: peer-hiredis WORKLOAD SOCKET REQUESTS\n"), 2;
    redisContext *c = redisConnectUnix(argv[2]);
    if (!c || c->err) return fprintf(stderr, "no connection\n"), 1;
    long requests = atol(argv[3]);
    char value[SMALL];
    memset(value, 'x', SMALL);
    redisReply *r;
    if (!strcmp(argv[1], "get-64m")) {
        for (long i = 0; i < requests; i++) {
            r = redisCommand(c, "GET large");
            assert(r && r->type == REDIS_REPLY_STRING && r->len == LARGE);
            freeReplyObject(r);
        }
    } else {
        int is_set = !strcmp(argv[1], "set");
        const char *set[] = {"SET", "key:000000000001", value}, *get[] = {"GET", "key:000000000001"};
        size_t set_len[] = {3, 16, SMALL}, get_len[] = {3, 16};
        for (long i = 0; i < requests / DEPTH; i++) {
            for (int k = 0; k < DEPTH; k++)
                redisAppendCommandArgv(c, is_set ? 3 : 2, is_set ? set : get, is_set ? set_len : get_len);
            for (int k = 0; k < DEPTH; k++) {
                int got = redisGetReply(c, (void **)&r);
                assert(got == REDIS_OK && (is_set ? r->type == REDIS_REPLY_STATUS : r->len == SMALL));
                freeReplyObject(r);
            }
        }
    }
    redisFree(c);
}
