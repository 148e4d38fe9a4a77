# Runs one server for a parent that may end in any way.
#
#   sh -c "$(cat watchdog.sh)" watchdog FOLDER INPUT COMMAND...
#
# COMMAND reads INPUT and writes FOLDER/log; its status ends up in FOLDER/exit. Standard input is a pipe whose other end
# only the parent holds, so it ends when the parent closes it, exits, crashes or is killed with a signal that nobody can
# catch. Then COMMAND is stopped and FOLDER removed, unless the parent's last word was "keep". Before that the word "kill"
# ends COMMAND at once, and nothing else; "pause" and "resume" stop it and let it continue, and FOLDER/word has the last of these
# once it is done.

folder=$1
input=$2
shift 2

exec 3<&0
"$@" <"$input" >"$folder/log" 2>&1 3<&- &
server=$!

(
    read -r word <&3
    while :; do
        case "$word" in
            kill) signal=KILL ;;
            pause) signal=STOP ;;
            resume) signal=CONT ;;
            *) break ;;
        esac
        [ -e "$folder/exit" ] || kill -"$signal" "$server"
        echo "$word" >"$folder/word"
        word=
        read -r word <&3
    done
    # Once the server was reaped its number may belong to somebody else.
    [ -e "$folder/exit" ] || kill -TERM "$server"
    # One that is paused ends when it continues.
    [ -e "$folder/exit" ] || kill -CONT "$server"
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
