// Durable commands, the part that runs inside of the sandbox: shell scripts, and the command lines that start them. They use
// nothing but a POSIX shell, cat, dd, mkfifo, mkdir, mv, rm, sleep and wc, as GNU, busybox and toybox have them.
//
// A spool is a directory of the sandbox. Its name is made from an id that the client chose, so that it can be found again
// whatever happens to the answer of the request that made it.
//
//   pid, watcher      the spooler's main shell, and the one that takes over when the main shell is killed
//   child             the command itself
//   o, e              pipes that the command writes its standard output and error to
//   out/N, err/N      segments: the bytes of a stream from number N on. The oldest are removed to keep within the bound
//   out.size, …       how many bytes of a stream there are so far
//   alive             renamed to killed.WHY before the command is killed on somebody's behalf
//   running           renamed to end.CODE.SIGNAL.WHY when everything is known
//   ok.out, …         renamed to full.out when the disk took no more of it
//   bound             how many bytes of a stream are kept
//   r.ID/             a reader: its pid, how far its client has consumed, the pipe that wakes it, and whether it wants to be woken
//
// What must also work on a full disk is told by renaming. A reader that has nothing to do marks `want`, looks once more, and
// then waits at its pipe; the spooler publishes a size first and looks at `want` afterwards, so that no output goes unseen.
// Variables start with an underscore because those of the command's environment are in the same space.

/** The id that a spooler holds a place with for the first reader, so that nothing is dropped before that is there. */
const FIRST = "first";

/** What all scripts share. */
const COMMON = `_d=/tmp/.durable-$1
_ended() {
  _e=
  for _x in "$_d"/end.*; do [ -e "$_x" ] && _e=\${_x##*/end.}; done
  [ -n "$_e" ]
}
_alive() { [ -n "$1" ] && kill -0 "$1" 2>/dev/null; }
_get() { _v=; [ -r "$1" ] && read -r _v <"$1"; }
_others() {
  for _x in "$_d"/r.*; do
    _get "$_x/pid" && [ "$_v" != "$1" ] && _alive "$_v" && return 0
  done
  return 1
}
`;

/**
 * Runs a command and spools what it writes. Arguments: id, bytes per block, per segment and per stream, seconds that the
 * command may run (0: no limit) and that an unread spool is kept after its end, then the command.
 */
const SPOOLER = `${COMMON}_block=$2 _segment=$3 _bound=$4 _limit=$5 _keep=$6
shift 6
# In its POSIX mode bash is silent about signals, see below.
[ -n "$BASH_VERSION" ] && set +o posix
_mask=$(umask)
umask 077
mkdir "$_d" "$_d/out" "$_d/err" && mkfifo "$_d/o" "$_d/e" "$_d/life" && echo $$ >"$_d/pid" && echo 0 >"$_d/out.size" &&
  echo 0 >"$_d/err.size" && echo $_bound >"$_d/bound" && mkdir "$_d/r.${FIRST}" && echo 0 >"$_d/r.${FIRST}/out" &&
  echo 0 >"$_d/r.${FIRST}/err" && : >"$_d/alive" && : >"$_d/running" && : >"$_d/ok.out" && : >"$_d/ok.err" || {
  # A shell that cannot write need not say why; this does.
  LC_ALL=C dd if=/dev/zero of="$_d/probe" bs=4096 count=1
  rm -rf "$_d"
  exit 1
}

_ring() {
  for _x in "$_d"/r.*/want; do
    [ -s "$_x" ] && { : >"$_x"; echo 1<>"\${_x%want}bell"; } 2>/dev/null
  done
}

# Waits while a reader has not acknowledged what is before byte $2 of stream $1. The connection of a reader may be renewed, so
# that it counts until it has not come on for a minute.
_wait() {
  _n=0 _was=
  while :; do
    _low=
    for _x in "$_d"/r.*; do
      _get "$_x/$1" && [ -n "$_v" ] && [ "$_v" -lt "$2" ] || continue
      { [ -z "$_low" ] || [ "$_v" -lt "$_low" ]; } && _low=$_v
      [ $_n -lt 600 ] || rm -f "$_x/$1"
    done
    [ -n "$_low" ] && [ $_n -lt 600 ] || return
    [ "$_low" = "$_was" ] || _n=0
    _was=$_low _n=$((_n + 1))
    sleep 0.1 2>/dev/null || sleep 1
  done
}

_write() {
  _total=0 _start=0 _kept=0 _list=
  while :; do
    if _c=$(LC_ALL=C dd bs=$_block count=1 2>&1 >>"$_d/$1/$_start"); then
      case $_c in "0+0 records in"*) return ;; esac
      # The number of bytes is in a third line, which not every dd writes.
      _c=\${_c##*records out}
      _c=\${_c#?}
      _c=\${_c%% *}
    else
      mv "$_d/ok.$1" "$_d/full.$1"
      _ring
      # The command must not notice: its exit code is still worth knowing.
      cat >/dev/null
      return
    fi
    case $_c in '' | *[!0-9]*) _c=$(($(wc -c <"$_d/$1/$_start") + _start - _total)) ;; esac
    _total=$((_total + _c))
    echo $_total >"$_d/$1.size"
    _ring
    [ $((_total - _start)) -lt $_segment ] && continue
    _list="$_list $_start" _start=$_total
    while [ $((_total - _kept + _segment + _block)) -gt $_bound ]; do
      _list=\${_list# }
      _old=\${_list%% *}
      case $_list in
      *' '*) _list=\${_list#* } ;;
      *) _list= ;;
      esac
      _kept=\${_list%% *}
      _kept=\${_kept:-$_total}
      _wait $1 $_kept
      rm -f "$_d/$1/$_old"
    done
  done
}

# Waits for the pipes to be empty; not for what keeps them open after a kill.
_drain() {
  _n=0
  while [ $_n -lt \${1:-10} ] && { _alive $_out || _alive $_err; }; do
    _n=$((_n + 1))
    sleep 0.1 2>/dev/null || sleep 1
  done
}

_finish() {
  mv "$_d/running" "$_d/end.$1"
  _ring
  trap 'kill $_z 2>/dev/null; exit 0' TERM
  while :; do
    sleep $_keep >/dev/null 2>&1 &
    _z=$!
    wait $_z
    _others || break
  done
  rm -rf "$_d"
  exit 0
}

# Takes over when the main shell was killed: then so is the command.
_watch() {
  read -r _v
  _get "$_d/child"
  _child=$_v _n=0
  kill -TERM $_child 2>/dev/null
  while [ $_n -lt 20 ] && _alive $_child; do
    _n=$((_n + 1))
    sleep 0.1 2>/dev/null || sleep 1
  done
  _sig=15
  _alive $_child && kill -KILL $_child && _sig=9
  _drain
  for _x in "$_d"/running; do [ -e "$_x" ] && _finish $((_sig + 128)).$_sig.killed; done
}

_write out <"$_d/o" >/dev/null 2>&1 &
_out=$!
_write err <"$_d/e" >/dev/null 2>&1 &
_err=$!
_watch <"$_d/life" >/dev/null 2>&1 &
_watcher=$!
exec 6>"$_d/life"
echo $_watcher >"$_d/watcher"
_timer=
if [ $_limit != 0 ]; then
  {
    sleep $_limit &
    _z=$!
    trap 'kill $_z 2>/dev/null; exit 0' TERM
    if wait $_z; then
      mv "$_d/alive" "$_d/killed.deadline"
      _get "$_d/child" && kill -KILL $_v
    fi
  } </dev/null >/dev/null 2>&1 6>&- &
  _timer=$!
fi
echo ready
{
  sh -c 'echo $$ >"$1/child"; umask "$2"; shift 2; exec 2>&7 7>&-; exec "$@"' sh "$_d" $_mask "$@" >"$_d/o" 7>"$_d/e" 6>&-
  _code=$?
} 2>"$_d/note"
[ -n "$_timer" ] && kill $_timer 2>/dev/null
_why= _sig=0
for _x in "$_d"/killed.*; do [ -e "$_x" ] && _why=\${_x##*/killed.}; done
# A shell reports a death by a signal and the exit code that looks like it alike, but says a word about the former.
[ $_code -gt 128 ] && { [ -s "$_d/note" ] || [ -n "$_why" ]; } && _sig=$((_code - 128))
if [ -n "$_why" ]; then _drain; else wait $_out $_err; fi
kill $_watcher 2>/dev/null
exec 6>&- >/dev/null 2>&1 </dev/null
_finish $_code.$_sig.$_why
`;

/**
 * Writes what a spool holds to standard output, as it comes, until the end. Arguments: id, the reader's own id, that of the
 * reader it replaces, and from which byte of standard output and of standard error on. Lines with the same two numbers
 * arrive at its standard input as output is consumed. What it writes is described in src/protocol/spool.rs.
 */
const READER = `${COMMON}_r=$_d/r.$2 _old=$_d/r.$3
_get "$_d/pid" && [ -n "$_v" ] || { echo none; exit; }
_pid=$_v
umask 077
mkdir "$_r" && mkfifo "$_r/bell" || exit 1
exec 3<>"$_r/bell"
_out=$4 _err=$5 _tick= _acks=
trap 'kill $_tick $_acks 2>/dev/null; rm -rf "$_r"' EXIT
trap 'exit 1' TERM HUP INT PIPE
echo $_out >"$_r/out"
echo $_err >"$_r/err"
echo $$ >"$_r/pid"
# Only now, so that at every moment somebody holds back what is still wanted.
_get "$_old/pid" && kill $_v 2>/dev/null
rm -rf "$_old"
# Wakes the reader now and then, to find out when nobody is left who would.
(
  trap - EXIT
  while sleep 3 && kill -0 $$ 2>/dev/null; do echo 1<>"$_r/bell"; done
) </dev/null >/dev/null 2>&1 3>&- &
_tick=$!
# What arrives at standard input is how far output was consumed.
exec 8<&0 </dev/null
(
  trap - EXIT
  while read -r _v _x; do
    echo $_v >"$_r/new" && mv "$_r/new" "$_r/out"
    echo $_x >"$_r/new" && mv "$_r/new" "$_r/err"
  done
) <&8 >/dev/null 2>&1 3>&- 8<&- &
_acks=$!
exec 8<&-
_get "$_d/bound"
echo "hello $_pid $_v"

# Writes what there is of stream $1 from byte $2 on, as far as its segment goes; answers the next byte in _next. File $3 stays
# open on the segment that starts at byte $4, and stands at byte $2: dd with one block reads exactly as much as it is told.
_copy() {
  _size=
  [ -e "$_d/full.$1" ] || { _get "$_d/$1.size" && _size=$_v; }
  if [ -z "$_size" ]; then
    # Empty while it is being written anew, but also when the disk was full; the segments count once they do not grow any more.
    [ -n "$_end" ] || [ -e "$_d/full.$1" ] || return 1
    _size=$2
    for _x in "$_d/$1"/[0-9]*; do
      _v=$((\${_x##*/} + $(wc -c <"$_x")))
      [ $_v -gt $_size ] && _size=$_v
    done
    [ $_size = $2 ] && [ -e "$_d/full.$1" ] && _full=$1
  fi
  [ $_size -lt $2 ] && { echo "beyond $1 $_size"; exit; }
  [ $_size = $2 ] && return 1
  _seg= _first= _next=$_size
  for _x in "$_d/$1"/[0-9]*; do
    _x=\${_x##*/}
    if [ "$_x" -gt $2 ]; then
      [ "$_x" -lt $_next ] && _next=$_x
      { [ -z "$_first" ] || [ "$_x" -lt $_first ]; } && _first=$_x
    else
      { [ -z "$_seg" ] || [ "$_x" -gt $_seg ]; } && _seg=$_x
    fi
  done 2>/dev/null
  [ -n "$_seg" ] && [ -r "$_d/$1/$_seg" ] || { echo "late $1 \${_first:-$_size}"; exit; }
  if [ $_seg != "$4" ]; then
    eval "exec $3<\"\$_d/\$1/\$_seg\""
    [ $_seg = $2 ] || dd bs=$(($2 - _seg)) count=1 of=/dev/null 2>/dev/null <&$3
  fi
  [ $((_next - $2)) -gt 1048576 ] && _next=$(($2 + 1048576))
  echo "$1 $((_next - $2))"
  dd bs=$((_next - $2)) count=1 2>/dev/null <&$3
}

_armed= _open=- _open2=-
while :; do
  _ended
  _end=$_e _moved= _full=
  _copy out $_out 4 $_open && _moved=1 _out=$_next _open=$_seg
  _copy err $_err 5 $_open2 && _moved=1 _err=$_next _open2=$_seg
  if [ -n "$_moved" ]; then
    _armed=
  elif [ -n "$_full" ]; then
    echo "full $_full"
    exit
  elif [ -n "$_end" ]; then
    echo "exit $_end"
    exit
  elif [ -z "$_armed" ]; then
    _armed=1
    echo 1 >"$_r/want"
  else
    [ -d "$_r" ] || { echo none; exit; }
    _get "$_d/watcher"
    _alive $_pid || _alive "$_v" || _ended || { echo lost; exit; }
    read -r _v <&3
    _armed=
  fi
done
`;

/** Kills the command. Arguments: id, the number of the signal. Exits with 1 when the command has ended. */
const KILLER = `${COMMON}_n=0
while [ $_n -lt 50 ]; do
  _ended && exit 1
  [ -d "$_d" ] || exit 1
  if _get "$_d/child" && [ -n "$_v" ]; then
    mv "$_d/alive" "$_d/killed.by" 2>/dev/null
    kill -$2 $_v 2>/dev/null
    exit
  fi
  _n=$((_n + 1))
  sleep 0.1 2>/dev/null || sleep 1
done
exit 1
`;

/** Removes a spool whose end was delivered or is about to come, unless somebody else still reads it. Arguments: id. */
const REMOVER = `${COMMON}_n=0
until _ended; do
  [ -d "$_d" ] && [ $_n -lt 50 ] || exit 0
  _n=$((_n + 1))
  sleep 0.1 2>/dev/null || sleep 1
done
_others && exit 0
for _x in pid watcher; do
  _get "$_d/$_x" && kill $_v 2>/dev/null
done
rm -rf "$_d"
`;

/** How large a block may be: as much as a pipe holds. */
const BLOCK = 65_536;
/** How large a segment may be: what is dropped at once, and looked through by a reader that begins in the middle. */
const SEGMENT = 8 * 1024 * 1024;

/** The id of a new spool or reader: 128 random bits, so that nobody else in the sandbox can be there first. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Whether `id` is one of `newId`: it becomes a part of a path. */
export function isId(id) {
  return /^[0-9a-f]{32}$/.test(id);
}

/** The arguments of `/bin/sh` that start the spooler, in front of the command's own. */
export function spooler(id, bytes, limitMs, keepMs) {
  // Sixteen segments, so that at most a sixteenth is dropped at once.
  const part = Math.floor(bytes / 16);
  const numbers = [Math.min(part, BLOCK), Math.min(part, SEGMENT), bytes, limitMs / 1000, keepMs / 1000];
  return shell(SPOOLER, id, ...numbers);
}

/** The arguments of `/bin/sh` that read from the given bytes on, in place of the reader `old`, or of the place held for the first. */
export function reader(id, own, old, stdout, stderr) {
  return shell(READER, id, own, old ?? FIRST, stdout, stderr);
}

/** The arguments of `/bin/sh` that send a signal to the command. */
export function killer(id, signal) {
  return shell(KILLER, id, signal);
}

/** The arguments of `/bin/sh` that remove a spool after its end. */
export function remover(id) {
  return shell(REMOVER, id);
}

function shell(script, ...words) {
  return ["-c", script, "sh", ...words.map(String)];
}
