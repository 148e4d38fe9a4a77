# Runs one server for a parent that may end in any way.
#
#   sh -c "$(cat watchdog.sh)" watchdog FOLDER INPUT COMMAND...
#
# COMMAND reads INPUT and writes FOLDER/log; its status ends up in FOLDER/exit. Standard input is a pipe whose other end
# only the parent holds, so it ends when the parent closes it, exits, crashes or is killed with a signal that nobody can
# catch. Then COMMAND is stopped and FOLDER removed, unless the parent's last word was "keep". Before that the word "kill"
# ends COMMAND at once, and nothing else.

folder=$1
input=$2
shift 2

exec 3<&0
"$@" <"$input" >"$folder/log" 2>&1 3<&- &
server=$!

(
    read -r word <&3
    while [ "$word" = kill ]; do
        [ -e "$folder/exit" ] || kill -KILL "$server"
        word=
        read -r word <&3
    done
    # Once the server was reaped its number may belong to somebody else.
    [ -e "$folder/exit" ] || kill -TERM "$server"
    tries=0
    # 10 s; the server is gone once the wait below has reaped it.
    while [ ! -e "$folder/exit" ] && kill -0 "$server" && [ "$tries" -lt 400 ]; do
        sleep 0.025
        tries=$((tries + 1))
    done
    [ -e "$folder/exit" ] || kill -KILL "$server"
    [ "$word" = keep ]
) 2>/dev/null &
reader=$!

wait "$server"
echo "$?" >"$folder/exit"
wait "$reader" || rm -rf "$folder"
