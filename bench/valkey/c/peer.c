/* hiredis, or libvalkey where LIBVALKEY is defined, on the same workloads: peer WORKLOAD SOCKET REQUESTS. The values are
 * there already. */
#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef LIBVALKEY
#include <valkey/valkey.h>
#define NAME(name) valkey##name
#define REPLY(name) VALKEY_REPLY_##name
#else
#include <hiredis/hiredis.h>
#define NAME(name) redis##name
#define REPLY(name) REDIS_REPLY_##name
#endif

#define DEPTH 32
#define SMALL 1024
#define LARGE (64 << 20)

int main(int argc, char **argv) {
    if (argc != 4) return fprintf(stderr, "usage: peer WORKLOAD SOCKET REQUESTS\n"), 2;
    NAME(Context) *c = NAME(ConnectUnix)(argv[2]);
    if (!c || c->err) return fprintf(stderr, "no connection\n"), 1;
    long requests = atol(argv[3]);
    char value[SMALL];
    memset(value, 'x', SMALL);
    NAME(Reply) *r;
    if (!strcmp(argv[1], "get-64m")) {
        for (long i = 0; i < requests; i++) {
            r = NAME(Command)(c, "GET large");
            assert(r && r->type == REPLY(STRING) && r->len == LARGE);
            freeReplyObject(r);
        }
    } else {
        int is_set = !strcmp(argv[1], "set");
        const char *set[] = {"SET", "key:000000000001", value}, *get[] = {"GET", "key:000000000001"};
        size_t set_len[] = {3, 16, SMALL}, get_len[] = {3, 16};
        for (long i = 0; i < requests / DEPTH; i++) {
            for (int k = 0; k < DEPTH; k++)
                NAME(AppendCommandArgv)(c, is_set ? 3 : 2, is_set ? set : get, is_set ? set_len : get_len);
            for (int k = 0; k < DEPTH; k++) {
                int got = NAME(GetReply)(c, (void **)&r);
                assert(got == 0 && (is_set ? r->type == REPLY(STATUS) : r->len == SMALL));
                freeReplyObject(r);
            }
        }
    }
    NAME(Free)(c);
}
