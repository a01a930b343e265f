/** `policy_soft_failed` as people say it. */
export function runStateText(status: string): string {
  return TEXTS[status] ?? status.replaceAll('_', ' ')
}

const TEXTS: Readonly<Record<string, string>> = {
  policy_override: 'waits for an override',
  policy_soft_failed: 'stopped by policies',
  policy_checked: 'waits for confirmation',
  post_plan_completed: 'policies passed',
  planned_and_finished: 'planned, nothing to do',
}
