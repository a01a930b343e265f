import { HEADERS, type Input, type Job } from '@reeve/contract'
import type { Random } from '@reeve/kit/clock.ts'
import { HistoryRecorder, type Told } from '../linearizability/history.ts'
import type { FaultWorld } from './cluster-faults-world.ts'
import type { ServerProcess } from './cluster-process.ts'

const ANSWER_MS_MAX = 8_000
const REGISTERS = 2
const CLIENTS = 3

/** Clients that ask all the time, one server after the other, and remember what they were told. */
export class FaultClients {
  readonly recorder = new HistoryRecorder()
  /** Namespaces that somebody was told are there. */
  readonly names: string[] = []
  /** Jobs that run one task once, and were acknowledged. */
  readonly once: string[] = []
  /** The index of every acknowledged write of a job. */
  readonly jobIndexes: number[] = []
  /** An index that was lower than one before, as one client saw it. */
  readonly setbacks: string[] = []
  readonly #world: FaultWorld
  readonly #random: Random
  #running: readonly Promise<void>[] = []
  #isStopped = false
  #values = 0

  constructor(world: FaultWorld, random: Random) {
    this.#world = world
    this.#random = random
  }

  start(): void {
    const numbers = Array.from({ length: CLIENTS }, (_, n) => n)
    this.#running = [
      ...numbers.map((n) => this.#writeNames(n)),
      ...numbers.map((n) => this.#useRegisters(`client ${n}`)),
      this.#runOnce(),
    ]
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    await Promise.all(this.#running)
  }

  async #writeNames(client: number): Promise<void> {
    let last = 0
    for (let n = 0; !this.#isStopped; n++) {
      const name = `c${client}-${n}`
      const answer = await this.#send('PUT', '/v1/namespace', { Name: name })
      if (answer?.status !== 200) continue
      if (answer.index <= last) this.setbacks.push(`${name}: ${answer.index} after ${last}`)
      last = answer.index
      this.names.push(name)
    }
  }

  /** Reads and writes jobs that all clients share, each write only if nobody else wrote. */
  async #useRegisters(client: string): Promise<void> {
    const known = new Map<string, number>()
    while (!this.#isStopped) {
      const register = `register-${this.#below(REGISTERS)}`
      const isRead = this.#below(2) === 0
      const expected = known.get(register) ?? 0
      const value = `v${++this.#values}`
      const step = isRead
        ? ({ kind: 'read' } as const)
        : ({ kind: 'write', value, expected } as const)
      const told = await this.recorder.record({ client, register, step }, () =>
        isRead ? this.#read(register) : this.#write(register, value, expected),
      )
      if ('index' in told) known.set(register, told.index)
      if (told.kind === 'written') this.jobIndexes.push(told.index)
    }
  }

  async #read(register: string): Promise<Told> {
    const answer = await this.#send('GET', `/v1/job/${register}?consistent`)
    if (answer?.status === 404) return { kind: 'absent' }
    if (answer?.status !== 200) return { kind: 'unknown' }
    // The route answers with a job.
    const job = JSON.parse(answer.text) as Job
    return { kind: 'found', value: job.Meta?.['value'] ?? '', index: job.JobModifyIndex }
  }

  async #write(register: string, value: string, expected: number): Promise<Told> {
    const answer = await this.#send('PUT', '/v1/jobs', {
      Job: registerJob(register, value),
      EnforceIndex: true,
      JobModifyIndex: expected,
    })
    if (answer?.status === 200) return { kind: 'written', index: answer.index }
    return /Enforcing job modify index/.test(answer?.text ?? '')
      ? { kind: 'conflict' }
      : { kind: 'unknown' }
  }

  /** One small task after the other; each leaves a mark when it runs. */
  async #runOnce(): Promise<void> {
    for (let n = 0; !this.#isStopped; n++) {
      const id = `once-${n}`
      const Job = onceJob(id, this.#world.marks)
      // It must not be there yet, so that an unknown outcome is never asked for twice.
      const body = { Job, EnforceIndex: true, JobModifyIndex: 0 }
      const answer = await this.#send('PUT', '/v1/jobs', body)
      if (answer?.status !== 200) continue
      this.once.push(id)
      this.jobIndexes.push(answer.index)
      await new Promise((resolve) => setTimeout(resolve, this.#below(300)))
    }
  }

  /** Undefined when there was no answer: what became of it is open. */
  async #send(method: string, path: string, body?: unknown): Promise<Answer | undefined> {
    const { servers } = this.#world
    const server = servers[this.#below(servers.length)]
    if (server === undefined) return undefined
    return await send(server, { method, path, body })
  }

  #below(max: number): number {
    return Math.floor(this.#random.next() * max)
  }
}

interface Answer {
  readonly status: number
  readonly index: number
  readonly text: string
}

interface Question {
  readonly method: string
  readonly path: string
  readonly body?: unknown
}

async function send(
  { address }: ServerProcess,
  { method, path, body }: Question,
): Promise<Answer | undefined> {
  try {
    const answer = await fetch(`${address}${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(ANSWER_MS_MAX),
    })
    const text = await answer.text()
    return { status: answer.status, index: Number(answer.headers.get(HEADERS.index)), text }
  } catch {
    // Closed, refused or too late.
    return undefined
  }
}

/** A job that is accepted and runs nothing. */
function registerJob(id: string, value: string): Input<Job> {
  const Tasks = [{ Name: 't', Driver: 'raw_exec', Config: { command: '/bin/true' } }]
  return { ID: id, Meta: { value }, TaskGroups: [{ Name: 'g', Count: 0, Tasks }] }
}

function onceJob(id: string, marks: string): Input<Job> {
  // One short line is written at once, whoever else writes.
  const script = `echo "${id} $REEVE_ALLOC_ID" >> ${marks}`
  const Config = { command: '/bin/sh', args: ['-c', script] }
  const Resources = { CPU: 20, MemoryMB: 10 }
  return {
    ID: id,
    Type: 'batch',
    TaskGroups: [
      {
        Name: 'g',
        RestartPolicy: { Attempts: 0, Mode: 'fail' },
        ReschedulePolicy: { Attempts: 0, Unlimited: false },
        Tasks: [{ Name: 't', Driver: 'raw_exec', Config, Resources }],
      },
    ],
  }
}
