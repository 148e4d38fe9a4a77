#!/bin/sh
# Tells a node that joins which state it has. All nodes begin with the same data, so there is nothing to copy.
#
# The server runs this on both sides. The joiner says where it listens, which here is a pipe in its data folder, and then the state
# that it has received; the donor writes it there.

while [ $# -gt 0 ]; do
    case "$1" in
        --role) role=$2 ;;
        --address) address=$2 ;;
        --datadir) folder=${2%/} ;;
        --gtid) state=$2 ;;
        --bypass) bypass=yes ;;
    esac
    shift
done

case "$role" in
    joiner)
        mkfifo "$folder/state" || exit 1
        echo "ready 127.0.0.1:1/$folder"
        read -r state <"$folder/state"
        rm "$folder/state"
        echo "$state"
        ;;
    donor)
        # Otherwise all of the data would have to be copied.
        [ "$bypass" ] || exit 1
        echo continue
        echo "$state" >"${address#*/}/state"
        echo "done $state"
        ;;
esac
