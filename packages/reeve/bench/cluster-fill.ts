/** Fills a real server with allocations that simulated nodes report as running. */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as wait } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { requestText, sendOk, type HttpConnection } from './http-connection.ts'
import { machineMs, summary, whole } from './measure.ts'
import { flagsOfUsers } from './program.ts'
import type { AgentsCommand, AgentsReport } from './simulated-agents.ts'

const START_DELAY_MS = 10
const JOIN_TOKEN = 'join-token-of-the-cluster-bench'
/** Without progress for this long, something is lost. */
const STALL_MS_MAX = 60_000
const POLL_MS = 250

/**
 * Settings of the server: it admits any number of nodes at once, and tolerates late heartbeats of
 * thousands of nodes in one process.
 */
export const FILL_ENVIRONMENT = {
  REEVE_ACL: 'false',
  REEVE_JOIN_TOKEN: JOIN_TOKEN,
  REEVE_HEARTBEAT_GRACE: '10m',
  REEVE_MAX_NEW_NODES_PER_MINUTE: '0',
  REEVE_MAX_NEW_NODES_PER_MINUTE_PER_ADDRESS: '0',
}

/** Thousands of nodes in a separate process (simulated-agents.ts). */
export class SimulatedFleet {
  readonly #child = fork(fileURLToPath(new URL('./simulated-agents.ts', import.meta.url)), {
    execArgv: flagsOfUsers(),
  })

  /**
   * Registers the nodes, which expect `total` allocations. Returns the duration in milliseconds.
   */
  async connect(
    address: string,
    { nodes, total }: { readonly nodes: number; readonly total: number },
  ): Promise<number> {
    const startMs = machineMs()
    await this.#ask({
      kind: 'connect',
      address,
      nodes,
      joinToken: JOIN_TOKEN,
      startDelayMs: START_DELAY_MS,
    })
    await this.#ask({ kind: 'expect', total })
    return machineMs() - startMs
  }

  async report(): Promise<AgentsReport> {
    return await this.#ask({ kind: 'report' })
  }

  async untilAllRun(total: number): Promise<AgentsReport> {
    let running = 0
    let movedMs = machineMs()
    for (;;) {
      const report = await this.report()
      if (report.running >= total) return report
      if (report.lost.length > 0)
        throw new Error(`${report.lost.length} channels ended: ${report.lost[0]}`)
      if (report.running > running) movedMs = machineMs()
      running = report.running
      if (machineMs() - movedMs > STALL_MS_MAX)
        throw new Error(`only ${whole(running)} of ${whole(total)} allocations run`)
      await wait(POLL_MS)
    }
  }

  stop(): void {
    this.#child.kill('SIGKILL')
  }

  async #ask(command: AgentsCommand): Promise<AgentsReport> {
    const answered = once(this.#child, 'message')
    this.#child.send(command)
    const [answer] = await answered
    // Proof: the child answers each command with a report.
    return answer as AgentsReport
  }
}

/** Registers jobs with `count` allocations each, in parallel on all connections. */
export async function submitJobs(
  connections: readonly HttpConnection[],
  { jobs, count }: { readonly jobs: number; readonly count: number },
) {
  const tookMs: number[] = []
  let next = 0
  await Promise.all(
    connections.map(async (connection) => {
      while (next < jobs) {
        const request = requestText('/v1/jobs', { Job: clusterJob(`job-${next++}`, count) })
        const sentMs = performance.now()
        await sendOk(connection, request)
        tookMs.push(performance.now() - sentMs)
      }
      connection.close()
    }),
  )
  return { ...summary(tookMs, 1), doneMs: machineMs() }
}

function clusterJob(id: string, count: number) {
  const Resources = { CPU: 16, MemoryMB: 16 }
  const Tasks = [{ Name: 'main', Driver: 'mock', Config: { run_for: '1h' }, Resources }]
  const TaskGroups = [{ Name: 'app', Count: count, EphemeralDisk: { SizeMB: 150 }, Tasks }]
  // Without a deployment, as in the published figure.
  return { ID: id, Type: 'service', Update: { MaxParallel: 0 }, TaskGroups }
}
