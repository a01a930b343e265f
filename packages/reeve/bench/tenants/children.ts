/** The victim and the attacker as child processes controlled by messages. */
import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import type { AttackerMessage, AttackOrder } from './attacker.ts'
import { DEADLINE_MS } from './statistics.ts'
import type { VictimCommand, VictimOrder, VictimReport } from './victim.ts'

const START_MS_MAX = 20_000
const GRACE_MS = 10_000
/** Time for registering jobs, starting tasks and creating policies on a slow machine. */
const PREPARE_MS_MAX = 90_000

function forkScript(name: string): ChildProcess {
  const child = fork(fileURLToPath(new URL(name, import.meta.url)), { execArgv: [] })
  const end = (): void => void child.kill('SIGKILL')
  process.once('exit', end)
  child.once('exit', () => process.off('exit', end))
  return child
}

/** The next message of a child; throws if it exits or times out first. */
async function messageOf(child: ChildProcess, withinMs: number): Promise<unknown> {
  const over = new AbortController()
  const timer = setTimeout(() => over.abort(new Error(`no message in ${withinMs} ms`)), withinMs)
  const ended = (code: number | null): void => over.abort(new Error(`it ended with ${code}`))
  child.once('exit', ended)
  try {
    const [message]: unknown[] = await once(child, 'message', { signal: over.signal })
    return message
  } finally {
    clearTimeout(timer)
    child.off('exit', ended)
  }
}

export class Victim {
  readonly #child = forkScript('./victim.ts')

  async start(order: VictimOrder): Promise<void> {
    this.#send(order)
    await messageOf(this.#child, START_MS_MAX)
  }

  async measure(durationMs: number): Promise<VictimReport> {
    this.#send({ kind: 'measure', durationMs })
    // Proof: the victim sends nothing else.
    return (await messageOf(this.#child, durationMs + DEADLINE_MS + GRACE_MS)) as VictimReport
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }

  #send(command: VictimCommand): void {
    this.#child.send(command)
  }
}

export class Attacker {
  readonly #child = forkScript('./attacker.ts')
  readonly #order: AttackOrder

  constructor(order: AttackOrder) {
    this.#order = order
  }

  /** Resolves when the attack itself starts. */
  async begin(): Promise<void> {
    this.#child.send(this.#order)
    const message = await this.#next(PREPARE_MS_MAX)
    if (message.kind === 'failed') throw new Error(message.reason)
  }

  /** The results of the attack after its end. */
  async end(): Promise<Readonly<Record<string, number>>> {
    try {
      const message = await this.#next(this.#order.durationMs + GRACE_MS)
      return message.kind === 'over' ? message.answers : { [message.kind]: 1 }
    } catch {
      return { 'not counted: the attacker was stopped or too busy to report': 1 }
    } finally {
      this.stop()
    }
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }

  async #next(withinMs: number): Promise<AttackerMessage> {
    // Proof: the attacker sends nothing else.
    return (await messageOf(this.#child, withinMs)) as AttackerMessage
  }
}
