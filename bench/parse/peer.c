/* Parses a stream of replies that lies in memory, as `onecopy bench parse` does, by hiredis or libvalkey.
 *
 *   peer-parse TURN STREAM TURNS [objects]
 *
 * TURN is a file with one turn of STREAM, of `onecopy bench parse STREAM --turn`; of large bulks, whose body is made here,
 * the header. Chunks are at most 16 KiB. Without `objects` the reader makes none; with it each reply is made and freed.
 *
 *   cc -O2 -o peer-parse peer.c -lhiredis
 *   cc -O2 -DLIBVALKEY -I$SRC/include -I$SRC/src -o peer-parse peer.c $SRC/src/read.c $SRC/src/sds.c $SRC/src/alloc.c ...
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#ifdef LIBVALKEY
#include <valkey/valkey.h>
#define READER valkeyReader
#define WITHOUT_OBJECTS() valkeyReaderCreateWithFunctions(NULL)
#define WITH_OBJECTS() valkeyReaderCreate()
#define GET_REPLY valkeyReaderGetReply
#define FREE_REPLY freeReplyObject
#else
#include <hiredis/hiredis.h>
#define READER redisReader
#define WITHOUT_OBJECTS() redisReaderCreateWithFunctions(NULL)
#define WITH_OBJECTS() redisReaderCreate()
#define GET_REPLY redisReaderGetReply
#define FREE_REPLY freeReplyObject
#endif

enum { CHUNK = 16 << 10, ROUND = 128 << 10, LARGE = (64 << 20) + 2 };

static char *bytes, body[CHUNK];
static size_t turn_size, round_size, at, large, large_left;

/* The next chunk of at most `max` bytes. */
static const char *chunk(size_t max, size_t *size) {
    if (max > CHUNK)
        max = CHUNK;
    if (large_left > 0) {
        int is_body = large_left > 2;
        size_t left = is_body ? large_left - 2 : large_left;
        *size = left < max ? left : max;
        const char *from = is_body ? body : "\r\n" + (2 - large_left);
        large_left -= *size;
        return from;
    }
    size_t start = at, end = start + max;
    if (large > 0) {
        if (end > round_size)
            end = round_size;
        if (end == round_size)
            large_left = large;
    }
    at = end % round_size;
    *size = end - start;
    return bytes + start;
}

static void feed(READER *reader) {
    size_t size;
#ifdef LIBVALKEY
    /* As a connection reads: straight into the reader's own buffer. */
    char *into;
    size_t capacity;
    if (valkeyReaderGetReadBuf(reader, &into, &capacity, CHUNK) != VALKEY_OK)
        exit(1);
    const char *from = chunk(capacity, &size);
    memcpy(into, from, size);
    valkeyReaderCommitRead(reader, size);
#else
    const char *from = chunk(CHUNK, &size);
    redisReaderFeed(reader, from, size);
#endif
}

static unsigned long parse(READER *reader, unsigned long replies, int objects) {
    unsigned long sum = 0;
    while (replies > 0) {
        void *reply = NULL;
        if (GET_REPLY(reader, &reply) != 0) {
            fprintf(stderr, "%s\n", reader->errstr);
            exit(1);
        }
        if (reply == NULL) {
            feed(reader);
            continue;
        }
        replies--;
        sum++;
        if (objects)
            FREE_REPLY(reply);
    }
    return sum;
}

/* Replies and pushes in a turn of a stream. */
static unsigned long messages(const char *stream) {
    static const struct {
        const char *stream;
        unsigned long messages;
    } many[] = {{"mixed", 10}, {"varied", 4}, {"integers", 8}, {"doubles", 8}, {"pushes", 4}};
    for (size_t i = 0; i < sizeof many / sizeof *many; i++)
        if (strcmp(stream, many[i].stream) == 0)
            return many[i].messages;
    return 1;
}

static double cpu(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + 1e-6 * (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: peer-parse TURN STREAM TURNS [objects]\n");
        return 2;
    }
    FILE *file = fopen(argv[1], "rb");
    char turn[64 << 10];
    if (file == NULL || (turn_size = fread(turn, 1, sizeof turn, file)) == 0)
        return 1;
    unsigned long turns = strtoul(argv[3], NULL, 10);
    int objects = argc > 4;
    large = strcmp(argv[2], "large") == 0 ? LARGE : 0;
    round_size = large ? turn_size : turn_size * ((ROUND + turn_size - 1) / turn_size);
    bytes = malloc(round_size + CHUNK);
    for (size_t i = 0; i < round_size + CHUNK; i++)
        bytes[i] = turn[i % turn_size];
    memset(body, 'x', sizeof body);
    READER *reader = objects ? WITH_OBJECTS() : WITHOUT_OBJECTS();
    unsigned long each = messages(argv[2]);
    parse(reader, (large ? 1 : 100) * each, objects);
    double before = cpu();
    parse(reader, turns * each, objects);
    double spent = cpu() - before;
    printf("%.1f\n", turns * (double)(turn_size + large) / 1e6 / spent);
    return 0;
}
