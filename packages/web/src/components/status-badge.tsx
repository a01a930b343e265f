import { Icon, type IconName } from './icon.tsx'

interface StatusBadgeProps {
  /** A status of the API, such as `running`. */
  readonly state: string
  /** Replaces the displayed text. */
  readonly text?: string
  /** Description, shown as a tooltip. */
  readonly title?: string | undefined
}

/** A status as text, icon and colour. */
export function StatusBadge({ state, text, title }: StatusBadgeProps) {
  const { tone, icon } = statusStyle(state)
  return (
    <span className={`badge tone-${tone}`} title={title}>
      <Icon name={icon} />
      {text ?? state}
    </span>
  )
}

/** Meanings of the status colours. */
export type Tone = 'good' | 'busy' | 'done' | 'bad' | 'warn' | 'idle'

export interface StatusStyle {
  readonly tone: Tone
  readonly icon: IconName
}

/**
 * Style of each status of the API. A status has the same style for all resources.
 */
const STATUS_STYLES: Readonly<Record<string, StatusStyle>> = {
  running: { tone: 'good', icon: 'running' },
  ready: { tone: 'good', icon: 'running' },
  eligible: { tone: 'good', icon: 'complete' },
  passing: { tone: 'good', icon: 'complete' },
  passed: { tone: 'good', icon: 'complete' },
  healthy: { tone: 'good', icon: 'complete' },
  successful: { tone: 'good', icon: 'complete' },
  applied: { tone: 'good', icon: 'complete' },
  pending: { tone: 'busy', icon: 'pending' },
  initializing: { tone: 'busy', icon: 'pending' },
  blocked: { tone: 'warn', icon: 'warning' },
  unblocking: { tone: 'busy', icon: 'pending' },
  queued: { tone: 'busy', icon: 'pending' },
  planning: { tone: 'busy', icon: 'pending' },
  draining: { tone: 'warn', icon: 'warning' },
  ineligible: { tone: 'warn', icon: 'paused' },
  paused: { tone: 'warn', icon: 'paused' },
  unknown: { tone: 'warn', icon: 'unknown' },
  disconnected: { tone: 'warn', icon: 'unknown' },
  complete: { tone: 'done', icon: 'complete' },
  dead: { tone: 'idle', icon: 'stopped' },
  stopped: { tone: 'idle', icon: 'stopped' },
  canceled: { tone: 'idle', icon: 'stopped' },
  cancelled: { tone: 'idle', icon: 'stopped' },
  discarded: { tone: 'idle', icon: 'stopped' },
  skipped: { tone: 'idle', icon: 'stopped' },
  failed: { tone: 'bad', icon: 'failed' },
  errored: { tone: 'bad', icon: 'failed' },
  denied: { tone: 'bad', icon: 'failed' },
  unhealthy: { tone: 'bad', icon: 'failed' },
  down: { tone: 'bad', icon: 'failed' },
  lost: { tone: 'bad', icon: 'lost' },
  quarantined: { tone: 'bad', icon: 'warning' },
  locked: { tone: 'warn', icon: 'paused' },
  active: { tone: 'good', icon: 'complete' },
  invited: { tone: 'busy', icon: 'pending' },
  confirmed: { tone: 'good', icon: 'complete' },
  planned: { tone: 'busy', icon: 'pending' },
  plan_queued: { tone: 'busy', icon: 'pending' },
  apply_queued: { tone: 'busy', icon: 'pending' },
  applying: { tone: 'busy', icon: 'running' },
  planned_and_saved: { tone: 'done', icon: 'complete' },
  post_plan_awaiting_decision: { tone: 'warn', icon: 'warning' },
  post_plan_running: { tone: 'busy', icon: 'pending' },
  post_plan_completed: { tone: 'good', icon: 'complete' },
  policy_checking: { tone: 'busy', icon: 'pending' },
  policy_checked: { tone: 'good', icon: 'complete' },
  policy_override: { tone: 'warn', icon: 'warning' },
  policy_soft_failed: { tone: 'bad', icon: 'failed' },
  planned_and_finished: { tone: 'done', icon: 'complete' },
  soft_failed: { tone: 'bad', icon: 'failed' },
  hard_failed: { tone: 'bad', icon: 'failed' },
  awaiting_override: { tone: 'warn', icon: 'warning' },
  unreachable: { tone: 'warn', icon: 'unknown' },
  overridden: { tone: 'warn', icon: 'warning' },
  stopping: { tone: 'idle', icon: 'stopped' },
  replaced: { tone: 'idle', icon: 'stopped' },
  failing: { tone: 'bad', icon: 'failed' },
  deploying: { tone: 'busy', icon: 'pending' },
  scheduled: { tone: 'done', icon: 'pending' },
  degraded: { tone: 'warn', icon: 'warning' },
}

const UNKNOWN_STYLE: StatusStyle = { tone: 'idle', icon: 'unknown' }

export function statusStyle(state: string): StatusStyle {
  return STATUS_STYLES[state] ?? UNKNOWN_STYLE
}
