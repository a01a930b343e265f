import type { Deployment, Job } from '@reeve/contract'
import type { Clock } from '@reeve/kit/clock.ts'
import { msFromNs } from '@reeve/kit/duration.ts'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import type { Logger } from '@reeve/kit/log.ts'
import {
  DEPLOYMENT_DESCRIPTIONS,
  endDeployment,
  requireUnblock,
  isActiveDeployment,
  hasMultiregionStrategy,
  isRegionalRollback,
  isCurrentDeployment,
  isAwaitingUnblock,
  resumeDeployment,
} from '../../model/index.ts'
import {
  failureRows,
  namespacedKey,
  decideFailure,
  put,
  deploymentEvaluation,
  withDerivedRows,
  type Change,
  type Commit,
  type DeploymentWrite,
} from '../../state/index.ts'
import type { WorkloadContext } from '../../workload/index.ts'
import type { RegionClient } from '../region-client.ts'
import {
  decideRollout,
  parsePeerDeployments,
  parsePeerJob,
  parsePeerVersions,
  type PeerProgress,
  peerProgress,
  type PeerState,
  type RolloutDecision,
} from './decide-rollout.ts'

/** Interval at which regions poll each other during a rollout. */
const POLL_MS = 500
/** Deployments that are polled per round; the others follow in the next round. */
const DEPLOYMENTS_PER_POLL = 50
const RESPONSE_TIMEOUT_MS = 5_000

interface RolloutLoopOptions {
  readonly context: WorkloadContext
  readonly client: Pick<RegionClient, 'request'>
  /** Secret of a token that may read jobs in every region; empty if ACLs are off. */
  readonly token: string
  readonly log: Pick<Logger, 'info' | 'warn'>
}

/** A multi-region deployment and its job. */
interface MultiregionDeployment {
  readonly deployment: Deployment
  readonly job: Job
}

/**
 * Advances the deployments of this region according to those of the other regions of their jobs.
 * Every region decides only about its own; the loop's only state is the list of deployments to
 * poll.
 */
export class RolloutLoop {
  readonly #options: RolloutLoopOptions
  readonly #watched = new Set<string>()
  /** The last logged error of each unreachable region, so that it is logged once. */
  readonly #loggedErrors = new Map<string, string>()
  readonly #stopping = new AbortController()
  #unsubscribe: () => void = () => undefined
  #cancelTimer: (() => void) | undefined
  #polling: Promise<void> = Promise.resolve()

  constructor(options: RolloutLoopOptions) {
    this.#options = options
  }

  start(): void {
    const { store } = this.#options.context
    this.#unsubscribe = store.log.subscribe((commits) => this.#onCommits(commits))
    for (const id of store.tables.deployments.keys()) this.#watchIfActive(id)
    this.#schedulePoll()
  }

  async stop(): Promise<void> {
    this.#unsubscribe()
    this.#stopping.abort()
    this.#cancelTimer?.()
    await this.#polling
  }

  #onCommits(commits: readonly Commit[]): void {
    for (const { rows } of commits)
      for (const { table, key } of rows) if (table === 'deployments') this.#watchIfActive(key)
    this.#schedulePoll()
  }

  #watchIfActive(id: string): void {
    const row = this.#options.context.store.tables.deployments.find(id)
    if (row?.IsMultiregion === true && isActiveDeployment(row)) this.#watched.add(id)
  }

  #schedulePoll(): void {
    if (this.#watched.size === 0 || this.#stopping.signal.aborted) return
    const { clock }: { readonly clock: Clock } = this.#options.context
    this.#cancelTimer ??= clock.after(POLL_MS, () => {
      this.#polling = this.#poll().finally(() => {
        this.#cancelTimer = undefined
        this.#schedulePoll()
      })
    })
  }

  async #poll(): Promise<void> {
    const ids = [...this.#watched].slice(0, DEPLOYMENTS_PER_POLL)
    for (const id of ids) {
      // Move it to the end, so that the next round starts with the others.
      this.#watched.delete(id)
      const watched = this.#findActive(id)
      if (watched === undefined) continue
      this.#watched.add(id)
      await this.#evaluate(watched)
    }
  }

  #findActive(id: string): MultiregionDeployment | undefined {
    const { tables } = this.#options.context.store
    const deployment = tables.deployments.find(id)
    if (deployment === undefined || !isActiveDeployment(deployment)) return undefined
    const job = tables.jobs.find(namespacedKey(deployment.Namespace, deployment.JobID))
    const isCoordinatedRollout =
      job !== undefined && hasMultiregionStrategy(job) && isCurrentDeployment(deployment, job)
    return isCoordinatedRollout ? { deployment, job } : undefined
  }

  async #evaluate({ deployment, job }: MultiregionDeployment): Promise<void> {
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
      others.map(async ({ Name }) => peers.set(Name, await this.#readProgress(Name, job, ageMs))),
    )
    if (this.#stopping.signal.aborted) return
    const decision = decideRollout({ status, region, multiregion, peers })
    // The deployment may have changed during the requests.
    if (store.tables.deployments.find(deployment.ID)?.ModifyIndex !== deployment.ModifyIndex) return
    this.#applyDecision({ deployment, job }, decision)
  }

  async #readProgress(region: string, job: Job, ageMs: number): Promise<PeerProgress> {
    const { log } = this.#options
    try {
      const peer = await this.#readPeer(region, job)
      this.#loggedErrors.delete(region)
      return peerProgress(job, ageMs, peer)
    } catch (thrown) {
      const problem = errorMessage(thrown)
      if (this.#loggedErrors.get(region) !== problem && !this.#stopping.signal.aborted)
        log.warn({ region, err: problem }, 'the progress of a rollout in another region is unknown')
      this.#loggedErrors.set(region, problem)
      return 'unknown'
    }
  }

  /** Undefined if the region does not have the job. */
  async #readPeer(region: string, job: Job): Promise<PeerState | undefined> {
    const body = await this.#read(region, jobUrl(job))
    if (body === null) return undefined
    const current = parsePeerJob(body)
    const deployments = parsePeerDeployments(await this.#read(region, jobUrl(job, '/deployments')))
    // Versions are large: they are read only from a region with a newer version.
    const hasMovedOn = current.SubmitTime > job.SubmitTime
    const listed = hasMovedOn ? await this.#read(region, jobUrl(job, '/versions')) : null
    const versions = listed === null ? [current] : parsePeerVersions(listed)
    return { job: current, versions, deployments }
  }

  /** Null if it does not exist. */
  async #read(region: string, url: string): Promise<unknown> {
    const { client, token } = this.#options
    const { signal } = this.#stopping
    const request = { method: 'GET', url, forwardReason: 'named', token, signal } as const
    const response = await client.request(region, {
      ...request,
      responseTimeoutMs: RESPONSE_TIMEOUT_MS,
    })
    if (response.status === 404) return null
    const body: unknown = response.status === 200 ? JSON.parse(response.text) : undefined
    if (body !== undefined) return body
    throw new Fault('region-answer', `region "${region}" answered ${response.status}`)
  }

  #applyDecision({ deployment, job }: MultiregionDeployment, decision: RolloutDecision): void {
    // A held deployment waits for an operator or a new version; it is written once.
    if (decision === 'wait' || (decision === 'hold' && isAwaitingUnblock(deployment))) return
    const { context, log } = this.#options
    const { tables } = context.store
    const rows: Record<Exclude<RolloutDecision, 'wait'>, (write: DeploymentWrite) => Change[]> = {
      start: (write) => [
        put('deployments', resumeDeployment(deployment, write.stamp.timeMs)),
        ...deploymentEvaluation(tables, deployment, write),
      ],
      succeed: ({ stamp: { timeMs } }) => {
        const end = {
          status: 'successful',
          description: DEPLOYMENT_DESCRIPTIONS.successful,
          timeMs,
        } as const
        return [put('deployments', endDeployment(deployment, end))]
      },
      hold: ({ stamp: { timeMs } }) => [put('deployments', requireUnblock(deployment, timeMs))],
      fail: (write) => {
        // A deployment that has not started has no groups yet, so the job decides.
        const reverts = job.TaskGroups.some(({ Update }) => Update?.AutoRevert === true)
        const text = DEPLOYMENT_DESCRIPTIONS.failedInOtherRegion
        return failureRows(
          tables,
          decideFailure(tables, deployment, { description: text, hasAutoRevert: reverts }),
          write,
        )
      },
    }
    const isEvaluated = decision === 'start' || decision === 'fail'
    const evalId = isEvaluated ? context.ids.uuid() : ''
    try {
      context.store.commit({
        by: 'system',
        cause: 'DeploymentStatusUpdate',
        changes: (stamp) =>
          withDerivedRows(tables, rows[decision]({ stamp, ids: context.ids, evalId })),
      })
      log.info(
        { deployment: deployment.ID, job: deployment.JobID, decision },
        'applied a rollout decision',
      )
    } catch (thrown) {
      // The storage failed: the next round, or the next leader, decides again.
      if (!(thrown instanceof Fault)) throw thrown
      log.warn({ err: errorMessage(thrown) }, 'a deployment could not go on')
    }
  }
}

/** A running deployment depends on other regions only if they can fail it. */
function dependsOnPeers({ Status }: Deployment, { Multiregion }: Job): boolean {
  if (Status === 'pending' || Status === 'blocked') return true
  return Status === 'running' && Multiregion?.Strategy?.OnFailure === 'fail_all'
}

function jobUrl({ ID, Namespace }: Job, suffix = ''): string {
  return `/v1/job/${encodeURIComponent(ID)}${suffix}?namespace=${encodeURIComponent(Namespace)}`
}
