/**
 * A server with ACLs that generates events by itself: a child process of events.bench.ts, which has
 * the readers. So the rate is exact and no client request is measured. Sends its address by
 * message, then handles `Emission` messages with an `Emitted` response each.
 */
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { NodePool } from '@reeve/contract'
import { createAgentStatus } from '../src/main/agent-status.ts'
import { loadServerSecrets } from '../src/main/secrets.ts'
import { Server } from '../src/main/server.ts'
import { put } from '../src/state/index.ts'
import { openEmbeddedEngine } from '../src/storage/index.ts'
import { anAgentConfig } from '../test/build/agent-config.ts'
import { machineMs, summary, type Rate } from './measure.ts'

export interface Listening {
  readonly address: string
  readonly port: number
}

export interface Emission {
  readonly durationMs: number
  /** Undefined means as fast as the storage allows. */
  readonly perSecond: number | undefined
}

export interface Emitted {
  readonly events: number
  /** Time until commits are durable and their events may be published. */
  readonly durable: Rate
  /** CPU seconds of the server. */
  readonly cpuSeconds: number
  /** Index of the last event. */
  readonly index: number
}

/** Maximum number of pending commits at the highest rate. */
const PENDING_MAX = 256
const POOLS = 100

const [directory = ''] = process.argv.slice(2)
const server = await openServer()
const address = await server.listen('127.0.0.1', 0)
process.send?.({ address, port: Number(new URL(address).port) } satisfies Listening)
process.on('message', (emission: Emission) => {
  void emit(emission).then((emitted) => process.send?.(emitted))
})
process.once('disconnect', () => void server.stop().then(() => process.exit()))

async function openServer(): Promise<Server> {
  const config = anAgentConfig({ flags: { dev: true, acl: true } })
  const folder = join(directory, 'server')
  await mkdir(folder, { recursive: true })
  return await Server.open({
    config,
    log: { debug: say, info: say, warn: say, error: say },
    engine: await openEmbeddedEngine(join(folder, 'storage')),
    secrets: await loadServerSecrets({ directory: folder, state: { name: folder, lastIndex: 0 } }),
    version: '0.0.0',
    agent: createAgentStatus(config, '0.0.0'),
  })
}

function say(fields: object, message: string): void {
  process.stderr.write(`${message} ${JSON.stringify(fields)}\n`)
}

async function emit({ durationMs, perSecond }: Emission): Promise<Emitted> {
  const tookMs: number[] = []
  const cpu = process.cpuUsage()
  const start = machineMs()
  let begun = 0
  const commitOne = async (): Promise<void> => {
    const beganMs = machineMs()
    const pool = poolRow(begun++, beganMs)
    await server.store.commit({
      by: 'system',
      cause: 'NodePoolUpserted',
      changes: () => [put('node_pools', pool)],
    }).durable
    tookMs.push(machineMs() - beganMs)
  }
  const isOver = (): boolean => machineMs() - start > durationMs
  if (perSecond === undefined)
    await Promise.all(
      Array.from({ length: PENDING_MAX }, async () => {
        while (!isOver()) await commitOne()
      }),
    )
  else
    while (!isOver()) {
      const due = Math.floor(((machineMs() - start) / 1_000) * perSecond)
      for (let missing = due - begun; missing > 0; missing--) void commitOne()
      await new Promise((resolve) => setTimeout(resolve, 1))
    }
  await server.store.whenDurable()
  const { user, system } = process.cpuUsage(cpu)
  return {
    events: begun,
    durable: summary(tookMs, machineMs() - start),
    cpuSeconds: (user + system) / 1_000_000,
    index: server.store.index,
  }
}

/** The smallest event. Its description is the commit time. */
function poolRow(at: number, timeMs: number): NodePool {
  return {
    Name: `pool-${at % POOLS}`,
    Description: String(timeMs),
    Meta: null,
    SchedulerConfiguration: null,
    Hash: '',
    CreateIndex: 0,
    ModifyIndex: 0,
  }
}
