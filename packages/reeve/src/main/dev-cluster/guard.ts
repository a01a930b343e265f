import { spawn, type ChildProcess } from 'node:child_process'

/** Who is ended after whom: tasks end while there is somebody to tell, the database last. */
const STAGES = { node: 1, server: 2, database: 3 } as const
export type GuardStage = keyof typeof STAGES

export interface Guarded {
  readonly stage: GuardStage
  /** Asks it to end in good order. */
  readonly signal: 'TERM' | 'INT'
}

/**
 * Ends the processes of a cluster, and removes its directories, when we are killed and cannot do
 * so ourselves: the pipe to it ends with us. It is a shell, because it has to be small and to know
 * nothing of what it guards: PostgreSQL would not look after such a pipe by itself.
 */
export class Guard {
  readonly #shell: ChildProcess

  constructor() {
    this.#shell = spawn('/bin/sh', ['-c', SCRIPT], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C reaches only us.
      detached: true,
    })
    // A machine without a shell, or one whose guard was killed, goes on without it.
    this.#shell.on('error', () => undefined)
    this.#shell.stdin?.on('error', () => undefined)
    this.#shell.unref()
  }

  /** Undefined on a machine without a shell. */
  get pid(): number | undefined {
    return this.#shell.pid
  }

  /** From its start to its end. */
  watch(child: ChildProcess, { stage, signal }: Guarded): void {
    const { pid } = child
    if (pid === undefined) return
    this.#tell(`add ${STAGES[stage]} ${signal} ${pid}`)
    // Its number may be another's afterwards.
    child.once('exit', () => this.#tell(`drop ${pid}`))
  }

  /** A directory that goes with the cluster. */
  removeAtEnd(directory: string): void {
    // Nobody makes such a temporary directory; one line is one word to the guard.
    if (!directory.includes('\n')) this.#tell(`remove ${directory}`)
  }

  /** Everything was ended in good order: nothing is left to do. */
  stop(): void {
    this.#tell('done')
    this.#shell.stdin?.end()
  }

  #tell(line: string): void {
    this.#shell.stdin?.write(`${line}\n`)
  }
}

/** Of each stage, in tenths of a second: a node has its tasks to end. */
const TENTHS_MAX = 150

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
    while kill -0 "$pid" && [ "$tenths" -lt ${TENTHS_MAX} ]; do
      sleep 0.1
      tenths=$((tenths + 1))
    done
    kill -s KILL "$pid"
  done
done 2>/dev/null
printf '%s' "$places" | while read -r place; do rm -rf -- "$place"; done
`
