import type { Deployment, Job } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import {
  DEPLOYMENT_TEXTS,
  endDeployment,
  holdInRegion,
  isActiveDeployment,
  isCoordinated,
  isRegionalRollback,
  isRolledOutBy,
  needsUnblocking,
  resumeDeployment,
} from '../../model/index.ts'
import {
  failureRows,
  namespacedKey,
  planFailure,
  put,
  rolloutEvaluation,
  withJobRows,
  type Change,
  type Commit,
  type RolloutWrite,
} from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import type { RegionClient } from '../region-client.ts'
import { decideRollout, type PeerProgress, type RolloutDecision } from './decide-rollout.ts'
import {
  peerProgress,
  readPeerDeployments,
  readPeerJob,
  readPeerVersions,
  type PeerState,
} from './peer-progress.ts'

/** How often regions look at each other while they wait for one another. */
const LOOK_EVERY_MS = 500
/** Deployments that are looked at in one round; the rest has the next one. */
const DEPLOYMENTS_PER_LOOK = 50
const ANSWER_MS_MAX = 5_000

interface RolloutLog {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
}

export interface RolloutLoopOptions {
  readonly context: WorkloadContext
  readonly client: Pick<RegionClient, 'call'>
  /** The secret of a token that may read jobs in every region; empty where ACLs are off. */
  readonly token: string
  readonly log: RolloutLog
}

/** A deployment that has to do with other regions, and its job. */
interface Watched {
  readonly deployment: Deployment
  readonly job: Job
}

/**
 * Moves the deployments of this region on as those of the other regions of their jobs do. Every
 * region decides about its own alone; what it keeps is only which of them to look at.
 */
export class RolloutLoop {
  readonly #options: RolloutLoopOptions
  readonly #watched = new Set<string>()
  /** What was said of a region that does not answer, so that it is said once. */
  readonly #silent = new Map<string, string>()
  readonly #stopping = new AbortController()
  #unsubscribe: () => void = () => undefined
  #cancelTimer: (() => void) | undefined
  #looking: Promise<void> = Promise.resolve()

  constructor(options: RolloutLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { store } = this.#options.context
    this.#unsubscribe = store.log.subscribe((commits) => this.#follow(commits))
    for (const id of store.tables.deployments.keys()) this.#touch(id)
    this.#arm()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    this.#stopping.abort()
    this.#cancelTimer?.()
    await this.#looking
  }

  #follow(commits: readonly Commit[]): void {
    for (const { rows } of commits)
      for (const { table, key } of rows) if (table === 'deployments') this.#touch(key)
    this.#arm()
  }

  #touch(id: string): void {
    const row = this.#options.context.store.tables.deployments.find(id)
    if (row?.IsMultiregion === true && isActiveDeployment(row)) this.#watched.add(id)
  }

  #arm(): void {
    if (this.#watched.size === 0 || this.#stopping.signal.aborted) return
    const { clock }: { readonly clock: Clock } = this.#options.context
    this.#cancelTimer ??= clock.after(LOOK_EVERY_MS, () => {
      this.#looking = this.#look().finally(() => {
        this.#cancelTimer = undefined
        this.#arm()
      })
    })
  }

  async #look(): Promise<void> {
    const ids = [...this.#watched].slice(0, DEPLOYMENTS_PER_LOOK)
    for (const id of ids) {
      // To the end of the line: the next round begins with those that were left.
      this.#watched.delete(id)
      const watched = this.#find(id)
      if (watched === undefined) continue
      this.#watched.add(id)
      await this.#evaluate(watched)
    }
  }

  #find(id: string): Watched | undefined {
    const { tables } = this.#options.context.store
    const deployment = tables.deployments.find(id)
    if (deployment === undefined || !isActiveDeployment(deployment)) return undefined
    const job = tables.jobs.find(namespacedKey(deployment.Namespace, deployment.JobID))
    const isOf = job !== undefined && isCoordinated(job) && isRolledOutBy(deployment, job)
    return isOf ? { deployment, job } : undefined
  }

  async #evaluate({ deployment, job }: Watched): Promise<void> {
    const { region, clock, store } = this.#options.context
    const { Status: status } = deployment
    const multiregion = job.Multiregion
    if (multiregion === null) return
    if (isRegionalRollback(deployment)) {
      if (status === 'blocked') this.#applyDecision({ deployment, job }, 'succeed')
      return
    }
    if (!dependsOnPeers(deployment, job)) return
    const peers = new Map<string, PeerProgress>()
    const others = multiregion.Regions.filter(({ Name }) => Name !== region)
    const ageMs = clock.nowMs() - msFromNs(deployment.CreateTime)
    await Promise.all(
      others.map(async ({ Name }) => peers.set(Name, await this.#progressOf(Name, job, ageMs))),
    )
    if (this.#stopping.signal.aborted) return
    const decision = decideRollout({ status, region, multiregion, peers })
    // It may have changed while the others were asked.
    if (store.tables.deployments.find(deployment.ID)?.ModifyIndex !== deployment.ModifyIndex) return
    this.#applyDecision({ deployment, job }, decision)
  }

  async #progressOf(region: string, job: Job, ageMs: number): Promise<PeerProgress> {
    const { log } = this.#options
    try {
      const peer = await this.#readPeer(region, job)
      this.#silent.delete(region)
      return peerProgress(job, ageMs, peer)
    } catch (thrown) {
      const why = errorMessage(thrown)
      if (this.#silent.get(region) !== why && !this.#stopping.signal.aborted)
        log.warn({ region, err: why }, 'the progress of a rollout in another region is unknown')
      this.#silent.set(region, why)
      return 'unknown'
    }
  }

  /** Undefined where the region does not have the job. */
  async #readPeer(region: string, job: Job): Promise<PeerState | undefined> {
    const body = await this.#read(region, jobUrl(job))
    if (body === null) return undefined
    const current = readPeerJob(body)
    const deployments = readPeerDeployments(await this.#read(region, jobUrl(job, '/deployments')))
    // Versions are large: only a region that has moved on is asked for those before.
    const hasMovedOn = current.SubmitTime > job.SubmitTime
    const listed = hasMovedOn ? await this.#read(region, jobUrl(job, '/versions')) : null
    const versions = listed === null ? [current] : readPeerVersions(listed)
    return { job: current, versions, deployments }
  }

  /** Null when there is none. */
  async #read(region: string, url: string): Promise<unknown> {
    const { client, token } = this.#options
    const { signal } = this.#stopping
    const call = { method: 'GET', url, hop: 'named', token, signal } as const
    const answer = await client.call(region, { ...call, answerMsMax: ANSWER_MS_MAX })
    if (answer.status === 404) return null
    const body: unknown = answer.status === 200 ? JSON.parse(answer.text) : undefined
    if (body !== undefined) return body
    throw new Fault('region-answer', `region "${region}" answered ${answer.status}`)
  }

  #applyDecision({ deployment, job }: Watched, decision: RolloutDecision): void {
    // It is held until an operator unblocks it or a new version comes: that is written once.
    if (decision === 'wait' || (decision === 'hold' && needsUnblocking(deployment))) return
    const { context, log } = this.#options
    const { tables } = context.store
    const rows: Record<Exclude<RolloutDecision, 'wait'>, (write: RolloutWrite) => Change[]> = {
      start: (write) => [
        put('deployments', resumeDeployment(deployment, write.stamp.timeMs)),
        ...rolloutEvaluation(tables, deployment, write),
      ],
      succeed: ({ stamp: { timeMs } }) => {
        const end = { status: 'successful', text: DEPLOYMENT_TEXTS.successful, timeMs } as const
        return [put('deployments', endDeployment(deployment, end))]
      },
      hold: ({ stamp: { timeMs } }) => [put('deployments', holdInRegion(deployment, timeMs))],
      fail: (write) => {
        // A deployment that has not begun has no groups yet, so the job decides.
        const reverts = job.TaskGroups.some(({ Update }) => Update?.AutoRevert === true)
        const text = DEPLOYMENT_TEXTS.failedElsewhere
        return failureRows(tables, planFailure(tables, deployment, { text, reverts }), write)
      },
    }
    const isEvaluated = decision === 'start' || decision === 'fail'
    const evalId = isEvaluated ? context.ids.uuid() : ''
    try {
      context.store.commit({
        by: 'system',
        cause: 'DeploymentStatusUpdate',
        changes: (stamp) =>
          withJobRows(tables, rows[decision]({ stamp, ids: context.ids, evalId })),
      })
      log.info({ deployment: deployment.ID, job: deployment.JobID, decision }, 'regions take turns')
    } catch (thrown) {
      // The storage has failed: the next round, or the next leader, decides the same.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'a deployment could not go on')
    }
  }
}

/** The progress of other regions matters to a running deployment only where they can fail it. */
function dependsOnPeers({ Status }: Deployment, { Multiregion }: Job): boolean {
  if (Status === 'pending' || Status === 'blocked') return true
  return Status === 'running' && Multiregion?.Strategy?.OnFailure === 'fail_all'
}

function jobUrl({ ID, Namespace }: Job, below = ''): string {
  return `/v1/job/${encodeURIComponent(ID)}${below}?namespace=${encodeURIComponent(Namespace)}`
}
