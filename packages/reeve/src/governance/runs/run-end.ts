import { filesEnd } from './execution/run-rows.ts'
import { remove, type Change, type Tables } from '../../state/index.ts'

/** All tables with data of runs. */
const ABOUT_RUNS = [
  'run_plans',
  'plan_parts',
  'policy_checks',
  'task_stages',
  'policy_evaluations',
  'policy_set_outcomes',
  'run_log_parts',
  'run_phases',
] as const

/** Deletes a run with all its data; the plan's blob is deleted with its row. */
export function runEnd(tables: Tables, runId: string): readonly Change[] {
  return [
    ...[...tables.run_plans.keysIn('run', runId)].flatMap((planId) => codePins(tables, planId)),
    ...filesEnd(tables, runId),
    ...ABOUT_RUNS.flatMap((table) =>
      [...tables[table].keysIn('run', runId)].map((key) => remove(table, key)),
    ),
    remove('runs', runId),
  ]
}

export function workspaceRunsEnd(tables: Tables, workspaceId: string): readonly Change[] {
  return [...tables.runs.keysIn('workspace', workspaceId)].flatMap((id) => runEnd(tables, id))
}

/** Releases the policy code that a plan references. */
export function codePins(tables: Tables, planId: string): readonly Change[] {
  return [...tables.policy_codes.keysIn('owner', planId)].map((key) => remove('policy_codes', key))
}
