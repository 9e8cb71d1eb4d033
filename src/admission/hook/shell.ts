import type { HttpCheck, PolledCheck, TcpCheck } from '../check/grammar.ts'
import type { Header, Hook } from '../pod/pod.ts'
import { lockDirectory, lockKey } from './lock-names.ts'
import type { SpecCheck } from './waiter.ts'

/** `$0` of the shell form, by which it is recognised. */
export const shellName = 'sidecar-first'

const functions = `set -f
message=$1 kind=$2 count=$3
shift 3
fail() { printf '%s\\n' "$1"; printf '%s\\n' "$1" >"$message"; exit 1; }
# bound COMMAND...: no longer than what is left of the attempt (wget's -T is missing in some busyboxes, and crashes there)
bound() { if command -v timeout >/dev/null; then timeout "$left" "$@"; else "$@"; fi; }
# run N WORD...: the first N words as a command
run() {
  n=$1 i=0
  shift
  for word; do
    [ $i -gt 0 ] || set --
    [ $i -ge "$n" ] || set -- "$@" "$word"
    i=$((i + 1))
  done
  "$@"
}
# fetch HOST [HEADER...]: whether http answers 200 to 399 there
fetch() {
  h=$1
  shift
  if command -v curl >/dev/null; then
    for word; do set -- "$@" -H "$word"; shift; done
    code=$(curl -s -o /dev/null -m "$left" -w '%{http_code}' "$@" "http://$h:$port$path" 2>/dev/null)
  elif command -v wget >/dev/null; then
    for word; do set -- "$@" --header "$word"; shift; done
    bound wget -q -O /dev/null "$@" "http://$h:$port$path" 2>/dev/null && code=200 || code=0
  else
    code=$({ printf 'GET %s HTTP/1.0\\r\\nHost: %s\\r\\n' "$path" "$h"; for word; do printf '%s\\r\\n' "$word"; done; printf '\\r\\n'; } |
      bound nc -w "$left" "$(bare "$h")" "$port" 2>/dev/null | head -n 1 | cut -d ' ' -f 2)
  fi
  [ "\${code:-0}" -ge 200 ] 2>/dev/null && [ "$code" -le 399 ]
}
# dial HOST: whether the port accepts a connection there; a server may well say nothing and never hang up
dial() {
  if command -v nc >/dev/null; then
    a=$(bare "$1")
    bound nc -z -w "$left" "$a" "$port" </dev/null >/dev/null 2>&1 || bound nc -w "$left" "$a" "$port" -e true </dev/null >/dev/null 2>&1
  else [ "$(curl -s -m 1 -o /dev/null -w '%{num_connects}' "telnet://$1:$port" </dev/null 2>/dev/null)" = 1 ]; fi
}
bare() { h=\${1#[}; echo "\${h%]}"; }
# try [HEADER...]: one attempt; no host is loopback, then the container's own addresses
try() {
  for at in \${host:-127.0.0.1 [::1] $(hostname -i 2>/dev/null)}; do
    case $at in \\[*) ;; *:*) at="[$at]" ;; esac
    left=$((begin + limit - $(date +%s)))
    [ $left -lt "$attempt" ] || left=$attempt
    [ $left -ge 1 ] || left=1
    if [ "$scheme" = tcp ]; then dial "$at"; else fetch "$at" "$@"; fi && return 0
  done
  return 1
}
`

/**
 * For a tier of several, in which the kubelet restarts nothing while the hook runs. The hook's own container, asked last, has not crashed: then
 * the hook would have ended.
 */
const crash = `# listens: whether anybody in the pod listens on the port, or that can't be seen
listens() {
  case $host in '' | 127.* | localhost | '[::1]') [ -r /proc/net/tcp ] || return 0 ;; *) return 0 ;; esac
  hex=$(printf '%04X' "$port")
  for table in /proc/net/tcp /proc/net/tcp6; do
    [ ! -r $table ] || while read -r number address peer state rest; do
      case $state,$address in 0A,*:"$hex") return 0 ;; esac
    done <$table
  done
  return 1
}
`
const mayHaveCrashed = `      [ $# -le "$headers" ] || [ $passed -gt 0 ] || listens || text="$text; nothing listens there: it may have crashed, and nothing restarts it while this hook runs: in a tier of its own it would be restarted"
`

interface Waiting {
  /** What is done after an attempt in vain. */
  readonly failed?: string
  /** What is done with a `fail` whose time has run out. */
  readonly late: string
  /** How the seconds that have begun since the start compare with the limit when it has run out. */
  readonly over: '-ge' | '-gt'
}

const waiting = ({ failed = '', late, over }: Waiting): string => `case $kind in
  exec) (run $((count + 1)) exec "$@") || fail "sidecar-first: the container's own PostStart hook failed with exit code $?" ;;
  sleep) sleep "$1" ;;
esac
shift "$count"
unset http_proxy HTTP_PROXY all_proxy ALL_PROXY
begin=$(date +%s)
while [ $# -gt 0 ]; do
  name=$1 late=$2 limit=$3 attempt=$4 need=$5 scheme=$6 host=$7 port=$8 path=$9
  shift 9
  headers=$1 passed=0 tries=0
  shift
  while :; do
    tries=$((tries + 1))
    if run $((headers + 1)) try "$@"; then passed=$((passed + 1)); else passed=0; fi
    [ $passed -lt "$need" ] || break
    waited=$(($(date +%s) - begin))
${failed}    if [ $waited ${over} "$limit" ]; then
      text="sidecar-first: $name was not ready after \${limit}s: $scheme://$host:$port$path did not pass in $tries attempts"
${late}      printf '%s; going on\\n' "$text"
      break
    fi
    if [ $waited -lt 5 ]; then sleep 0.05 2>/dev/null || sleep 1; else sleep 0.25 2>/dev/null || sleep 1; fi
  done
  shift "$headers"
done
`

const failing = `      [ "$late" = continue ] || fail "$text"
`

/**
 * The fixed script of the `shell` delivery: POSIX sh with wget, curl or nc. Every value is an argument, so nothing that a manifest
 * says is ever read as shell. After the message path come the hook that was there (exec, sleep or none; the number of its words; the words),
 * then for each check: container, onTimeout, seconds, seconds an attempt, successes, kind, host, port, path, number of headers, headers.
 * All checks count from the same start, so waiting for them in turn takes no longer than waiting at once. The time may run out up to a second early:
 * servers of 0.1, which answer beside ours during an upgrade, take no other script for theirs. They don't know the others below.
 */
export const shellScript = functions + waiting({ late: failing, over: '-ge' })

/** The same for a tier of several, whose message says which of them may have crashed. */
export const tierScript = functions + crash + waiting({ late: mayHaveCrashed + failing, over: '-gt' })

/**
 * The same, and it opens a lock. A kubelet that restarts kills what it executed and never runs it again, so the waiting is done in the background.
 * It goes on when the hook has returned: after the hand-over, where an earlier gate's sidecar is down (the kubelet can't restart that as long as a
 * hook runs), and where nobody is left who could tell the kubelet of a failure. The arguments are the same; the checks of earlier gates come last,
 * with `earlier` for what happens on a timeout, which is to go on waiting.
 */
export const lockedScript = (opening: ShellOpening): string => `${beginning(opening)}
# put NAME TEXT: a file of its own, under its name only when it is whole; a sidecar may have put anything there
put() { (umask 0; rm -rf "$dir/.new-$1"; set -C; printf '%s' "$2" >"$dir/.new-$1") && mv -f "$dir/.new-$1" "$dir/$1"; }
put "ready-$gate" '' || exit 1
${functions}hand_over() { [ "$alone" ] || { alone=yes; kill -USR1 $$ 2>/dev/null; }; }
wait_all() {
alone=
${waiting({
  failed: `    [ "$late" != earlier ] || hand_over
    [ ! "$handOver" ] || [ $waited -lt "$handOver" ] || hand_over
`,
  late: `      if [ "$late" != continue ]; then
        put "why-$gate" "$text"
        if [ ! "$alone" ] && kill -0 $$ 2>/dev/null; then fail "$text"; fi
        alone=yes
        sleep 1
        continue
      fi
`,
  over: '-gt',
})}}
trap '' HUP
trap 'exit 0' USR1
(wait_all "$@" && put "ready-$gate" "${isNamed(opening) ? '$key' : 'SIDECAR_FIRST_READY_$gate'}='ready'
") </dev/null >/dev/null 2>&1 &
wait $! && exit 0
read -r text <"$message" && printf '%s\\n' "$text"
exit 1
`

function beginning(opening: ShellOpening): string {
  const { number, key, handOver } = opening
  const name = isNamed(opening) ? ` key=${key}` : ''
  return `dir=${lockDirectory} gate=${number}${name} handOver=${handOver === undefined ? '' : Math.ceil(handOver / 1000)}`
}

/** Without a name the text is that of before there were any: replicas of before compare it. */
const isNamed = ({ number, key }: ShellOpening): boolean => key !== lockKey(number)

/** The key of the lock that a script opens. */
export function keyOfScript(script: string): string | undefined {
  const pattern = `^dir=${lockDirectory} gate=([0-9]{1,3}) (?:key=(SIDECAR_FIRST_READY_\\1_[_A-Z0-9]{1,40}) )?`
  const [, gate, key] = new RegExp(pattern).exec(script) ?? []
  return gate === undefined ? undefined : (key ?? lockKey(Number(gate)))
}

/** What a script does for a lock. */
export interface ShellOpening {
  /** Of the gate. */
  readonly number: number
  /** What the file has to hold. */
  readonly key: string
  /** Milliseconds. */
  readonly handOver: number | undefined
}

/** Whether the shell form can poll a check. */
export function shellPolls(check: PolledCheck): check is HttpCheck<number> | TcpCheck<number> {
  return check.kind === 'http' || check.kind === 'tcp'
}

export interface ShellCheck extends Pick<SpecCheck, 'container'> {
  /** `earlier`: of an earlier gate, asked once more. */
  readonly onTimeout: SpecCheck['onTimeout'] | 'earlier'
  readonly check: HttpCheck<number> | TcpCheck<number>
  /** Milliseconds; the shell counts whole seconds, so it is rounded up. */
  readonly timeout: number
  /** Seconds. */
  readonly attemptTimeout: number
  readonly successes: number
  readonly headers: readonly Header[]
}

export type ShellBefore = Extract<Hook, { kind: 'exec' | 'sleep' }>

export function shellHook(
  checks: readonly ShellCheck[],
  before: ShellBefore | undefined,
  message: string,
  opening?: ShellOpening,
): Hook {
  const words = before === undefined ? [] : before.kind === 'exec' ? before.command : [String(before.seconds)]
  const groups = checks.flatMap(({ container, onTimeout, timeout, attemptTimeout, successes, check, headers }) => [
    container,
    onTimeout,
    String(Math.ceil(timeout / 1000)),
    String(attemptTimeout),
    String(successes),
    check.kind,
    check.host.includes(':') ? `[${check.host}]` : check.host,
    String(check.port),
    check.kind === 'http' ? check.path : '',
    String(headers.length),
    ...headers.map(({ name, value }) => `${name}: ${value}`),
  ])
  const args = [message, before?.kind ?? 'none', String(words.length), ...words, ...groups]
  const unlocked = checks.length > 1 ? tierScript : shellScript
  const script = opening === undefined ? unlocked : lockedScript(opening)
  return { kind: 'exec', command: ['sh', '-c', script, shellName, ...args] }
}
