import {
  allocationHealth,
  type AllocationStub,
  type Deployment,
  type Evaluation,
  type Job,
} from '@reeve/contract'
import { readFailure } from '../alloc/failure-text.ts'
import { startedTasks } from '../alloc/started-tasks.ts'
import { holdText, needsUnblocking, placementPhase } from '../../model/index.ts'
import type { Invocation } from '../command.ts'
import { EXIT_CODES } from '../exit-code.ts'
import { metricsText } from '../plan/metrics-text.ts'
import { nextCommand } from '../plan/next-command.ts'
import { shortId } from '../output/table.ts'
import { RolloutLines } from './rollout-lines.ts'
import { rolloutText } from './rollout-text.ts'
import {
  hasEnded,
  lastMessage,
  unplacedGroups,
  waitsForPromotion,
  type RolloutState,
} from './rollout-state.ts'
import { Screen } from './screen.ts'

export interface Rollout {
  readonly namespace: string
  readonly jobId: string
  /** The evaluation that began it; empty when only the deployment is known. */
  readonly evalId: string
  readonly deploymentId?: string
  /** The job is being stopped: there is no deployment to wait for. */
  readonly isStopping?: boolean
}

export interface RolloutEnd {
  readonly code: number
  readonly state: RolloutState
}

/** Allocations whose failures are told. */
const TOLD_MAX = 5

/** Watches until nothing more happens by itself; Ctrl-C ends the watching and nothing else. */
export async function watchRollout(invocation: Invocation, rollout: Rollout): Promise<RolloutEnd> {
  const watch = new RolloutWatch(invocation, rollout)
  try {
    const code = await watch.run()
    return { code, state: watch.state }
  } catch (thrown) {
    watch.leave()
    if (!invocation.signal.aborted) throw thrown
    const { jobId, namespace } = rollout
    const again = nextCommand(invocation, ['job', 'status', '--watch', jobId], namespace)
    invocation.output.note(`The job keeps running. To watch it again:\n\n  ${again}`)
    return { code: EXIT_CODES.interrupted, state: watch.state }
  }
}

class RolloutWatch {
  state: RolloutState
  readonly #invocation: Invocation
  readonly #rollout: Rollout
  readonly #screen: Screen | undefined
  readonly #lines = new RolloutLines()

  constructor(invocation: Invocation, rollout: Rollout) {
    this.#invocation = invocation
    this.#rollout = rollout
    this.#screen = invocation.output.isLive ? new Screen(invocation.host) : undefined
    const { jobId } = rollout
    const waitsForRoom = invocation.flags.has('wait-for-capacity')
    const unknown = { evaluation: undefined, deployment: undefined, allocations: [] }
    this.state = { jobId, ...unknown, waitsForRoom }
  }

  async run(): Promise<number> {
    const { evalId, deploymentId, isStopping = false } = this.#rollout
    const evaluation = evalId === '' ? undefined : await this.#watchEvaluation(evalId)
    if (evaluation?.Status === 'failed') return this.#endFailedEvaluation(evaluation)
    const failed = Object.entries(evaluation?.FailedTGAllocs ?? {})
    if (evaluation !== undefined && failed.length > 0 && this.state.waitsForRoom !== true) {
      await this.#readAllocations(evaluation)
      return this.#endUnplaced(evaluation)
    }
    const id = deploymentId ?? (isStopping ? undefined : await this.#findDeployment(evaluation))
    if (id !== undefined) return await this.#watchDeployment(id)
    if (evaluation !== undefined && !isStopping) return await this.#watchPlaced(evaluation)
    this.leave()
    return EXIT_CODES.ok
  }

  /** Stops painting; what is painted stays. */
  leave(): void {
    const { host, output } = this.#invocation
    this.#screen?.end(rolloutText(this.state, output.paint, host.nowMs()))
  }

  #update(change: Partial<RolloutState>): void {
    this.state = { ...this.state, ...change }
    const { host, output } = this.#invocation
    const nowMs = host.nowMs()
    if (this.#screen !== undefined) this.#screen.paint(rolloutText(this.state, output.paint, nowMs))
    else for (const line of this.#lines.linesFor(this.state, nowMs)) output.say(line)
  }

  async #watchEvaluation(id: string): Promise<Evaluation> {
    const { client, signal } = this.#invocation
    const query = { namespace: this.#rollout.namespace }
    const answers = client.blocking('readEvaluation', { params: { eval_id: id }, query, signal })
    for await (const { data } of answers) {
      this.#update({ evaluation: data })
      if (data.Status !== 'pending') return data
    }
    throw new Error('a blocking query ends only by its signal')
  }

  async #readAllocations({ ID }: Evaluation): Promise<void> {
    const { client } = this.#invocation
    const { data } = await client.v1.listJobAllocations(this.#ofJob())
    this.#update({ allocations: data.filter(({ EvalID }) => EvalID === ID) })
  }

  #ofJob() {
    const { jobId, namespace } = this.#rollout
    return { params: { job_id: jobId }, query: { namespace } }
  }

  /** Jobs without a deployment: until every allocation has begun, or could not. */
  async #watchPlaced(evaluation: Evaluation): Promise<number> {
    const { client, signal } = this.#invocation
    const evaluations = await this.#placingEvaluations(evaluation)
    const answers = client.blocking('listJobAllocations', { ...this.#ofJob(), signal })
    for await (const { data } of answers) {
      const placed = data.filter(({ EvalID }) => evaluations.has(EvalID))
      this.#update({ allocations: placed })
      if (!placed.some(isBeginning)) break
    }
    const { data } = await client.v1.readJob(this.#ofJob())
    this.#noteHold(data)
    if (this.state.heldBack !== undefined) {
      this.leave()
      return EXIT_CODES.unplaced
    }
    if (this.state.allocations.length === 0) {
      const code = await this.#endFailedBefore(evaluation)
      if (code !== undefined) return code
    }
    this.leave()
    const failed = this.state.allocations.filter(({ ClientStatus }) => ClientStatus === 'failed')
    await this.#tellFailed(failed)
    return failed.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed
  }

  /** A version whose roll-out failed is not rolled out again: repeating it does nothing. */
  async #endFailedBefore({ JobModifyIndex }: Evaluation): Promise<number | undefined> {
    const { output, client } = this.#invocation
    const { data } = await client.v1.readLatestDeployment(this.#ofJob())
    if (data?.Status !== 'failed' || data.JobModifyIndex !== JobModifyIndex) return undefined
    this.#update({ deployment: data })
    await this.#readDeploymentAllocations(data.ID)
    const code = await this.#endDeployment(data)
    output.note(
      'Nothing was deployed: this version failed before and has not changed. ' +
        'Change the job, or run an earlier version:\n\n' +
        `  ${this.#next('job', 'history', this.#rollout.jobId)}`,
    )
    return code
  }

  /** The evaluation itself; of what waits for room, all until nothing waits any more. */
  async #placingEvaluations({ ID, CreateIndex }: Evaluation): Promise<ReadonlySet<string>> {
    if (unplacedGroups(this.state).length === 0) return new Set([ID])
    const { client, signal } = this.#invocation
    for await (const { data } of client.blocking('listJobEvaluations', {
      ...this.#ofJob(),
      signal,
    })) {
      const later = data.filter((one) => one.CreateIndex >= CreateIndex)
      if (!later.some(({ Status }) => Status === 'blocked' || Status === 'pending')) {
        return new Set(later.map((one) => one.ID))
      }
    }
    throw new Error('a blocking query ends only by its signal')
  }

  /** The one that the evaluation made or went on with; a superseded evaluation does not name it. */
  async #findDeployment(evaluation: Evaluation | undefined): Promise<string | undefined> {
    if (evaluation !== undefined && evaluation.DeploymentID !== '') return evaluation.DeploymentID
    const { data } = await this.#invocation.client.v1.readLatestDeployment(this.#ofJob())
    if (data === null) return undefined
    const isNew = evaluation === undefined || data.CreateIndex >= evaluation.CreateIndex
    return isNew || !hasEnded(data) ? data.ID : undefined
  }

  async #watchDeployment(id: string): Promise<number> {
    const ended = new AbortController()
    const signal = AbortSignal.any([this.#invocation.signal, ended.signal])
    const following = Promise.race([
      this.#followAllocations(id, signal),
      this.#followServices(signal),
      this.#followJob(signal),
    ])
    let deployment: Deployment | undefined
    try {
      deployment = await Promise.race([this.#followDeployment(id, signal), following])
    } finally {
      ended.abort()
      await following.catch(() => undefined)
    }
    if (deployment === undefined) throw new Error('a blocking query ends only by its signal')
    return await this.#endDeployment(deployment)
  }

  /** Until it has ended, or until only a person can go on with it. */
  async #followDeployment(id: string, signal: AbortSignal): Promise<Deployment | undefined> {
    const { client } = this.#invocation
    const query = { namespace: this.#rollout.namespace }
    const params = { deployment_id: id }
    for await (const { data } of client.blocking('readDeployment', { params, query, signal })) {
      const isOver = hasEnded(data) || needsUnblocking(data)
      // Its end is told last, after what became of the allocations.
      if (isOver) await this.#readDeploymentAllocations(id)
      this.#update({ deployment: data })
      if (isOver) return data
      await this.#readDeploymentAllocations(id)
      if (waitsForPromotion(data, this.state.allocations)) return data
    }
    return undefined
  }

  async #followAllocations(id: string, signal: AbortSignal): Promise<undefined> {
    const { client } = this.#invocation
    const query = { namespace: this.#rollout.namespace }
    const request = { params: { deployment_id: id }, query, signal }
    for await (const { data } of client.blocking('listDeploymentAllocations', request)) {
      this.#update({ allocations: data })
    }
    return undefined
  }

  /** Reports a failing check at once: the deadline that ends the wait may be minutes away. */
  async #followServices(signal: AbortSignal): Promise<undefined> {
    const { client } = this.#invocation
    const answers = client.blocking('listJobServices', { ...this.#ofJob(), signal })
    for await (const { data } of answers) this.#update({ services: data })
    return undefined
  }

  /** A node that is lost with the job delays or quarantines it: that is said while it waits. */
  async #followJob(signal: AbortSignal): Promise<undefined> {
    const { client } = this.#invocation
    for await (const { data } of client.blocking('readJob', { ...this.#ofJob(), signal }))
      this.#noteHold(data)
    return undefined
  }

  #noteHold(job: Job): void {
    const text = holdText(placementPhase(job, this.#invocation.host.nowMs()), job)
    if (text === this.state.heldBack) return
    const { heldBack: _before, ...state } = this.state
    this.state = state
    this.#update(text === undefined ? {} : { heldBack: text })
  }

  async #readDeploymentAllocations(id: string): Promise<void> {
    const query = { namespace: this.#rollout.namespace }
    const params = { deployment_id: id }
    const { data } = await this.#invocation.client.v1.listDeploymentAllocations({ params, query })
    this.#update({ allocations: data })
  }

  #endFailedEvaluation({ StatusDescription, NextEval }: Evaluation): number {
    this.leave()
    const { output } = this.#invocation
    output.note(`The evaluation failed: ${StatusDescription}.`)
    if (NextEval !== '') output.note(`It is retried as evaluation ${shortId(NextEval)}.`)
    return EXIT_CODES.failed
  }

  #endUnplaced({ FailedTGAllocs }: Evaluation): number {
    this.leave()
    const { output } = this.#invocation
    const { jobId } = this.#rollout
    for (const [name, metrics] of Object.entries(FailedTGAllocs ?? {}))
      output.note(metricsText(name, metrics, output.paint))
    output.note(
      'They will be placed when capacity is available. To see what is missing:\n\n' +
        `  ${this.#next('job', 'explain', jobId)}`,
    )
    return EXIT_CODES.unplaced
  }

  async #endDeployment(deployment: Deployment): Promise<number> {
    this.leave()
    const { output } = this.#invocation
    const { jobId } = this.#rollout
    if (deployment.Status === 'successful') return EXIT_CODES.ok
    if (needsUnblocking(deployment)) {
      output.note(
        'It is complete here and failed in another region. To end it here without the others:\n\n' +
          `  ${this.#next('deployment', 'unblock', shortId(deployment.ID))}`,
      )
      return EXIT_CODES.failed
    }
    if (!hasEnded(deployment)) {
      output.note(
        `The canaries are healthy. To promote them:\n\n  ${this.#next('job', 'promote', jobId)}`,
      )
      return EXIT_CODES.ok
    }
    output.note(`The deployment is ${deployment.Status}: ${deployment.StatusDescription}.`)
    await this.#tellFailed(this.state.allocations.filter(isUnhealthy))
    return EXIT_CODES.failed
  }

  /** Why they failed, and how to see more of it. */
  async #tellFailed(allocations: readonly AllocationStub[]): Promise<void> {
    const { host, output } = this.#invocation
    for (const one of allocations.slice(0, TOLD_MAX)) {
      const health = allocationHealth(one, host.nowMs())
      output.note(`Allocation ${shortId(one.ID)} is ${health}: ${lastMessage(one)}`)
    }
    const [first] = allocations
    if (first === undefined) return
    const id = shortId(first.ID)
    const { Lines = [], LinesFrom = '' } = (await readFailure(this.#invocation, first)) ?? {}
    if (Lines.length > 0)
      output.note(`Last lines of ${LinesFrom}:\n${Lines.map((line) => `    ${line}`).join('\n')}`)
    output.note(
      startedTasks(first).length === 0
        ? `It never started. To see its events:\n\n  ${this.#next('alloc', 'status', id)}`
        : `To see its logs:\n\n  ${this.#next('alloc', 'logs', '--stderr', id)}`,
    )
  }

  #next(...words: readonly string[]): string {
    return nextCommand(this.#invocation, words, this.#rollout.namespace)
  }
}

function isBeginning({ ClientStatus, DesiredStatus }: AllocationStub): boolean {
  return ClientStatus === 'pending' && DesiredStatus === 'run'
}

function isUnhealthy({ ClientStatus, DeploymentStatus }: AllocationStub): boolean {
  return ClientStatus === 'failed' || DeploymentStatus?.Healthy === false
}
