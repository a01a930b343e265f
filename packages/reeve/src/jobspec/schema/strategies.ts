import {
  DisconnectStrategy,
  EphemeralDisk,
  MigrateStrategy,
  ReschedulePolicy,
  RestartPolicy,
  ScalingPolicy,
  UpdateStrategy,
} from '@reeve/contract'
import {
  setDefault,
  reportAt,
  takePseudoField,
  type RecordBuilder,
} from '../build/record-builder.ts'
import { bool, duration, opaque, int, mapBlock, string } from './block-mapping.ts'

export const UPDATE = mapBlock(UpdateStrategy, {
  attributes: {
    max_parallel: int(
      'MaxParallel',
      'Allocations replaced at the same time. 0 replaces all at once, without a deployment.',
    ),
    health_check: string(
      'HealthCheck',
      '`checks` waits for passing service checks, `task_states` for running tasks, `manual` for ' +
        'a call of the API.',
    ),
    min_healthy_time: duration(
      'MinHealthyTime',
      'Time for which an allocation must be healthy without interruption to count as healthy.',
    ),
    healthy_deadline: duration(
      'HealthyDeadline',
      'Time after which an allocation that is not healthy counts as unhealthy. More than ' +
        '`min_healthy_time`.',
    ),
    progress_deadline: duration(
      'ProgressDeadline',
      'Time without a newly healthy allocation after which the deployment fails. More than ' +
        '`healthy_deadline`. With 0 it fails as soon as an allocation fails and may not be ' +
        'rescheduled.',
    ),
    auto_revert: bool(
      'AutoRevert',
      'Returns to the last stable version when the deployment fails.',
    ),
    auto_promote: bool(
      'AutoPromote',
      'Promotes the canaries once all of them are healthy. Needs `canary`.',
    ),
    canary: int(
      'Canary',
      'Allocations of the new version started beside the old ones. They replace nothing until ' +
        'they are promoted.',
    ),
    stagger: duration('Stagger', 'No effect: `min_healthy_time` sets the pace.'),
  },
})

export const MIGRATE = mapBlock(MigrateStrategy, {
  attributes: {
    max_parallel: int('MaxParallel', 'Allocations moved at the same time when a node is drained.'),
    health_check: string('HealthCheck', '`checks` or `task_states`.'),
    min_healthy_time: duration(
      'MinHealthyTime',
      'Time for which a replacement must be healthy before the next allocation is moved.',
    ),
    healthy_deadline: duration(
      'HealthyDeadline',
      'Time after which a replacement that is not healthy no longer holds up the drain. More ' +
        'than `min_healthy_time`.',
    ),
  },
})

export const RESCHEDULE = mapBlock(ReschedulePolicy, {
  attributes: {
    attempts: int('Attempts', 'Replacements allowed within `interval`.'),
    interval: duration('Interval', 'Window in which attempts are counted, at least 15 s.'),
    delay: duration('Delay', 'Delay before the first replacement, at least 5 s.'),
    delay_function: string(
      'DelayFunction',
      'How the delay grows: `constant`, `exponential` or `fibonacci`.',
    ),
    max_delay: duration('MaxDelay', 'Upper bound of a growing delay, at least `delay`.'),
    unlimited: bool('Unlimited', 'Replaces a failed allocation without limit.'),
  },
})

export const RESTART = mapBlock(RestartPolicy, {
  attributes: {
    attempts: int('Attempts', 'Restarts allowed within `interval`.'),
    interval: duration(
      'Interval',
      'Window in which attempts are counted, at least 5 s and long enough for `attempts` ' +
        'restarts with their delay.',
    ),
    delay: duration('Delay', 'Delay before each restart, plus random jitter of up to 25 %.'),
    mode: string(
      'Mode',
      'Action after the last attempt: `fail` fails the allocation, which is then rescheduled; ' +
        '`delay` waits until the next interval.',
    ),
    render_templates: bool('RenderTemplates', 'No effect: templates are rendered at every start.'),
  },
})

export const DISCONNECT = mapBlock(DisconnectStrategy, {
  attributes: {
    lost_after: duration(
      'LostAfter',
      'Time after which an allocation on a disconnected node counts as lost. Until then it is ' +
        '`unknown` and may come back. 0 means as soon as the node is down.',
    ),
    stop_on_client_after: duration(
      'StopOnClientAfter',
      'Time after which the node itself stops the allocation while no server is reachable. Only ' +
        '`service` and `batch` jobs, not together with `lost_after`.',
    ),
    replace: bool('Replace', 'Starts a replacement while the node is disconnected.'),
    reconcile: string(
      'Reconcile',
      'Which one stays when the node comes back: `keep_original`, `keep_replacement`, ' +
        '`best_score` or `longest_running`.',
    ),
  },
})

export const EPHEMERAL_DISK = mapBlock(EphemeralDisk, {
  attributes: {
    sticky: bool('Sticky', 'Prefers the node of the previous allocation and keeps the data there.'),
    migrate: bool(
      'Migrate',
      'Copies the data to the new node when the allocation moves to another one.',
    ),
    size: int(
      'SizeMB',
      'Disk space in MiB for the allocation directory, at least 10 and more than the logs of each task may take, which is 100 by default.',
    ),
  },
})

const scaling = {
  attributes: {
    min: int('Min', 'Lower bound of the count. Defaults to the count of the group.'),
    max: int('Max', 'Required. Upper bound of the count.'),
    enabled: bool(
      'Enabled',
      'Whether an autoscaler should act on the policy. `reeve job scale` respects the bounds in ' +
        'either case.',
    ),
    type: string('Type', 'Type of the policy; follows from its place and label.'),
  },
  blocks: { policy: opaque('Policy') },
} as const

export const GROUP_SCALING = mapBlock(ScalingPolicy, {
  ...scaling,
  finish: (draft) => setDefault(draft, 'Type', 'horizontal'),
})

/** `scaling "cpu" { … }`: the label is the scaled resource of the task. */
export const TASK_SCALING = mapBlock(ScalingPolicy, {
  ...scaling,
  label: '@resource',
  finish: setPolicyType,
})

const SCALING_TYPES: ReadonlyMap<string, string> = new Map([
  ['cpu', 'vertical_cpu'],
  ['mem', 'vertical_mem'],
])

function setPolicyType(draft: RecordBuilder): void {
  const label = takePseudoField(draft, '@resource')
  const type = typeof label === 'string' ? SCALING_TYPES.get(label) : undefined
  if (type !== undefined) return setDefault(draft, 'Type', type)
  const detail = 'The label of a scaling block in a task is "cpu" or "mem".'
  reportAt(draft, '@resource', { summary: 'Invalid label', detail })
}
