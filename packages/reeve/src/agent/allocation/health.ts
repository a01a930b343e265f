import type { TaskState } from '@reeve/contract'
import { formatDurationNs, msFromNs, nsFromMs } from '@reeve/kit/duration.ts'
import type { Assignment } from '../assignment.ts'
import { AGENT_LIMITS } from '../limits.ts'
import type { ChecksHealth } from '../services/checks-health.ts'
import { isPaused } from '../task/task-state.ts'
import { isSidecar, type Stage } from './lifecycle.ts'

/** What an allocation must show before it counts as healthy. */
export interface HealthRule {
  /** The deployment that asks; empty when none does, and only migrations want to know. */
  readonly deploymentId: string
  /** How long all its tasks must have run without a restart. */
  readonly minHealthyMs: number
  /** Whether the checks of its services must pass as well. */
  readonly usesChecks?: boolean
  /** How long it may take to get there. */
  readonly deadlineMs: number
}

/** What the verdict is made from, of each task. */
export interface JudgedTask {
  readonly name: string
  readonly stage: Stage
  readonly state: Pick<TaskState, 'State' | 'Failed' | 'StartedAt' | 'Paused'> &
    Partial<Pick<TaskState, 'Events'>>
}

export type HealthVerdict =
  | { readonly kind: 'healthy' }
  | { readonly kind: 'unhealthy'; readonly reasons: readonly UnhealthyTask[] }
  /** Nothing can be said before `nextMs` unless a task changes. */
  | { readonly kind: 'undecided'; readonly nextMs: number }

/** A task that kept its allocation from being healthy in time, and why. */
export interface UnhealthyTask {
  readonly task: string
  readonly reason: string
}

/**
 * Who is watched: allocations of a deployment by its rules, other services by those of migrations;
 * nobody whose health a person decides, and nobody whose health is known.
 */
export function healthRuleOf({ allocation, job, group }: Assignment): HealthRule | undefined {
  const deploymentId = allocation.DeploymentID ?? ''
  if (typeof allocation.DeploymentStatus?.Healthy === 'boolean') return undefined
  const isService = job.Type === 'service'
  const block = deploymentId !== '' ? group.Update : isService ? group.Migrate : undefined
  if (block === null || block === undefined || block.HealthCheck === 'manual') return undefined
  return {
    deploymentId,
    usesChecks: block.HealthCheck === 'checks',
    minHealthyMs: msFromNs(block.MinHealthyTime),
    deadlineMs: msFromNs(block.HealthyDeadline),
  }
}

interface HealthFacts {
  readonly nowMs: number
  /** When it began to be watched. */
  readonly sinceMs: number
  /** How the checks of its services stand; undefined where nobody runs them. */
  readonly checks?: ChecksHealth | undefined
}

/**
 * The time runs from the latest start of a task, so that a restart begins it anew; a task that will
 * not run again, and should, or that failed, is the end of it.
 */
export function judgeHealth(
  rule: HealthRule,
  tasks: readonly JudgedTask[],
  { nowMs, sinceMs, checks }: HealthFacts,
): HealthVerdict {
  const watched = tasks.filter((task) => task.stage !== 'poststop')
  if (watched.some(isLost)) return { kind: 'unhealthy', reasons: [] }
  const endMs = sinceMs + rule.deadlineMs
  const judged = rule.usesChecks === true ? checks : undefined
  // After the clock was set back, what began before lies ahead of it: then all the time counts.
  const sinceOf = (timeMs: number): number =>
    timeMs > nowMs && timeMs < Infinity ? sinceMs : timeMs
  const healthyMs =
    Math.max(sinceOf(startedMs(watched)), sinceOf(passingMs(judged))) + rule.minHealthyMs
  if (healthyMs <= nowMs) return { kind: 'healthy' }
  if (endMs <= nowMs) return { kind: 'unhealthy', reasons: lateReasons(watched, rule, judged) }
  return { kind: 'undecided', nextMs: Math.min(endMs, healthyMs) }
}

/** Without checks the rule for tasks is all there is. */
function passingMs(checks: ChecksHealth | undefined): number {
  return checks === undefined ? 0 : (checks.passingSinceMs ?? Infinity)
}

/** Failed for good, or ended though it should run as long as the allocation does. */
function isLost({ state, stage }: JudgedTask): boolean {
  if (state.State !== 'dead') return false
  return state.Failed || stage === 'main' || isSidecar(stage)
}

/** Since when all tasks have run; infinite while one of them has yet to begin. */
function startedMs(tasks: readonly JudgedTask[]): number {
  // What has done its work at the start or at the end is past its time; what its schedule holds
  // back is as it should be.
  const due = tasks.filter(({ state }) => state.State !== 'dead' && !isPaused(state))
  if (due.some(({ state }) => state.State === 'pending')) return Infinity
  const starts = due.map(({ state }) => Date.parse(state.StartedAt))
  return starts.reduce((latest, start) => Math.max(latest, start), 0)
}

function lateReasons(
  tasks: readonly JudgedTask[],
  rule: HealthRule,
  checks: ChecksHealth | undefined,
): readonly UnhealthyTask[] {
  const deadline = formatDurationNs(nsFromMs(rule.deadlineMs))
  const time = formatDurationNs(nsFromMs(rule.minHealthyMs))
  return tasks
    .filter(({ state }) => state.State !== 'dead')
    .map(({ name, state }) => ({
      task: name,
      reason:
        state.State === 'pending'
          ? `Task not running by healthy_deadline of ${deadline}${waitsFor(state)}`
          : (lateChecks(name, checks) ??
            `Task not running for min_healthy_time of ${time} by healthy_deadline of ${deadline}`),
    }))
}

/** Names the data that the templates of the task wait for, if that is the last thing it did. */
function waitsFor({ Events = [] }: JudgedTask['state']): string {
  const last = Events.at(-1)
  return last?.Type === 'Template' ? `: ${last.DisplayMessage}` : ''
}

/** What of a task's own checks, and of the group's, kept it back; undefined when none did. */
function lateChecks(task: string, checks: ChecksHealth | undefined): string | undefined {
  const late = (checks?.late ?? []).filter((one) => one.task === task || one.task === '')
  if (late.length === 0) return undefined
  const texts = late.map((one) => one.check + quoted(one))
  return `Services not healthy by deadline: ${texts.join(', ')}`
}

/** The status and the first line of what a check found; the first line of a page says nothing. */
function quoted({ output = '', statusCode }: ChecksHealth['late'][number]): string {
  const [first = ''] = output.trim().split('\n', 1)
  const line = first.startsWith('<') ? '' : first.slice(0, AGENT_LIMITS.quotedCheckCharsMax)
  const status = statusCode === undefined ? '' : `status ${statusCode}`
  const parts = [status, line].filter((part) => part !== '')
  return parts.length === 0 ? '' : ` (${parts.join(': ')})`
}
