import {
  DisconnectStrategy,
  EphemeralDisk,
  MigrateStrategy,
  ReschedulePolicy,
  RestartPolicy,
  ScalingPolicy,
  UpdateStrategy,
} from '@reeve/contract'
import { fallBack, refuse, take, type Draft } from '../build/draft.ts'
import { bool, duration, free, int, tableOf, text } from './table.ts'

export const UPDATE = tableOf(UpdateStrategy, {
  attributes: {
    max_parallel: int('MaxParallel'),
    health_check: text('HealthCheck'),
    min_healthy_time: duration('MinHealthyTime'),
    healthy_deadline: duration('HealthyDeadline'),
    progress_deadline: duration('ProgressDeadline'),
    auto_revert: bool('AutoRevert'),
    auto_promote: bool('AutoPromote'),
    canary: int('Canary'),
    stagger: duration('Stagger'),
  },
})

export const MIGRATE = tableOf(MigrateStrategy, {
  attributes: {
    max_parallel: int('MaxParallel'),
    health_check: text('HealthCheck'),
    min_healthy_time: duration('MinHealthyTime'),
    healthy_deadline: duration('HealthyDeadline'),
  },
})

export const RESCHEDULE = tableOf(ReschedulePolicy, {
  attributes: {
    attempts: int('Attempts'),
    interval: duration('Interval'),
    delay: duration('Delay'),
    delay_function: text('DelayFunction'),
    max_delay: duration('MaxDelay'),
    unlimited: bool('Unlimited'),
  },
})

export const RESTART = tableOf(RestartPolicy, {
  attributes: {
    attempts: int('Attempts'),
    interval: duration('Interval'),
    delay: duration('Delay'),
    mode: text('Mode'),
    render_templates: bool('RenderTemplates'),
  },
})

export const DISCONNECT = tableOf(DisconnectStrategy, {
  attributes: {
    lost_after: duration('LostAfter'),
    stop_on_client_after: duration('StopOnClientAfter'),
    replace: bool('Replace'),
    reconcile: text('Reconcile'),
  },
})

export const EPHEMERAL_DISK = tableOf(EphemeralDisk, {
  attributes: { sticky: bool('Sticky'), migrate: bool('Migrate'), size: int('SizeMB') },
})

const scaling = {
  attributes: {
    min: int('Min'),
    max: int('Max'),
    enabled: bool('Enabled'),
    type: text('Type'),
  },
  blocks: { policy: free('Policy') },
} as const

export const GROUP_SCALING = tableOf(ScalingPolicy, scaling)

/** `scaling "cpu" { … }`: the label says what of the task is scaled. */
export const TASK_SCALING = tableOf(ScalingPolicy, {
  ...scaling,
  label: '@resource',
  finish: nameType,
})

const TYPE_OF: ReadonlyMap<string, string> = new Map([
  ['cpu', 'vertical_cpu'],
  ['mem', 'vertical_mem'],
])

function nameType(draft: Draft): void {
  const label = take(draft, '@resource')
  const type = typeof label === 'string' ? TYPE_OF.get(label) : undefined
  if (type !== undefined) return fallBack(draft, 'Type', type)
  const detail = 'The label of a scaling block in a task is "cpu" or "mem".'
  refuse(draft, '@resource', { summary: 'Invalid label', detail })
}
