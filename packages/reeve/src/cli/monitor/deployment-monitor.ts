import {
  allocationHealth,
  type AllocationStub,
  type Deployment,
  type Evaluation,
  type Job,
} from '@reeve/contract'
import { readFailureReport } from '../alloc/allocation-text.ts'
import { startedTasks } from '../alloc/streams.ts'
import { placementHoldReason, isAwaitingUnblock, placementPhase } from '../../model/index.ts'
import type { CommandContext } from '../command.ts'
import { EXIT_CODES } from '../errors.ts'
import type { CliHost } from '../host.ts'
import { truncateToWidth, displayWidth } from '../output/color.ts'
import { formatPlacementFailure } from '../plan/placement-failures.ts'
import { suggestCommand } from '../plan/suggest-command.ts'
import { shortenId } from '../output/format.ts'
import { escapeTerminalControls } from '../output/printable.ts'
import {
  DeploymentLines,
  type DeploymentProgress,
  formatDeploymentProgress,
  hasEnded,
  lastMessage,
  unplacedGroups,
  waitsForPromotion,
} from './deployment-text.ts'

export interface MonitoredDeployment {
  readonly namespace: string
  readonly jobId: string
  /** The evaluation of the change; empty if only the deployment is known. */
  readonly evalId: string
  readonly deploymentId?: string
  /** The job is being stopped: there is no deployment to wait for. */
  readonly isStopping?: boolean
}

interface MonitorResult {
  readonly code: number
  readonly state: DeploymentProgress
}

/** Number of failed allocations that are reported. */
const REPORTED_FAILURES_MAX = 5

/** Monitors a deployment until it settles. Ctrl-C stops only the monitoring. */
export async function monitorDeployment(
  invocation: CommandContext,
  rollout: MonitoredDeployment,
): Promise<MonitorResult> {
  const watch = new DeploymentMonitor(invocation, rollout)
  try {
    const code = await watch.run()
    return { code, state: watch.state }
  } catch (thrown) {
    watch.stop()
    if (!invocation.signal.aborted) throw thrown
    const { jobId, namespace } = rollout
    const again = suggestCommand(invocation, ['job', 'status', '--watch', jobId], namespace)
    invocation.output.printNotice(`The job keeps running. To watch it again:\n\n  ${again}`)
    return { code: EXIT_CODES.interrupted, state: watch.state }
  }
}

class DeploymentMonitor {
  state: DeploymentProgress
  readonly #invocation: CommandContext
  readonly #target: MonitoredDeployment
  readonly #screen: LiveRegion | undefined
  readonly #lines = new DeploymentLines()

  constructor(invocation: CommandContext, rollout: MonitoredDeployment) {
    this.#invocation = invocation
    this.#target = rollout
    this.#screen = invocation.output.canRedraw ? new LiveRegion(invocation.host) : undefined
    const { jobId } = rollout
    const waitsForRoom = invocation.flags.has('wait-for-capacity')
    const unknown = { evaluation: undefined, deployment: undefined, allocations: [] }
    this.state = { jobId, ...unknown, waitsForRoom }
  }

  async run(): Promise<number> {
    const { evalId, deploymentId, isStopping = false } = this.#target
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
    this.stop()
    return EXIT_CODES.ok
  }

  /** Stops redrawing and leaves the last state on the screen. */
  stop(): void {
    const { host, output } = this.#invocation
    this.#screen?.end(formatDeploymentProgress(this.state, output.paint, host.nowMs()))
  }

  #update(change: Partial<DeploymentProgress>): void {
    this.state = { ...this.state, ...change }
    const { host, output } = this.#invocation
    const nowMs = host.nowMs()
    if (this.#screen !== undefined)
      this.#screen.redraw(formatDeploymentProgress(this.state, output.paint, nowMs))
    else for (const line of this.#lines.changedLines(this.state, nowMs)) output.printLine(line)
  }

  async #watchEvaluation(id: string): Promise<Evaluation> {
    const { client, signal } = this.#invocation
    const query = { namespace: this.#target.namespace }
    const answers = client.blocking('readEvaluation', { params: { eval_id: id }, query, signal })
    for await (const { data } of answers) {
      this.#update({ evaluation: data })
      if (data.Status !== 'pending') return data
    }
    throw new Error('a blocking query ends only by its signal')
  }

  async #readAllocations({ ID }: Evaluation): Promise<void> {
    const { client } = this.#invocation
    const { data } = await client.v1.listJobAllocations(this.#jobRequest())
    this.#update({ allocations: data.filter(({ EvalID }) => EvalID === ID) })
  }

  #jobRequest() {
    const { jobId, namespace } = this.#target
    return { params: { job_id: jobId }, query: { namespace } }
  }

  /** Monitors a job without deployment until all allocations have started or failed. */
  async #watchPlaced(evaluation: Evaluation): Promise<number> {
    const { client, signal } = this.#invocation
    const evaluations = await this.#placingEvaluations(evaluation)
    const answers = client.blocking('listJobAllocations', { ...this.#jobRequest(), signal })
    for await (const { data } of answers) {
      const placed = data.filter(({ EvalID }) => evaluations.has(EvalID))
      this.#update({ allocations: placed })
      if (!placed.some(isPending)) break
    }
    const { data } = await client.v1.readJob(this.#jobRequest())
    this.#updateHoldReason(data)
    if (this.state.heldBack !== undefined) {
      this.stop()
      return EXIT_CODES.unplaced
    }
    if (this.state.allocations.length === 0) {
      const code = await this.#endFailedBefore(evaluation)
      if (code !== undefined) return code
    }
    this.stop()
    const failed = this.state.allocations.filter(({ ClientStatus }) => ClientStatus === 'failed')
    await this.#reportFailed(failed)
    return failed.length === 0 ? EXIT_CODES.ok : EXIT_CODES.failed
  }

  /** Reports that this version failed before and is therefore not deployed again. */
  async #endFailedBefore({ JobModifyIndex }: Evaluation): Promise<number | undefined> {
    const { output, client } = this.#invocation
    const { data } = await client.v1.readLatestDeployment(this.#jobRequest())
    if (data?.Status !== 'failed' || data.JobModifyIndex !== JobModifyIndex) return undefined
    this.#update({ deployment: data })
    await this.#readDeploymentAllocations(data.ID)
    const code = await this.#endDeployment(data)
    output.printNotice(
      'Nothing was deployed: this version failed before and has not changed. ' +
        'Change the job, or run an earlier version:\n\n' +
        `  ${this.#suggest('job', 'history', this.#target.jobId)}`,
    )
    return code
  }

  /** Returns the evaluation, and with placement failures the later ones until none is blocked. */
  async #placingEvaluations({ ID, CreateIndex }: Evaluation): Promise<ReadonlySet<string>> {
    if (unplacedGroups(this.state).length === 0) return new Set([ID])
    const { client, signal } = this.#invocation
    for await (const { data } of client.blocking('listJobEvaluations', {
      ...this.#jobRequest(),
      signal,
    })) {
      const later = data.filter((one) => one.CreateIndex >= CreateIndex)
      if (!later.some(({ Status }) => Status === 'blocked' || Status === 'pending')) {
        return new Set(later.map((one) => one.ID))
      }
    }
    throw new Error('a blocking query ends only by its signal')
  }

  /**
   * Finds the deployment that the evaluation created or continued; a superseded evaluation does not
   * name it.
   */
  async #findDeployment(evaluation: Evaluation | undefined): Promise<string | undefined> {
    if (evaluation !== undefined && evaluation.DeploymentID !== '') return evaluation.DeploymentID
    const { data } = await this.#invocation.client.v1.readLatestDeployment(this.#jobRequest())
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

  /** Follows the deployment until it ends or needs a manual action. */
  async #followDeployment(id: string, signal: AbortSignal): Promise<Deployment | undefined> {
    const { client } = this.#invocation
    const query = { namespace: this.#target.namespace }
    const params = { deployment_id: id }
    for await (const { data } of client.blocking('readDeployment', { params, query, signal })) {
      const isOver = hasEnded(data) || isAwaitingUnblock(data)
      // The final status is printed after the allocations.
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
    const query = { namespace: this.#target.namespace }
    const request = { params: { deployment_id: id }, query, signal }
    for await (const { data } of client.blocking('listDeploymentAllocations', request)) {
      this.#update({ allocations: data })
    }
    return undefined
  }

  /** Reports a failing check at once: the deadline that ends the wait may be minutes away. */
  async #followServices(signal: AbortSignal): Promise<undefined> {
    const { client } = this.#invocation
    const answers = client.blocking('listJobServices', { ...this.#jobRequest(), signal })
    for await (const { data } of answers) this.#update({ services: data })
    return undefined
  }

  /** Reports delays and quarantine after the loss of a node while the deployment waits. */
  async #followJob(signal: AbortSignal): Promise<undefined> {
    const { client } = this.#invocation
    for await (const { data } of client.blocking('readJob', { ...this.#jobRequest(), signal }))
      this.#updateHoldReason(data)
    return undefined
  }

  #updateHoldReason(job: Job): void {
    const text = placementHoldReason(placementPhase(job, this.#invocation.host.nowMs()), job)
    if (text === this.state.heldBack) return
    const { heldBack: _before, ...state } = this.state
    this.state = state
    this.#update(text === undefined ? {} : { heldBack: text })
  }

  async #readDeploymentAllocations(id: string): Promise<void> {
    const query = { namespace: this.#target.namespace }
    const params = { deployment_id: id }
    const { data } = await this.#invocation.client.v1.listDeploymentAllocations({ params, query })
    this.#update({ allocations: data })
  }

  #endFailedEvaluation({ StatusDescription, NextEval }: Evaluation): number {
    this.stop()
    const { output } = this.#invocation
    output.printNotice(`The evaluation failed: ${StatusDescription}.`)
    if (NextEval !== '') output.printNotice(`It is retried as evaluation ${shortenId(NextEval)}.`)
    return EXIT_CODES.failed
  }

  #endUnplaced({ FailedTGAllocs }: Evaluation): number {
    this.stop()
    const { output } = this.#invocation
    const { jobId } = this.#target
    for (const [name, metrics] of Object.entries(FailedTGAllocs ?? {}))
      output.printNotice(formatPlacementFailure(name, metrics, output.paint))
    output.printNotice(
      'They will be placed when capacity is available. To see what is missing:\n\n' +
        `  ${this.#suggest('job', 'explain', jobId)}`,
    )
    return EXIT_CODES.unplaced
  }

  async #endDeployment(deployment: Deployment): Promise<number> {
    this.state = { ...this.state, isReported: deployment.Status === 'failed' }
    this.stop()
    const { output } = this.#invocation
    const { jobId } = this.#target
    if (deployment.Status === 'successful') return EXIT_CODES.ok
    if (isAwaitingUnblock(deployment)) {
      output.printNotice(
        'It is complete here and failed in another region. To end it here without the others:\n\n' +
          `  ${this.#suggest('deployment', 'unblock', shortenId(deployment.ID))}`,
      )
      return EXIT_CODES.failed
    }
    if (!hasEnded(deployment)) {
      output.printNotice(
        `The canaries are healthy. To promote them:\n\n  ${this.#suggest('job', 'promote', jobId)}`,
      )
      return EXIT_CODES.ok
    }
    output.printNotice(deploymentEndText(deployment))
    await this.#reportFailed(
      this.state.allocations.filter(isUnhealthy),
      deployment.StatusDescription,
    )
    return EXIT_CODES.failed
  }

  /**
   * Reports failed allocations with log lines and the commands for details. The reason of an
   * allocation that `known` names was printed.
   */
  async #reportFailed(allocations: readonly AllocationStub[], known = ''): Promise<void> {
    const { host, output } = this.#invocation
    for (const one of allocations.slice(0, REPORTED_FAILURES_MAX)) {
      if (known.includes(shortenId(one.ID))) continue
      const health = allocationHealth(one, host.nowMs())
      output.printNotice(`Allocation ${shortenId(one.ID)} is ${health}: ${lastMessage(one)}`)
    }
    const [first] = allocations
    if (first === undefined) return
    const id = shortenId(first.ID)
    const { Lines = [], LinesFrom = '' } = (await readFailureReport(this.#invocation, first)) ?? {}
    if (Lines.length > 0)
      output.printNotice(
        `Last lines of ${LinesFrom}:\n${Lines.map((line) => `    ${line}`).join('\n')}`,
      )
    output.printNotice(
      startedTasks(first).length === 0
        ? `It never started. To see its events:\n\n  ${this.#suggest('alloc', 'status', id)}`
        : `To see its logs:\n\n  ${this.#suggest('alloc', 'logs', '--stderr', id)}`,
    )
  }

  #suggest(...words: readonly string[]): string {
    return suggestCommand(this.#invocation, words, this.#target.namespace)
  }
}

/** `The deployment failed due to progress deadline: allocation …`. */
function deploymentEndText({ Status, StatusDescription }: Deployment): string {
  const text = StatusDescription.replace(/\.$/, '')
  return text.startsWith('Failed ')
    ? `The deployment failed ${text.slice('Failed '.length)}.`
    : `The deployment is ${Status}: ${text}.`
}

function isPending({ ClientStatus, DesiredStatus }: AllocationStub): boolean {
  return ClientStatus === 'pending' && DesiredStatus === 'run'
}

function isUnhealthy({ ClientStatus, DeploymentStatus }: AllocationStub): boolean {
  return ClientStatus === 'failed' || DeploymentStatus?.Healthy === false
}

const HIDE_CURSOR = '\u001b[?25l'
const SHOW_CURSOR = '\u001b[?25h'

type ScreenHost = Pick<CliHost, 'out' | 'columns' | 'rows'>

/** Lines at the end of the output that are redrawn on changes. */
export class LiveRegion {
  readonly #host: ScreenHost
  #drawnLines: readonly string[] = []

  constructor(host: ScreenHost) {
    this.#host = host
  }

  /** Replaces the previous text. */
  redraw(text: string): void {
    const columns = this.#host.columns()
    // Wrapped lines and lines above the window cannot be overwritten.
    const rows = Math.max(1, this.#host.rows() - 1)
    const all = escapeTerminalControls(text).replace(/\n$/, '').split('\n')
    const lines = all.slice(0, rows).map((line) => truncateToWidth(line, columns))
    if (
      lines.length === this.#drawnLines.length &&
      lines.every((line, at) => line === this.#drawnLines[at])
    )
      return
    const begin = this.#drawnLines.length === 0 ? HIDE_CURSOR : cursorUp(this.#drawnLines.length)
    const body = lines.map((line) => `${line}\u001b[K\n`).join('')
    // Clears the rest of a longer previous text.
    this.#host.out(`${begin}${body}\u001b[J`)
    this.#drawnLines = lines
  }

  /** Prints the final text and shows the cursor again. */
  end(text?: string): void {
    if (this.#drawnLines.length > 0) {
      if (text !== undefined) this.#host.out(`${cursorUp(this.#drawnLines.length)}\u001b[J`)
      this.#host.out(SHOW_CURSOR)
    }
    if (text !== undefined && displayWidth(text) > 0) {
      const shown = escapeTerminalControls(text)
      this.#host.out(shown.endsWith('\n') ? shown : `${shown}\n`)
    }
    this.#drawnLines = []
  }
}

function cursorUp(lines: number): string {
  return `\u001b[${lines}A\r`
}
