"""What is known better than by the definitions: types, names, replies, what a connection has to know."""

# The type of an argument.
TYPES = {
    ("BITFIELD", "offset"): "string",  # also #n, counted in integers
    ("BITFIELD_RO", "offset"): "string",
    ("XADD", "threshold"): "string",
    ("XAUTOCLAIM", "min-idle-time"): "integer",
    ("XCLAIM", "min-idle-time"): "integer",
    ("ZINCRBY", "increment"): "double",
    ("ZINTER", "weight"): "double",
    ("ZINTERSTORE", "weight"): "double",
    ("ZUNION", "weight"): "double",
    ("ZUNIONSTORE", "weight"): "double",
    # Borders: also exclusive ones, "(1".
    ("ZCOUNT", "min"): "string",
    ("ZCOUNT", "max"): "string",
    ("ZRANGEBYSCORE", "min"): "string",
    ("ZRANGEBYSCORE", "max"): "string",
    ("ZREVRANGEBYSCORE", "min"): "string",
    ("ZREVRANGEBYSCORE", "max"): "string",
    ("ZREMRANGEBYSCORE", "min"): "string",
    ("ZREMRANGEBYSCORE", "max"): "string",
}

# Arguments that the definition has as optional, and without which the command is of no use.
REQUIRED = {
    ("PFADD", "element"), ("GEOHASH", "member"), ("GEOPOS", "member"), ("PFMERGE", "sourcekey"),
    ("ACL SETUSER", "rule"), ("PUBSUB NUMSUB", "channel"), ("PUBSUB SHARDNUMSUB", "shardchannel"),
    ("SENTINEL SIMULATE-FAILURE", "mode"), ("ACL DRYRUN", "arg"), ("COMMAND GETKEYS", "arg"), ("COMMAND GETKEYSANDFLAGS", "arg"),
}

# Arguments of commands that have none in their definitions, or are simpler to call by others.
ARGUMENTS = {
    "DEBUG": [
        {"name": "subcommand", "type": "string"},
        {"name": "arg", "type": "string", "multiple": True, "optional": True},
    ],
    "REPLCONF": [{"name": "arg", "type": "string", "multiple": True, "optional": True}],
    "PFDEBUG": [{"name": "subcommand", "type": "string"}, {"name": "key", "type": "key", "key_spec_index": 0}],
    # NO ONE takes the places of host and port.
    "REPLICAOF": [{"name": "host", "type": "string"}, {"name": "port", "type": "string"}],
    "SLAVEOF": [{"name": "host", "type": "string"}, {"name": "port", "type": "string"}],
    # GET and names, or SET, names and values.
    "SENTINEL CONFIG": [{"name": "action", "type": "string"}, {"name": "arg", "type": "string", "multiple": True}],
}

# Methods of another name than the block of arguments that they set.
BLOCKS = {("XPENDING", "filters"): "range"}

# Enums for arguments that are one of several words. Every other set of words gets a method a word.
ENUMS = {
    "Side": ["LEFT", "RIGHT"],
    "Extreme": ["MIN", "MAX"],
    "Place": ["BEFORE", "AFTER"],
    "BitOperation": ["AND", "OR", "XOR", "NOT"],
    "Overflow": ["WRAP", "SAT", "FAIL"],
    "Unit": ["m", "km", "ft", "mi"],
    "Aggregate": ["SUM", "MIN", "MAX"],
    "Trim": ["MAXLEN", "MINID"],
    "Answer": ["YES", "NO"],
    "Switch": ["ON", "OFF"],
    "ReplyMode": ["ON", "OFF", "SKIP"],
    "DebugMode": ["YES", "SYNC", "NO"],
    "CommandLog": ["slow", "large-request", "large-reply"],
    "ClientType": ["normal", "master", "replica", "pubsub"],
    "ClientKillType": ["normal", "master", "primary", "slave", "replica", "pubsub"],
}

# Replies of another type than the definition's schema gives: servers send nil where it has none, or one type that takes
# all forms is known.
BULK, MAYBE_BULK = "&'r [u8]", "Option<&'r [u8]>"
BULKS, SCORES = "Array<'r, &'r [u8]>", "Map<'r, &'r [u8], f64>"
ENTRY = "Entry<'r>"
OUTPUTS = {
    "EXEC": "Option<Array<'r, Reply<'r>>>",
    "GEODIST": "Option<f64>",
    "GEOHASH": "Array<'r, Option<&'r [u8]>>",
    "HINCRBYFLOAT": "f64",
    "INCRBYFLOAT": "f64",
    "LMOVE": MAYBE_BULK,
    "MIGRATE": BULK,
    "OBJECT FREQ": "Option<i64>",
    "OBJECT IDLETIME": "Option<i64>",
    "OBJECT REFCOUNT": "Option<i64>",
    "PUBSUB NUMSUB": "Map<'r, &'r [u8], i64>",
    "PUBSUB SHARDNUMSUB": "Map<'r, &'r [u8], i64>",
    "REPLICAOF": BULK,
    "SET": MAYBE_BULK,
    "SLAVEOF": BULK,
    "SENTINEL CKQUORUM": BULK,
    "TIME": "(i64, i64)",
    "XREAD": "Option<Map<'r, &'r [u8], Array<'r, Entry<'r>>>>",
    "XREADGROUP": "Option<Map<'r, &'r [u8], Array<'r, Entry<'r>>>>",
    "ZPOPMAX": SCORES,
    "ZPOPMIN": SCORES,
    "SCAN": "Scanned<'r>", "HSCAN": "Scanned<'r>", "SSCAN": "Scanned<'r>", "ZSCAN": "Scanned<'r>",
    "DEBUG": "Reply<'r>",
}

# Commands whose reply has another type once a method was called: the shape at first, and those that methods give.
SHAPES = {
    "GEORADIUS": ("Bulks", {**dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies"),
                            **dict.fromkeys(["store", "storedist"], "Integer")}),
    "GEORADIUSBYMEMBER": ("Bulks", {**dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies"),
                                    **dict.fromkeys(["store", "storedist"], "Integer")}),
    "GEORADIUSBYMEMBER_RO": ("Bulks", dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies")),
    "GEORADIUS_RO": ("Bulks", dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies")),
    "GEOSEARCH": ("Bulks", dict.fromkeys(["withcoord", "withdist", "withhash"], "Replies")),
    "HRANDFIELD": ("MaybeBulk", {"count": "Bulks", "withvalues": "Fields"}),
    "LCS": ("Bulk", {"len": "Integer", "idx": "Properties"}),
    "LPOP": ("MaybeBulk", {"count": "MaybeBulks"}),
    "LPOS": ("MaybeInteger", {"count": "Integers"}),
    "RPOP": ("MaybeBulk", {"count": "MaybeBulks"}),
    "SORT": ("BulksWithNil", {"store": "Integer"}),
    "SPOP": ("MaybeBulk", {"count": "Bulks"}),
    "SRANDMEMBER": ("MaybeBulk", {"count": "Bulks"}),
    "XAUTOCLAIM": ("Claimed", {"justid": "ClaimedIds"}),
    "XCLAIM": ("Entries", {"justid": "Bulks"}),
    "XPENDING": ("PendingSummary", {"range": "Pending"}),
    "ZADD": ("Integer", {"incr": "MaybeDouble"}),
    "ZDIFF": ("Bulks", {"withscores": "Scores"}),
    "ZINTER": ("Bulks", {"withscores": "Scores"}),
    "ZRANDMEMBER": ("MaybeBulk", {"count": "Bulks", "withscores": "Scores"}),
    "ZRANGE": ("Bulks", {"withscores": "Scores"}),
    "ZRANGEBYSCORE": ("Bulks", {"withscores": "Scores"}),
    "ZRANK": ("MaybeInteger", {"withscore": "RankAndScore"}),
    "ZREVRANGE": ("Bulks", {"withscores": "Scores"}),
    "ZREVRANGEBYSCORE": ("Bulks", {"withscores": "Scores"}),
    "ZREVRANK": ("MaybeInteger", {"withscore": "RankAndScore"}),
    "ZUNION": ("Bulks", {"withscores": "Scores"}),
}

# After these, what arrives is no longer one reply a request.
BREAKS_ORDER = {
    "SUBSCRIBE", "PSUBSCRIBE", "SSUBSCRIBE", "UNSUBSCRIBE", "PUNSUBSCRIBE", "SUNSUBSCRIBE", "MONITOR", "SYNC", "PSYNC",
    "CLIENT REPLY", "SCRIPT DEBUG", "REPLCONF",
}
# These leave something behind on the connection: another user, database, protocol or name.
CONNECTION_STATE = {
    "ASKING", "AUTH", "CLIENT CACHING", "CLIENT CAPA", "CLIENT IMPORT-SOURCE", "CLIENT NO-EVICT", "CLIENT NO-TOUCH",
    "CLIENT SETINFO", "CLIENT SETNAME", "CLIENT TRACKING", "HELLO", "QUIT", "READONLY", "READWRITE", "RESET", "SELECT",
}
# These begin what an EXEC ends, and these end it.
TRANSACTION = {"MULTI", "WATCH"}
ENDS_TRANSACTION = {"DISCARD", "EXEC", "UNWATCH"}
# The argument that says how long the server may take to answer, and its unit.
BLOCKS_FOR = {
    "BLMOVE": ("timeout", "seconds"), "BLMPOP": ("timeout", "seconds"), "BLPOP": ("timeout", "seconds"),
    "BRPOP": ("timeout", "seconds"), "BRPOPLPUSH": ("timeout", "seconds"), "BZMPOP": ("timeout", "seconds"),
    "BZPOPMAX": ("timeout", "seconds"), "BZPOPMIN": ("timeout", "seconds"),
    "WAIT": ("timeout", "milliseconds"), "WAITAOF": ("timeout", "milliseconds"),
    "XREAD": ("block", "milliseconds"), "XREADGROUP": ("block", "milliseconds"),
}

# Names that are not names in Rust.
KEYWORDS = {"async", "final", "in", "loop", "match", "move", "ref", "self", "static", "type", "use", "where"}
