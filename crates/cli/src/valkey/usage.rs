//! What `--help` says behind the options.

pub(super) const SHORT_HELP: &str = "\
Examples:
  onecopy valkey redis://localhost SET greeting hello
  onecopy valkey redis://localhost GET photo > photo.jpg
  onecopy valkey redis://localhost --bigkeys
  onecopy valkey redis://localhost

--help says more.";

pub(super) const LONG_HELP: &str = "\
Examples:
  An interactive prompt, with Tab completion and 'help COMMAND':
    onecopy valkey redis://localhost
  A value to a file and back, whatever its size:
    onecopy valkey redis://localhost GET photo > photo.jpg
    onecopy valkey redis://localhost -x SET photo < photo.jpg
  With copy counters:
    onecopy valkey redis://localhost --meter GET photo > photo.jpg
  To another program:
    onecopy valkey redis://localhost --json HGETALL user:7 | jq .name
    onecopy valkey redis://localhost --csv ZRANGE scores 0 9 WITHSCORES
  Several commands:
    printf 'INCR a\\nINCR b\\n' | onecopy valkey redis://localhost
  Bulk loading, with an error count:
    onecopy valkey redis://localhost --pipe < commands.txt
  The same command again, every 2 seconds, until Ctrl-C:
    onecopy valkey redis://localhost -i 2 LLEN queue
  Messages and commands as they come, until Ctrl-C:
    onecopy valkey redis://localhost SUBSCRIBE news
    onecopy valkey redis://localhost --json PSUBSCRIBE 'room:*' | jq .payload
    onecopy valkey redis://localhost MONITOR
  A script with its keys and arguments:
    onecopy valkey redis://localhost --eval limit.lua user:7 , 60 100
  Keys of a pattern, deleted:
    onecopy valkey redis://localhost --scan --match 'tmp:*' -f readable |
      sed 's/^/UNLINK /' | onecopy valkey redis://localhost --pipe
  The 5 largest keys of each type, and the 20 that take the most memory:
    onecopy valkey redis://localhost --bigkeys
    onecopy valkey redis://localhost --memkeys --top 20
  The latency, a line every 15 seconds; the load of all nodes of a cluster:
    onecopy valkey redis://localhost --latency -i 15
    onecopy valkey redis+cluster://node-a,node-b --stat
  The URL from the environment:
    export ONECOPY_VALKEY_URL=redis+unix:///run/valkey/valkey.sock
    onecopy valkey PING

URL:
  redis://, valkey://            TCP, port 6379 where none is given
  rediss://, valkeys://          TLS; the server is verified, ?tls-ca=FILE names
                                 its CA if that is not a system CA
  redis+unix://, valkey+unix://  a Unix socket, redis+unix:///PATH?db=1
  redis+cluster://A,B:PORT       a cluster, by some of its nodes; with TLS
                                 rediss+cluster://. -c makes one of redis://
  redis+sentinel://A,B:PORT/NAME the primary that these sentinels watch as NAME
  User and password go before the host, redis://user:password@host, a
  password alone behind a colon, redis://:password@host.

Formats:
  raw       The bytes of values. Elements of lists, keys and values of maps too,
            are a line each, null is an empty line. A string that is the whole
            reply of COMMAND is written as it is, without a line feed.
  readable  For people: (integer) 3, numbered lists, strings in quotes with
            escapes that can be typed again.
  json      One line a reply, as RESP3 has it: ?protocol=2 in the url makes no
            difference. Maps are objects, errors inside a reply are
            {\"error\":\"...\"}, strings that are not UTF-8 {\"base64\":\"...\"}.
  csv       One line a reply, with all of its values (RFC 4180): null is empty,
            an empty string is \"\". --bigkeys, --stat and their like begin with
            a header.

Clusters:
  Each command goes to the node of its keys; moved slots and failovers are
  followed. A command without keys goes to any node. --scan, --bigkeys,
  --memkeys, --hotkeys, --latency, --stat and MONITOR cover all primaries. The
  commands between MULTI and EXEC are sent together, to the node of their slot.
  WATCH, SELECT and what else belongs to one connection are refused.

Keys:
  SCAN finds the keys, --count of them at a time, so that nothing blocks the
  server; -i makes it slower still. Keys that exist all the time are found;
  SCAN may find a key twice. Ctrl-C ends it, with what was found so far and the
  exit status 130. --scan on a terminal writes keys in quotes with escapes, into
  a pipe their bytes, a line each. With -f readable or --json a line feed in a
  key is no problem either.

Subscriptions:
  SUBSCRIBE, PSUBSCRIBE, SSUBSCRIBE and MONITOR use a connection of their own.
  After a loss the subscriptions are made again, and stderr says that messages
  may be missing; MONITOR ends. At the prompt Ctrl-C leads back to it. In a
  cluster SSUBSCRIBE takes channels of any slots and follows them to their
  nodes; SUBSCRIBE and PSUBSCRIBE read from one node.

Values of any size:
  In the format raw a string that is the reply of GET, GETRANGE, HGET, DUMP and
  their like passes through in constant memory, outside of MULTI. With -x a file
  on standard input is sent as it is read; anything else, and anything for a
  cluster, is first read to its end, for its length is sent before it.

Lines:
  Words are split at spaces. \"Double quotes\" hold spaces and the escapes \\n \\r
  \\t \\b \\a \\xHH \\\" \\\\, 'single quotes' hold anything but \\'.

--pipe:
  Reads lines and RESP arrays, also mixed. Counts the replies and prints the
  first errors; the exit status is 1 if there was one. In a cluster commands for
  different nodes are executed in any order.

Password:
  The first of: -p, --password-file, the URL (visible to others in the process
  list), ONECOPY_VALKEY_PASSWORD. AUTH alone, at the prompt, asks for it too.

History:
  $XDG_STATE_HOME/onecopy/valkey_history, or ~/.local/state/onecopy. Lines that
  hand over a password (AUTH, HELLO ... AUTH, ACL SETUSER, CONFIG SET ...pass)
  and lines that begin with a space are not stored; the password is shown as *.

Exit status:
  0    success (also if the reader, such as head, closes the pipe early, and
       if Ctrl-C ends what has no other end)
  1    an error; the message is on stderr
  2    wrong arguments
  130  Ctrl-C ended it early; 143: SIGTERM did. A second one ends it at once";
