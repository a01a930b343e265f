/** Returns the display text of a run status such as `policy_soft_failed`. */
export function runStatusText(status: string): string {
  return STATUS_TEXTS[status] ?? status.replaceAll('_', ' ')
}

const STATUS_TEXTS: Readonly<Record<string, string>> = {
  policy_override: 'waits for an override',
  policy_soft_failed: 'policy check failed',
  policy_checked: 'waits for confirmation',
  post_plan_completed: 'policies passed',
  planned_and_finished: 'planned, nothing to do',
}
