import type { v2 } from '@reeve/contract'
import { shortDuration } from '../../format.ts'

export type StepState = 'upcoming' | 'current' | 'waiting' | 'done' | 'failed'

export interface RunStep {
  readonly name: 'Plan' | 'Policies' | 'Approval' | 'Apply'
  readonly state: StepState
  /** What happens in the step, or how long it took. */
  readonly text: string
}

type Attributes = Pick<v2.Run['attributes'], 'status' | 'status-timestamps' | 'plan-only'>
type Times = Attributes['status-timestamps']

/** Returns the steps of a run in their order; a plan-only run has no approval and no apply. */
export function runSteps(attributes: Attributes): readonly RunStep[] {
  const { 'status-timestamps': times, 'plan-only': isPlanOnly } = attributes
  const hasPolicies = POLICY_TIMES.some((name) => times[name] !== undefined)
  const steps = [planStep(attributes), ...(hasPolicies ? [policyStep(attributes)] : [])]
  return isPlanOnly ? steps : [...steps, approvalStep(attributes), applyStep(attributes)]
}

const POLICY_TIMES = ['post-plan-running-at', 'policy-checking-at'] as const

type StatusTexts = Readonly<Partial<Record<v2.RunStatus, string>>>

const PLANNING: StatusTexts = {
  pending: 'queued',
  plan_queued: 'waiting for a node',
  planning: 'in progress',
}

function planStep({ status, 'status-timestamps': times }: Attributes): RunStep {
  const current = PLANNING[status]
  if (current !== undefined) return { name: 'Plan', state: 'current', text: current }
  if (times['planned-at'] === undefined)
    return { name: 'Plan', state: 'failed', text: endText(status) }
  return { name: 'Plan', state: 'done', text: tookText(times, 'planning-at', 'planned-at') }
}

const EVALUATING: StatusTexts = {
  post_plan_running: 'being evaluated',
  policy_checking: 'being evaluated',
}
const OVERRIDABLE: StatusTexts = {
  post_plan_awaiting_decision: 'failed, override needed',
  policy_override: 'failed, override needed',
}

function policyStep({ status, 'status-timestamps': times }: Attributes): RunStep {
  const name = 'Policies'
  const evaluating = EVALUATING[status]
  if (evaluating !== undefined) return { name, state: 'current', text: evaluating }
  const failed = OVERRIDABLE[status]
  if (failed !== undefined) return { name, state: 'waiting', text: failed }
  const hasPassed =
    times['policy-checked-at'] !== undefined ||
    times['post-plan-completed-at'] !== undefined ||
    status === 'planned_and_finished' ||
    status === 'planned_and_saved'
  return hasPassed ? { name, state: 'done', text: '' } : { name, state: 'failed', text: 'failed' }
}

const CONFIRMABLE: ReadonlySet<v2.RunStatus> = new Set([
  'planned',
  'post_plan_completed',
  'policy_checked',
  'planned_and_saved',
])

function approvalStep({ status, 'status-timestamps': times }: Attributes): RunStep {
  const name = 'Approval'
  if (times['confirmed-at'] !== undefined) return { name, state: 'done', text: '' }
  if (CONFIRMABLE.has(status)) return { name, state: 'waiting', text: 'needed' }
  if (status === 'discarded') return { name, state: 'failed', text: 'discarded' }
  return { name, state: 'upcoming', text: status === 'planned_and_finished' ? 'not needed' : '' }
}

const APPLYING: StatusTexts = {
  confirmed: 'queued',
  apply_queued: 'waiting for a node',
  applying: 'in progress',
}

function applyStep({ status, 'status-timestamps': times }: Attributes): RunStep {
  const name = 'Apply'
  const current = APPLYING[status]
  if (current !== undefined) return { name, state: 'current', text: current }
  if (status === 'applied')
    return { name, state: 'done', text: tookText(times, 'applying-at', 'applied-at') }
  if (times['confirmed-at'] !== undefined) return { name, state: 'failed', text: endText(status) }
  return { name, state: 'upcoming', text: '' }
}

function endText(status: v2.RunStatus): string {
  return status.replaceAll('_', ' ')
}

/** Empty if the step was executed elsewhere. */
function tookText(times: Times, start: string, end: string): string {
  const [from, to] = [times[start], times[end]]
  return from === undefined || to === undefined
    ? ''
    : shortDuration(Date.parse(to) - Date.parse(from))
}
