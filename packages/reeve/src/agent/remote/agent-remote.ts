import { existsSync } from 'node:fs'
import { dirname } from 'node:path'
import type { CheckResult } from '@reeve/contract'
import { isClientTerminal } from '../../model/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import type { AllocationRunner } from '../allocation/allocation-runner.ts'
import type { Log } from '../log.ts'
import type { Migrations } from '../migrate/migrations.ts'
import type { NodeMetadata } from '../node-meta.ts'
import type { Workspace } from '../store/workspace.ts'
import { readHostData } from './host-data.ts'
import type { DynamicVolumes } from '../volumes/dynamic-volumes.ts'
import { HostUsageReader } from './host-usage.ts'
import { Remote } from './remote.ts'
import { UsageReader } from './usage.ts'

interface AgentRemoteOptions {
  readonly clock: Clock
  readonly log: Log
  readonly workspace: Workspace
  readonly allowsExec: boolean
  readonly migrations: Migrations
  /** The allocations of this node. */
  readonly runners: ReadonlyMap<string, AllocationRunner>
  /** What one core of this machine is worth. */
  mhzPerCore(): number
  checksOf(id: string): Readonly<Record<string, unknown>>
  failedChecksOf(id: string): readonly CheckResult[]
  /** Stores the new secret of the node; durable when it resolves. */
  keepSecret(secret: string): Promise<void>
  readonly meta: NodeMetadata
  readonly feed: LogFeed | undefined
  readonly volumes: DynamicVolumes
}

/** What callers may reach of this agent, over its runners and directories. */
export function agentRemote(options: AgentRemoteOptions): Remote {
  const { clock, log, workspace, runners } = options
  const removed = new RemovedDirectories(options)
  const mhzPerCore = (): number => options.mhzPerCore()
  const directoryOf = (id: string): string => directoryIn(workspace, id)
  return new Remote({
    clock,
    log,
    usage: new UsageReader(clock, mhzPerCore),
    hostUsage: new HostUsageReader(clock, dirname(directoryOf('any')), mhzPerCore),
    hostData: () => readHostData(dirname(directoryOf('any'))),
    feed: options.feed,
    allowsExec: options.allowsExec,
    migrations: options.migrations,
    findAllocation: (id) => runners.get(id),
    directoryOf: (id) => (runners.has(id) && !removed.has(id) ? directoryOf(id) : undefined),
    checksOf: (id) => options.checksOf(id),
    failedChecksOf: (id) => options.failedChecksOf(id),
    collect: (id) => removed.collect(id),
    collectAll: () => removed.collectAll(),
    keepSecret: (secret) => options.keepSecret(secret),
    meta: options.meta,
    volumes: options.volumes,
  })
}

/** What the tasks share is one level below the allocation's own. */
function directoryIn(workspace: Workspace, allocationId: string): string {
  return dirname(workspace.paths({ allocationId, task: 'any' }).allocDir)
}

/**
 * What ended allocations leave is removed when somebody asks. The agent's own record of each stays
 * until the servers forget it, so that none is run again.
 */
class RemovedDirectories {
  readonly #options: AgentRemoteOptions
  readonly #removed = new WeakSet<AllocationRunner>()

  constructor(options: AgentRemoteOptions) {
    this.#options = options
  }

  /** Also what an agent before this one removed: the disk is all that tells of it. */
  has(id: string): boolean {
    const { runners, workspace } = this.#options
    const runner = runners.get(id)
    if (runner === undefined) return false
    if (this.#removed.has(runner)) return true
    return isClientTerminal(runner.currentReport()) && !existsSync(directoryIn(workspace, id))
  }

  /** False when there is nothing that may be removed. */
  async collect(id: string): Promise<boolean> {
    const runner = this.#options.runners.get(id)
    if (runner === undefined || this.has(id)) return false
    if (!isClientTerminal(runner.currentReport())) return false
    this.#removed.add(runner)
    try {
      await runner.ended
      await this.#options.workspace.remove(id)
    } catch (thrown) {
      this.#removed.delete(runner)
      throw thrown
    }
    return true
  }

  async collectAll(): Promise<void> {
    const { log, runners } = this.#options
    for (const id of runners.keys())
      await this.collect(id).catch((thrown: unknown) => {
        log.error({ allocation: id, error: errorMessage(thrown) }, 'allocation not removed')
      })
  }
}
