import { spawn, type ChildProcess } from 'node:child_process'

/** Stop order: nodes first, so that servers learn how tasks end; the database last. */
const STOP_ORDER = { node: 1, server: 2, database: 3 } as const
export type WatchdogStage = keyof typeof STOP_ORDER

export interface WatchedProcess {
  readonly stage: WatchdogStage
  /** The signal for a graceful stop. */
  readonly signal: 'TERM' | 'INT'
}

/**
 * Stops the processes of a cluster and removes its directories if this process is killed, which
 * closes the pipe to the guard. The guard is a shell script because it must be small and
 * independent; PostgreSQL would not watch such a pipe itself.
 */
export class Watchdog {
  readonly #shell: ChildProcess

  constructor() {
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Keeps Ctrl-C from reaching the guard.
      detached: true,
    })
    // Without a shell or after the guard was killed, the cluster runs unguarded.
    this.#shell.on('error', () => undefined)
    this.#shell.stdin?.on('error', () => undefined)
    this.#shell.unref()
  }

  /** Undefined on a machine without a shell. */
  get pid(): number | undefined {
    return this.#shell.pid
  }

  /** Watches a child process until it exits. */
  add(child: ChildProcess, { stage, signal }: WatchedProcess): void {
    const { pid } = child
    if (pid === undefined) return
    this.#send(`add ${STOP_ORDER[stage]} ${signal} ${pid}`)
    // The PID may be reused after the exit.
    child.once('exit', () => this.#send(`drop ${pid}`))
  }

  /** Registers a directory for removal. */
  removeOnExit(directory: string): void {
    // The protocol is line-based, so a path with a line break cannot be sent.
    if (!directory.includes('\n')) this.#send(`remove ${directory}`)
  }

  /** Ends the guard after a graceful stop. */
  stop(): void {
    this.#send('done')
    this.#shell.stdin?.end()
  }

  #send(line: string): void {
    this.#shell.stdin?.write(`${line}\n`)
  }
}

/** Time limit of a stage in tenths of a second; a node has to stop its tasks. */
const STOP_TENTHS_MAX = 150

const SCRIPT = `
trap '' INT TERM HUP
guarded=''
places=''
while read -r verb rest; do
  case $verb in
    add) set -- $rest; guarded="$guarded $1/$2/$3" ;;
    drop)
      kept=''
      for one in $guarded; do
        case $one in */$rest) ;; *) kept="$kept $one" ;; esac
      done
      guarded=$kept ;;
    remove) places="$places$rest
" ;;
    done) exit 0 ;;
  esac
done
for stage in 1 2 3; do
  pids=''
  for one in $guarded; do
    case $one in
      $stage/*)
        pid=\${one##*/}
        signal=\${one#*/}
        kill -s CONT "$pid"
        kill -s "\${signal%/*}" "$pid"
        pids="$pids $pid" ;;
    esac
  done
  tenths=0
  for pid in $pids; do
    while kill -0 "$pid" && [ "$tenths" -lt ${STOP_TENTHS_MAX} ]; do
      sleep 0.1
      tenths=$((tenths + 1))
    done
    kill -s KILL "$pid"
  done
done 2>/dev/null
printf '%s' "$places" | while read -r place; do rm -rf -- "$place"; done
`
