/**
 * The victim tenant in a separate process: reads, lists, registers, follows events and a task log,
 * each at a fixed rate regardless of the server. Latency counts from the time a request was due, so
 * that a stalled server is not measured by its few served requests (coordinated omission).
 */
import { Agent, get, request as httpRequest, type IncomingMessage } from 'node:http'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { idleJob } from '../jobs.ts'
import { DEADLINE_MS, missingLines, VICTIM_KINDS } from './statistics.ts'
import type { KindSamples, LineWindow, VictimKind } from './statistics.ts'

export interface VictimOrder {
  readonly kind: 'start'
  readonly port: number
  readonly token: string
  readonly namespace: string
  /** The job whose task writes one line with its number and the time per interval. */
  readonly logJob: string
  readonly logIntervalMs: number
}

export type VictimCommand =
  | VictimOrder
  /** Answered with a report when every request that was due in the window has settled. */
  | { readonly kind: 'measure'; readonly durationMs: number }

export interface VictimReport {
  readonly samples: Readonly<Record<VictimKind, KindSamples>>
  /** The longest response time of a health probe; one is sent every 10 ms while none is pending. */
  readonly stallMs: number
  /** The longest delay of this process's own event loop: noise of the machine. */
  readonly ownDelayMs: number
}

/** Milliseconds between two requests of a kind. */
const PACE_MS = { read: 25, list: 50, register: 50 } as const
const PROBE_MS = 10
const CONNECTIONS_PER_KIND = 64
const REGISTERED_JOBS = 100
const REOPEN_MS = 200

interface Sample {
  readonly dueMs: number
  /** Number of a log line. */
  readonly line?: number
  /** Undefined while pending. */
  tookMs?: number
  refused?: string
}

let order: VictimOrder
const samples: Record<VictimKind, Sample[]> = {
  read: [],
  list: [],
  register: [],
  event: [],
  log: [],
}
/** Registrations without their event yet, by number. */
const unseen = new Map<number, Sample>()
const delay = monitorEventLoopDelay({ resolution: 5 })
let stallMs = 0
let probeSentMs = 0
let registered = 0
/** When the last received log line was written. */
let logMs = 0

process.on('message', (command: VictimCommand) => {
  if (command.kind === 'start') start(command)
  else void measure(command.durationMs).then((report) => process.send?.(report))
})
process.on('disconnect', () => process.exit())

function start(given: VictimOrder): void {
  order = given
  const paths = {
    read: `/v1/job/victim-1?namespace=${order.namespace}`,
    list: `/v1/jobs?namespace=${order.namespace}&per_page=50`,
  }
  every(PACE_MS.read, (dueMs) => void ask('read', { path: paths.read, dueMs }))
  every(PACE_MS.list, (dueMs) => void ask('list', { path: paths.list, dueMs }))
  every(PACE_MS.register, (dueMs) => void register(dueMs))
  void probeForEver()
  void followForEver('event', followEvents)
  void followForEver('log', followLog)
  delay.enable()
  process.send?.('started')
}

/** Calls at a fixed rate; a late timer catches up with the original due times. */
function every(intervalMs: number, call: (dueMs: number) => void): void {
  let dueMs = performance.now()
  setInterval(() => {
    for (; dueMs <= performance.now(); dueMs += intervalMs) call(dueMs)
  }, intervalMs)
}

const agents = new Map<string, Agent>()

function agentOf(kind: string): Agent {
  const known = agents.get(kind)
  if (known !== undefined) return known
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS_PER_KIND })
  agents.set(kind, agent)
  return agent
}

interface Asked {
  readonly path: string
  readonly dueMs: number
  readonly body?: string
}

async function ask(kind: VictimKind, { path, dueMs, body }: Asked): Promise<Sample> {
  const sample: Sample = { dueMs }
  samples[kind].push(sample)
  const refused = await send(kind, path, body)
  sample.tookMs = performance.now() - dueMs
  if (refused !== undefined) sample.refused = refused
  return sample
}

async function register(dueMs: number): Promise<void> {
  const number = registered++
  const event: Sample = { dueMs }
  samples.event.push(event)
  unseen.set(number, event)
  const job = idleJob(`registered-${number % REGISTERED_JOBS}`)
  const Job = { ...job, Namespace: order.namespace, Meta: { bench: String(number) } }
  const path = `/v1/jobs?namespace=${order.namespace}`
  const { refused } = await ask('register', { path, dueMs, body: JSON.stringify({ Job }) })
  if (refused === undefined || refused === TIMED_OUT) return
  // The registration failed, so no event is expected.
  unseen.delete(number)
  samples.event = samples.event.filter((sample) => sample !== event)
}

/** Undefined if the request was served, otherwise the reason. */
function send(kind: string, path: string, body?: string): Promise<string | undefined> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(DEADLINE_MS)
    const sent = httpRequest({
      ...where(path),
      method: body === undefined ? 'GET' : 'POST',
      agent: agentOf(kind),
      signal,
    })
    const fail = (error: Error): void => resolve(signal.aborted ? TIMED_OUT : reasonOf(error))
    sent.on('error', fail)
    sent.on('response', (response) => {
      response.on('error', fail)
      response.on('end', () => {
        const status = response.statusCode ?? 0
        resolve(status === 200 ? undefined : String(status))
      })
      response.resume()
    })
    sent.end(body)
  })
}

const TIMED_OUT = 'timeout'

function where(path: string) {
  return {
    host: '127.0.0.1',
    port: order.port,
    path,
    headers: { 'x-service-token': order.token },
  }
}

function reasonOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : error.message
}

async function probeForEver(): Promise<void> {
  for (;;) {
    probeSentMs = performance.now()
    await send('probe', '/v1/agent/health')
    stallMs = Math.max(stallMs, performance.now() - probeSentMs)
    await wait(PROBE_MS)
  }
}

/** Follows a stream and reopens it when the server closes it, which counts as refused. */
async function followForEver(kind: VictimKind, follow: () => Promise<void>): Promise<void> {
  for (;;) {
    const reason = await follow().then(
      () => 'ended',
      (thrown: Error) => reasonOf(thrown),
    )
    const nowMs = performance.now()
    samples[kind].push({ dueMs: nowMs, tookMs: 0, refused: reason })
    await wait(REOPEN_MS)
  }
}

/** Opens a stream and passes its lines to `take` until it ends. */
async function readLines(path: string, take: (line: string) => void): Promise<void> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get({ ...where(path), agent: false }, resolve).on('error', reject)
  })
  if (response.statusCode !== 200) {
    response.destroy()
    throw new Error(String(response.statusCode))
  }
  let rest = ''
  for await (const chunk of response.setEncoding('utf8')) {
    const lines = (rest + String(chunk)).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) take(line)
  }
}

let eventIndex = 0

async function followEvents(): Promise<void> {
  const from = eventIndex === 0 ? '' : `&index=${eventIndex + 1}`
  await readLines(`/v1/event/stream?topic=Job&namespace=${order.namespace}${from}`, (line) => {
    const nowMs = performance.now()
    eventIndex = Number(/"Index":(\d+)/.exec(line)?.[1] ?? eventIndex)
    for (const [, number] of line.matchAll(/"bench":"(\d+)"/g)) {
      const sample = unseen.get(Number(number))
      if (sample === undefined) continue
      sample.tookMs = nowMs - sample.dueMs
      unseen.delete(Number(number))
    }
  })
}

let followed = { allocation: '', bytes: 0 }

async function followLog(): Promise<void> {
  const allocation = await runningAllocation()
  if (followed.allocation !== allocation) followed = { allocation, bytes: 0 }
  const query = `task=main&type=stdout&follow=true&plain=true&origin=start&offset=${followed.bytes}`
  const path = `/v1/client/fs/logs/${allocation}?${query}&namespace=${order.namespace}`
  await readLines(path, (line) => {
    followed.bytes += line.length + 1
    const [number, writtenAt] = line.split(' ').map(Number)
    const writtenMs = Number(writtenAt) - performance.timeOrigin
    const nowMs = performance.now()
    logMs = writtenMs
    samples.log.push({ dueMs: writtenMs, tookMs: nowMs - writtenMs, line: Number(number) })
  })
}

async function runningAllocation(): Promise<string> {
  const url = `http://127.0.0.1:${order.port}/v1/job/${order.logJob}/allocations`
  const response = await fetch(`${url}?namespace=${order.namespace}`, {
    headers: { 'x-service-token': order.token },
    signal: AbortSignal.timeout(DEADLINE_MS),
  })
  if (!response.ok) throw new Error(String(response.status))
  // Proof: a list of allocations, by the contract.
  const rows = (await response.json()) as { ID: string; ClientStatus: string }[]
  const running = rows.find(({ ClientStatus }) => ClientStatus === 'running')
  if (running === undefined) throw new Error('no running allocation')
  return running.ID
}

async function measure(durationMs: number): Promise<VictimReport> {
  const fromMs = performance.now()
  stallMs = 0
  delay.reset()
  await wait(durationMs)
  const ownDelayMs = delay.max / 1e6
  const toMs = performance.now()
  await settle(toMs)
  const isInside = ({ dueMs }: Sample): boolean => dueMs >= fromMs && dueMs < toMs
  const expected = Math.floor(durationMs / order.logIntervalMs)
  const missing = missingLines({ ...linesAround(fromMs, toMs), expected })
  const taken: Partial<Record<VictimKind, KindSamples>> = {}
  for (const kind of VICTIM_KINDS) {
    taken[kind] = toSamples(samples[kind].filter(isInside), kind === 'log' ? missing : 0)
    // The last log line stays: the next window counts from its number.
    const lastLine = kind === 'log' ? samples.log.findLast(({ dueMs }) => dueMs < toMs) : undefined
    samples[kind] = samples[kind].filter((sample) => sample.dueMs >= toMs || sample === lastLine)
  }
  for (const [number, { dueMs }] of unseen) if (dueMs < toMs) unseen.delete(number)
  // Proof: every kind was just assigned its samples.
  return { samples: taken as VictimReport['samples'], stallMs, ownDelayMs }
}

/**
 * Waits until every request that was due before is served or refused, at most until the deadline.
 */
async function settle(toMs: number): Promise<void> {
  const isOpen = ({ dueMs, tookMs }: Sample): boolean => dueMs < toMs && tookMs === undefined
  const isSettled = (): boolean =>
    // The number of a line from after the window says how many were written in it.
    logMs > toMs &&
    !VICTIM_KINDS.some((kind) => samples[kind].some(isOpen)) &&
    // A pending probe may have been sent in the window.
    probeSentMs > toMs
  while (!isSettled() && performance.now() < toMs + DEADLINE_MS) await wait(PROBE_MS)
  if (probeSentMs <= toMs) stallMs = Math.max(stallMs, performance.now() - probeSentMs)
}

function toSamples(given: readonly Sample[], missing: number): KindSamples {
  const tookMs: number[] = []
  const refused: Record<string, number> = {}
  for (const sample of given) {
    if (sample.refused !== undefined) refused[sample.refused] = (refused[sample.refused] ?? 0) + 1
    if (sample.refused === undefined || sample.refused === TIMED_OUT)
      tookMs.push(sample.tookMs ?? DEADLINE_MS)
    if (sample.tookMs === undefined) refused[TIMED_OUT] = (refused[TIMED_OUT] ?? 0) + 1
  }
  if (missing > 0) refused['missing'] = missing
  return { tookMs: [...tookMs, ...Array.from({ length: missing }, () => DEADLINE_MS)], refused }
}

/** The log lines that arrived of a window, and the numbers of its neighbours. */
function linesAround(fromMs: number, toMs: number): Omit<LineWindow, 'expected'> {
  const lines = samples.log.filter(({ line }) => line !== undefined)
  const isInside = ({ dueMs }: Sample): boolean => dueMs >= fromMs && dueMs < toMs
  return {
    before: lines.findLast(({ dueMs }) => dueMs < fromMs)?.line,
    after: lines.find(({ dueMs }) => dueMs >= toMs)?.line,
    received: lines.filter(isInside).length,
  }
}
