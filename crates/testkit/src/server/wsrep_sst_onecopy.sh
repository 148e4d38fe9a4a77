#!/bin/sh
# Tells a node that joins which state it has. All nodes begin with the same data, so there is nothing to copy.
#
# The server runs this on both sides. The joiner says where it listens, which here is its data folder, waits there for a file with the
# state, and says what is in it. The donor writes that file. The joiner's server may end meanwhile: then nobody waits any more.

while [ $# -gt 0 ]; do
    case "$1" in
        --role) role=$2 ;;
        --address) address=$2 ;;
        --datadir) folder=${2%/} ;;
        --gtid) state=$2 ;;
        --parent) server=$2 ;;
        --bypass) bypass=yes ;;
    esac
    shift
done

case "$role" in
    joiner)
        echo "ready 127.0.0.1:1/$folder"
        until [ -e "$folder/state" ]; do
            kill -0 "$server" || exit 1
            sleep 0.05
        done
        cat "$folder/state"
        rm "$folder/state"
        ;;
    donor)
        # Otherwise all of the data would have to be copied.
        [ "$bypass" ] || exit 1
        echo continue
        # It is there as a whole or not at all.
        echo "$state" >"${address#*/}/state.new"
        mv "${address#*/}/state.new" "${address#*/}/state"
        echo "done $state"
        ;;
esac
