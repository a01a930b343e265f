import { setTimeout as wait } from 'node:timers/promises'
import { isQuick } from '../measure.ts'
import type { Attack } from './attack.ts'
import { Attacker, Victim } from './children.ts'
import { Cluster, type NodeStatuses } from './cluster.ts'
import { MemoryWatch } from './memory-watch.ts'
import type { Row } from './report.ts'
import { findMisses, summarizeAll, type VictimSummary } from './statistics.ts'

const WARM_UP_MS = isQuick ? 5_000 : 15_000
const ATTACK_MS = isQuick ? 3_000 : 10_000
const ALONE_MS = isQuick ? 2_000 : 5_000
const WARM_UP_ATTACK = 'reads'
/** Time after an attack until memory and response times must have recovered. */
const AFTER_MS = 10_000
const RECOVERY_MS_MAX = 30_000
const NODES_MS_MAX = 20_000
const HEALTHY_MS_MAX = 500
/** Maximum slowdown without an attack, relative to the start; otherwise the server is restarted. */
const SLOWER_MAX = 3
const SLOWER_MS_MIN = 50

/** One server, two nodes and the victim, which runs from the first attack to the last. */
export class IsolationRun {
  readonly #cluster: Cluster
  #victim: Victim
  /** The best medians without an attack so far: the server must return to them. */
  #best: Medians
  #alone: VictimSummary
  /** Repairs after the previous attack. */
  #notes: string[] = []

  static async start(home: string, barePort: number): Promise<IsolationRun> {
    const cluster = await Cluster.start(home, barePort)
    const victim = await startVictim(cluster)
    const alone = await aloneOf(victim)
    return new IsolationRun(cluster, victim, alone)
  }

  private constructor(cluster: Cluster, victim: Victim, alone: VictimSummary) {
    this.#cluster = cluster
    this.#victim = victim
    this.#best = mediansOf(alone)
    this.#alone = alone
  }

  async measure(attack: Attack, control: VictimSummary | undefined): Promise<Row> {
    const notes = this.#notes.splice(0)
    const alone = this.#alone
    await this.#cluster.isWhole(NODES_MS_MAX)
    const nodes = await this.#cluster.nodeStatuses()
    const memory = new MemoryWatch(() => this.#cluster.residentBytes())
    const target = this.#cluster.target
    const attacker = new Attacker({ attack: attack.name, target, durationMs: ATTACK_MS })
    await attacker.begin().catch((thrown: unknown) => notes.push(`not prepared: ${String(thrown)}`))
    memory.start(() => {
      notes.push('stopped early: the server took too much memory')
      attacker.stop()
    })
    const measured = this.#victim.measure(ATTACK_MS)
    const answers = await attacker.end()
    const use = memory.finish(AFTER_MS)
    const report = await measured
    const repairs = await this.#recover()
    const lost = new Set(await this.#lostNodes(nodes))
    await this.#restoreNodes(repairs)
    // Before any restart of the server: an exited process has no memory.
    const memoryUse = await use
    await this.#measureAlone()
    // A node that fell silent at the end of the attack is detected only now.
    for (const name of await this.#lostNodes(nodes)) lost.add(name)
    const observed = {
      victim: summarizeAll(report.samples),
      memory: memoryUse,
      lostNodes: [...lost].toSorted(),
      repairs,
    }
    // The control is compared with itself: its slowdown is caused by the machine.
    const misses = findMisses(observed, { alone, control: control ?? observed.victim })
    const { name, summary } = attack
    const { stallMs, ownDelayMs } = report
    return { name, summary, alone, observed, stallMs, ownDelayMs, answers, misses, notes }
  }

  async stop(): Promise<void> {
    this.#victim.stop()
    await this.#cluster.stop()
  }

  /** Waits until health checks are fast; kills a server that stays silent. */
  async #recover(): Promise<string[]> {
    const endMs = performance.now() + RECOVERY_MS_MAX
    while (performance.now() < endMs) {
      const tookMs = await this.#cluster.healthMs()
      if (tookMs !== undefined && tookMs < HEALTHY_MS_MAX) return []
      await wait(100)
    }
    await this.#restartServer()
    return [`no answer ${RECOVERY_MS_MAX / 1_000} s after the attack: server restarted`]
  }

  async #restartServer(): Promise<void> {
    this.#victim.stop()
    await this.#cluster.restartServer()
    await this.#cluster.isWhole(NODES_MS_MAX)
    this.#victim = await startVictim(this.#cluster)
  }

  async #lostNodes(before: NodeStatuses): Promise<string[]> {
    const after = await this.#cluster.nodeStatuses().catch((): NodeStatuses => new Map())
    return [...before].filter(([name, status]) => after.get(name) !== status).map(([name]) => name)
  }

  /** Stops everything that the attacker runs; kills agents that cannot stop it. */
  async #restoreNodes(repairs: string[]): Promise<void> {
    await this.#cluster.purgeAttacker().catch(() => undefined)
    if (await this.#cluster.isWhole(NODES_MS_MAX)) return
    repairs.push(`nodes not ready ${NODES_MS_MAX / 1_000} s after the attack: agents restarted`)
    await this.#cluster.restartNodes()
    await this.#cluster.isWhole(NODES_MS_MAX)
  }

  /** The baseline of the next attack. A degraded server would make the attack look harmless. */
  async #measureAlone(): Promise<void> {
    this.#alone = await aloneOf(this.#victim)
    if (!this.#isSlower()) return
    this.#alone = await aloneOf(this.#victim)
    if (!this.#isSlower()) return
    this.#notes.push('server restarted before it: still slow after the attack before')
    await this.#restartServer()
    this.#alone = await aloneOf(this.#victim)
  }

  #isSlower(): boolean {
    const now = mediansOf(this.#alone)
    const isSlow = now.some((ms, at) => {
      const bestMs = this.#best[at] ?? ms
      return ms > bestMs * SLOWER_MAX && ms > bestMs + SLOWER_MS_MIN
    })
    this.#best = now.map((ms, at) => Math.min(ms, this.#best[at] ?? ms))
    return isSlow
  }
}

type Medians = readonly number[]

function mediansOf({ read, list, register }: VictimSummary): Medians {
  return [read.p50, list.p50, register.p50]
}

/**
 * Starts the victim and warms up the server, also with fast cheap reads, so that its heap has
 * reached its size under load before memory is compared.
 */
async function startVictim(cluster: Cluster): Promise<Victim> {
  const victim = new Victim()
  await victim.start(cluster.victim)
  const order = { attack: WARM_UP_ATTACK, target: cluster.target, durationMs: WARM_UP_MS }
  const reader = new Attacker(order)
  await reader.begin()
  const measured = victim.measure(WARM_UP_MS)
  await reader.end()
  await measured
  return victim
}

async function aloneOf(victim: Victim): Promise<VictimSummary> {
  return summarizeAll((await victim.measure(ALONE_MS)).samples)
}
