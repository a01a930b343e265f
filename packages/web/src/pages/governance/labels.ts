import { v2 } from '@reeve/contract'

export const VISIBILITIES = v2.TEAM_VISIBILITIES
export type Visibility = (typeof VISIBILITIES)[number]

export const VISIBILITY_TEXTS: Readonly<Record<Visibility, string>> = {
  secret: 'members',
  organization: 'organization',
}

/** Returns the label of a permission such as `manage-policies`. */
export function permissionLabel(name: string): string {
  const text = name.replaceAll('-', ' ')
  return text.charAt(0).toUpperCase() + text.slice(1)
}

/** Returns the display text of a run status such as `policy_soft_failed`. */
export function runStatusText(status: string): string {
  return STATUS_TEXTS[status] ?? status.replaceAll('_', ' ')
}

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  plan_queued: 'waiting for a node',
  planned: 'needs confirmation',
  planned_and_saved: 'plan saved',
  apply_queued: 'waiting for a node',
  post_plan_running: 'evaluating policies',
  post_plan_awaiting_decision: 'policy override needed',
  policy_checking: 'evaluating policies',
  policy_override: 'policy override needed',
  policy_soft_failed: 'policy check failed',
  policy_checked: 'needs confirmation',
  post_plan_completed: 'needs confirmation',
  planned_and_finished: 'planned',
}
