import {
  recordLostPhase,
  nextPhases,
  startPhaseChanges,
  TICKET_ITEM,
  ticketPath,
  type GovernanceOptions,
} from '../governance/index.ts'
import { nsFromMs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { Result } from '@reeve/kit/result.ts'
import {
  isTerminal,
  type AllocationRow,
  type RunPhaseRow,
  type RunRow,
  type VariableRow,
} from '../model/index.ts'
import {
  KILLED_PHASE_KEY,
  namespacedKey,
  OPEN_PHASE_KEY,
  put,
  SYSTEM,
  type Change,
  type Stamp,
  type WatchTarget,
} from '../state/index.ts'
import {
  namespaceRow,
  registerSystemJob,
  sealItems,
  stopJob,
  type WorkloadContext,
} from '../workload/index.ts'
import { buildPhaseJob, PLAN_ALLOCATIONS_MAX, type ExecutionSettings } from './phase-job.ts'
import { chooseNodeVersion, chooseRemoteVersion } from './tools.ts'

interface ControllerLog {
  warn(fields: object, message: string): void
}

export interface RunControllerOptions {
  /** Runs and jobs are rows of the same state. */
  readonly context: WorkloadContext & GovernanceOptions
  readonly log: ControllerLog
  readonly settings: ExecutionSettings
  /** Address of a server for runners; empty until known. */
  readonly address: () => string
  /** CA certificates in PEM form; empty if runners use those of their node. */
  readonly authorities: string
}

/** Namespace of phases whose project has none. */
const DEFAULT_NAMESPACE = 'infrastructure-runs'

/** Interval of the checks of phase timeouts and of jobs that could not be submitted. */
const CHECK_INTERVAL_MS = 15_000

/**
 * Starts pending runs, submits the job of each phase, and fails the run of a phase whose job ended
 * without a report. All work is derived from rows, so a restarted server continues where the
 * previous one stopped. No step is repeated, because each leaves a row.
 */
export class RunController {
  readonly #options: RunControllerOptions
  #cancelTimer: () => void = () => undefined
  #cancelWatch: () => void = () => undefined
  #running: Promise<void> | undefined
  #isStopped = false

  constructor(options: RunControllerOptions) {
    this.#options = options
  }

  start(): void {
    this.#watch()
    this.#scheduleCheck()
  }

  async stop(): Promise<void> {
    this.#isStopped = true
    this.#cancelTimer()
    this.#cancelWatch()
    await this.#running
  }

  /** Performs the due work; only one round runs at a time. */
  runOnce(): Promise<void> {
    this.#running ??= this.#performRound().finally(() => {
      this.#running = undefined
    })
    return this.#running
  }

  /** A commit only triggers a round; the work is read from the tables. */
  #watch(): void {
    if (this.#isStopped) return
    const { watches } = this.#options.context.store
    this.#cancelWatch = watches.watch(this.#watchTargets(), () => this.#watch())
    // The current round may be past its reads, so another one follows.
    void (this.#running ?? Promise.resolve()).then(() => this.runOnce())
  }

  #watchTargets(): readonly WatchTarget[] {
    const phases = this.#openPhases()
    const jobs = phases.map(({ namespace, id }) => ({
      table: 'jobs',
      key: namespacedKey(namespace, id),
    }))
    // A phase without a ticket waits for the first node.
    const nodes = phases.some(({ ticketHash }) => ticketHash === null) ? [{ table: 'nodes' }] : []
    return [{ table: 'runs' }, { table: 'run_phases' }, { table: 'workspaces' }, ...nodes, ...jobs]
  }

  #scheduleCheck(): void {
    this.#cancelTimer = this.#options.context.clock.after(CHECK_INTERVAL_MS, () => {
      this.#scheduleCheck()
      void this.runOnce()
    })
  }

  async #performRound(): Promise<void> {
    if (this.#isStopped) return
    try {
      this.#startEligible()
      for (const phase of this.#openPhases()) await this.#advancePhase(phase)
      await this.#stopKilled()
    } catch (thrown) {
      // The storage failed or the server stops; the next round continues.
      this.#options.log.warn({ err: errorMessage(thrown) }, 'round of the run controller failed')
    }
  }

  #openPhases(): readonly RunPhaseRow[] {
    return this.#options.context.store.tables.run_phases
      .rowsByIndex('open', OPEN_PHASE_KEY)
      .toSorted((a, b) => compareText(a.id, b.id))
  }

  /** Starts all eligible runs in one commit; each decision takes the previous ones into account. */
  #startEligible(): void {
    const { context, settings } = this.#options
    const { store, clock } = context
    const next = nextPhases(store.tables, settings.phasesAtOnceMax)
    if (next.length === 0) return
    const nowMs = clock.nowMs()
    store.commit({
      by: 'system',
      cause: 'WorkspaceUpdated',
      changes: () => [
        ...this.#createDefaultNamespace(),
        ...next.flatMap(({ run, phase }) => {
          const namespace = this.#namespaceOf(run.workspaceId)
          return startPhaseChanges(store.tables, run, { phase, namespace, nowMs })
        }),
      ],
    })
  }

  /**
   * Returns the first namespace of the project: users with access to it see the project's phases.
   */
  #namespaceOf(workspaceId: string): string {
    const { tables } = this.#options.context.store
    const { projectId } = tables.workspaces.get(workspaceId)
    const projectNamespaces = tables.project_namespaces.rowsByIndex('project', projectId)
    return (
      projectNamespaces.map(({ namespace }) => namespace).toSorted(compareText)[0] ??
      DEFAULT_NAMESPACE
    )
  }

  #createDefaultNamespace(): readonly Change[] {
    if (this.#options.context.store.tables.namespaces.has(DEFAULT_NAMESPACE)) return []
    const Description = 'Plans and applies of projects that have no namespace of their own.'
    return [put('namespaces', namespaceRow({ Name: DEFAULT_NAMESPACE, Description }))]
  }

  async #advancePhase(phase: RunPhaseRow): Promise<void> {
    const { tables } = this.#options.context.store
    const job = tables.jobs.find(namespacedKey(phase.namespace, phase.id))
    if (job === undefined && phase.status === 'queued') return await this.#submit(phase)
    const loss = job === undefined ? 'its job was purged' : this.#lossReason(phase)
    if (loss !== undefined) return await this.#recordLoss(phase, loss)
    this.#interruptOverdue(phase)
  }

  /** If the server crashed before the job was submitted, the phase gets another ticket. */
  async #submit({ id, runId }: RunPhaseRow): Promise<void> {
    const { context, settings, address, authorities, log } = this.#options
    const { store, sealer, ids } = context
    const run = store.tables.runs.get(runId)
    const version = this.#toolVersion(run)
    if (!version.ok) return await this.#recordLoss(store.tables.run_phases.get(id), version.error)
    const toolVersion = version.value
    if (toolVersion === undefined) return
    const ticket = `${ids.uuid()}${ids.uuid()}`
    const phase = { ...store.tables.run_phases.get(id), ticketHash: sealer.hash(ticket) }
    const { durable } = store.commit({
      by: 'system',
      cause: undefined,
      changes: (stamp) => [
        put('run_phases', phase),
        ...pinVersionChanges(run, toolVersion),
        put('variables', ticketVariable(context, { phase, ticket, stamp })),
      ],
    })
    await durable
    const workspace = store.tables.workspaces.get(phase.workspaceId)
    const parts = { phase, workspace, settings, toolVersion, address: address(), authorities }
    try {
      await registerSystemJob(context, {
        ...buildPhaseJob(parts),
        ID: phase.id,
        Namespace: phase.namespace,
      })
    } catch (thrown) {
      if (!(thrown instanceof Fault) || thrown.kind !== 'job-refused') throw thrown
      log.warn({ phase: phase.id, err: thrown.message }, 'job of a run phase was rejected')
      await this.#recordLoss(phase, `its job was refused: ${thrown.message}`)
    }
  }

  /**
   * Returns the version of the tool for the next phase of a run: null if it is unknown, because
   * an image or artifact has its own; undefined while no node is known. An apply uses the version
   * of its plan.
   */
  #toolVersion({ workspaceId, execution }: RunRow): Result<string | null | undefined, string> {
    const { context, settings } = this.#options
    const { tool, source, artifact, image, version } = settings
    const { tables } = context.store
    const requested = execution?.toolVersion ?? tables.workspaces.get(workspaceId).toolVersion
    if (source === 'node') return chooseNodeVersion(tool, requested, [...tables.nodes.rows()])
    const address = (source === 'image' ? image : artifact) ?? ''
    return chooseRemoteVersion({ tool, address, version }, requested)
  }

  /** Returns why a job whose allocations have all ended did not report; undefined while one may. */
  #lossReason(phase: RunPhaseRow): string | undefined {
    const { tables } = this.#options.context.store
    const key = namespacedKey(phase.namespace, phase.id)
    const allocations = tables.allocations.rowsByIndex('job', key)
    if (allocations.length === 0) {
      const isStopped = tables.jobs.find(key)?.Stop === true
      return isStopped ? 'its job was stopped' : undefined
    }
    if (!allocations.every(isTerminal)) return undefined
    if (isReplaceable(phase, allocations)) return undefined
    const [last] = allocations.toSorted((a, b) => b.CreateIndex - a.CreateIndex)
    if (last?.ClientStatus === 'lost') return 'its node was lost'
    return `its task ended (${last?.ClientStatus ?? 'unknown'}) without a report`
  }

  async #recordLoss({ id }: RunPhaseRow, reason: string): Promise<void> {
    const { context } = this.#options
    const { store, clock } = context
    const phase = store.tables.run_phases.find(id)
    if (phase === undefined) return
    const { changes, blobs } = recordLostPhase(context, phase, { reason, nowMs: clock.nowMs() })
    const commit = { by: 'system', cause: 'WorkspaceUpdated', changes: () => changes } as const
    await store.commit({ ...commit, blobs }).durable
  }

  /** Interrupts a phase that exceeds its timeout, like a canceled one. */
  #interruptOverdue(phase: RunPhaseRow): void {
    const { context, settings } = this.#options
    const startedMs = phase.statusMs['running-at']
    if (startedMs === undefined || phase.cancellation !== 'none') return
    const timeoutMs = phase.phase === 'plan' ? settings.planMsMax : settings.applyMsMax
    if (context.clock.nowMs() - startedMs < timeoutMs) return
    context.store.commit({
      by: 'system',
      cause: undefined,
      changes: () => [put('run_phases', { ...phase, cancellation: 'interrupt' })],
    })
  }

  /** Stops the jobs of phases that were ended without waiting for their runner. */
  async #stopKilled(): Promise<void> {
    const { context } = this.#options
    const { store } = context
    for (const phase of store.tables.run_phases.rowsByIndex('killed', KILLED_PHASE_KEY)) {
      const { namespace, id: jobId } = phase
      const request = { namespace, jobId, purge: false, evalPriority: 0, noShutdownDelay: true }
      await stopJob(context, SYSTEM, request)
      const stopped = { ...phase, cancellation: 'interrupt' as const }
      store.commit({ by: 'system', cause: undefined, changes: () => [put('run_phases', stopped)] })
    }
  }
}

/** Reports whether the scheduler replaces the failed or lost allocation of a phase. */
function isReplaceable(phase: RunPhaseRow, allocations: readonly AllocationRow[]): boolean {
  if (phase.phase === 'apply' || phase.tokenHash !== null) return false
  return allocations.length < PLAN_ALLOCATIONS_MAX
}

/** Records the version of the plan, which the apply uses too. */
function pinVersionChanges(run: RunRow, toolVersion: string | null): readonly Change[] {
  const { execution } = run
  if (execution === undefined || toolVersion === null) return []
  if (execution.toolVersion === toolVersion) return []
  return [put('runs', { ...run, execution: { ...execution, toolVersion } })]
}

interface PhaseTicket {
  readonly phase: RunPhaseRow
  readonly ticket: string
  readonly stamp: Stamp
}

/** Encrypted, and readable only by the runner's task and by tokens that may read variables. */
function ticketVariable(
  { sealer }: Pick<WorkloadContext, 'sealer'>,
  { phase, ticket, stamp: { index, timeMs } }: PhaseTicket,
): VariableRow {
  return {
    Namespace: phase.namespace,
    Path: ticketPath(phase),
    SealedItems: sealItems(sealer, { [TICKET_ITEM]: ticket }),
    Lock: null,
    CreateIndex: index,
    CreateTime: nsFromMs(timeMs),
    ModifyIndex: index,
    ModifyTime: nsFromMs(timeMs),
  }
}
