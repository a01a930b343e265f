import { existsSync } from 'node:fs'
import type { CheckResult } from '@reeve/contract'
import { isClientTerminal } from '../../model/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import type { LogFeed } from '@reeve/kit/log-feed.ts'
import type { AllocationRunner } from '../allocation/allocation-runner.ts'
import type { Logger } from '../log.ts'
import type { IncomingMigrations } from '../migrate/migrations.ts'
import type { NodeMetadata } from '../local-node.ts'
import type { Workspace } from '../store/workspace.ts'
import { readHostData } from './host-data.ts'
import type { DynamicVolumes } from '../volumes/dynamic-volumes.ts'
import { HostUsageReader, NodeUsageReader, UsageReader } from './usage.ts'
import { RemoteRequestHandler } from './request-handler.ts'

interface AgentRequestHandlerOptions {
  readonly clock: Clock
  readonly log: Logger
  readonly workspace: Workspace
  readonly allowsExec: boolean
  readonly migrations: IncomingMigrations
  /** Runners of the allocations of this node. */
  readonly runners: ReadonlyMap<string, AllocationRunner>
  /** Clock rate of one core. */
  mhzPerCore(): number
  checksOf(id: string): Readonly<Record<string, unknown>>
  failedChecksOf(id: string): readonly CheckResult[]
  /** Stores the new secret of the node; durable when it resolves. */
  saveSecret(secret: string): Promise<void>
  readonly meta: NodeMetadata
  readonly logFeed: LogFeed | undefined
  readonly volumes: DynamicVolumes
}

/** Creates the request handler for the runners and directories of this agent. */
export function newRequestHandler(options: AgentRequestHandlerOptions): RemoteRequestHandler {
  const { clock, log, workspace, runners } = options
  const collected = new CollectedAllocations(options)
  const mhzPerCore = (): number => options.mhzPerCore()
  const newHostReader = (): HostUsageReader =>
    new HostUsageReader(clock, workspace.root, mhzPerCore)
  return new RemoteRequestHandler({
    clock,
    log,
    usage: new UsageReader(clock, mhzPerCore),
    hostUsage: newHostReader(),
    nodeUsage: new NodeUsageReader(new UsageReader(clock, mhzPerCore), newHostReader(), () =>
      runners.values(),
    ),
    hostData: () => readHostData(workspace.root),
    logFeed: options.logFeed,
    allowsExec: options.allowsExec,
    migrations: options.migrations,
    findAllocation: (id) => runners.get(id),
    directoryOf: (id) =>
      runners.has(id) && !collected.isCollected(id) ? workspace.allocationDir(id) : undefined,
    checksOf: (id) => options.checksOf(id),
    failedChecksOf: (id) => options.failedChecksOf(id),
    collect: (id) => collected.collect(id),
    collectAll: () => collected.collectAll(),
    saveSecret: (secret) => options.saveSecret(secret),
    meta: options.meta,
    volumes: options.volumes,
  })
}

/**
 * Removes the data of terminal allocations on request. The agent keeps its record until the servers
 * remove the allocation, so that it is not run again.
 */
class CollectedAllocations {
  readonly #options: AgentRequestHandlerOptions
  readonly #collectedRunners = new WeakSet<AllocationRunner>()

  constructor(options: AgentRequestHandlerOptions) {
    this.#options = options
  }

  /** Whether the data was removed, also by an earlier agent, which only the disk shows. */
  isCollected(id: string): boolean {
    const { runners, workspace } = this.#options
    const runner = runners.get(id)
    if (runner === undefined) return false
    if (this.#collectedRunners.has(runner)) return true
    return isClientTerminal(runner.currentReport()) && !existsSync(workspace.allocationDir(id))
  }

  /** Removes the data; returns false if there is nothing to remove. */
  async collect(id: string): Promise<boolean> {
    const runner = this.#options.runners.get(id)
    if (runner === undefined || this.isCollected(id)) return false
    if (!isClientTerminal(runner.currentReport())) return false
    this.#collectedRunners.add(runner)
    try {
      await runner.terminated
      await this.#options.workspace.remove(id)
    } catch (thrown) {
      this.#collectedRunners.delete(runner)
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
