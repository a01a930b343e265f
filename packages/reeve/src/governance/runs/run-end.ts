import { deleteRunFilesChanges } from './execution/run-rows.ts'
import { remove, type Change, type Tables } from '../../state/index.ts'

/** All tables with data of runs. */
const RUN_TABLES = [
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
export function deleteRunChanges(tables: Tables, runId: string): readonly Change[] {
  return [
    ...[...tables.run_plans.keysByIndex('run', runId)].flatMap((planId) =>
      unpinCodeChanges(tables, planId),
    ),
    ...deleteRunFilesChanges(tables, runId),
    ...RUN_TABLES.flatMap((table) =>
      [...tables[table].keysByIndex('run', runId)].map((key) => remove(table, key)),
    ),
    remove('runs', runId),
  ]
}

export function deleteWorkspaceRunsChanges(tables: Tables, workspaceId: string): readonly Change[] {
  return [...tables.runs.keysByIndex('workspace', workspaceId)].flatMap((id) =>
    deleteRunChanges(tables, id),
  )
}

/** Releases the policy code that a plan references. */
export function unpinCodeChanges(tables: Tables, planId: string): readonly Change[] {
  return [...tables.policy_codes.keysByIndex('owner', planId)].map((key) =>
    remove('policy_codes', key),
  )
}
