import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusalMessage, type RunRow, type RunTriggerRow } from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { organizationAuthor } from '../caller.ts'
import { currentConfiguration } from '../configuration-versions/configuration-versions.ts'
import type { GovernanceOptions } from '../context.ts'
import { queueRun } from '../runs/queued-run.ts'
import { rowsByCreation } from '../by-creation.ts'
import { usesRemoteExecution } from '../workspaces/find-workspace.ts'

type TriggerContext = Pick<GovernanceOptions, 'store' | 'ids' | 'clock' | 'sealer'>

/**
 * Returns the changes committed with an applied run: a run in each workspace that is triggered by
 * its workspace. An apply must not fail because of a trigger, so a trigger that cannot queue a run
 * records the reason.
 */
export function triggeredRunChanges(context: TriggerContext, applied: RunRow): readonly Change[] {
  const { tables } = context.store
  let queuedInCommit = 0
  return rowsByCreation(tables.run_triggers, 'source', applied.workspaceId).flatMap((trigger) => {
    const queued = queueTriggeredRun(context, { trigger, applied, queuedInCommit })
    if (queued.ok) queuedInCommit++
    const problem = queued.ok ? null : queued.error
    return [
      ...(queued.ok ? queued.value : []),
      ...(problem === trigger.problem ? [] : [put('run_triggers', { ...trigger, problem })]),
    ]
  })
}

interface TriggeredRunRequest {
  readonly trigger: RunTriggerRow
  readonly applied: RunRow
  readonly queuedInCommit: number
}

function queueTriggeredRun(
  context: TriggerContext,
  { trigger, applied, queuedInCommit }: TriggeredRunRequest,
): Result<readonly Change[], string> {
  const { tables } = context.store
  const workspace = tables.workspaces.get(trigger.workspaceId)
  const organization = tables.organizations.get(workspace.organizationId)
  if (!usesRemoteExecution({ workspace, organization }))
    return err('The workspace does not use remote execution; set its execution mode to remote')
  const configuration = currentConfiguration(tables, workspace.id)
  if (configuration === undefined)
    return err('The workspace has no configuration yet; upload one first')
  const source = tables.workspaces.get(applied.workspaceId)
  const queued = queueRun(context, {
    workspace,
    configuration,
    author: organizationAuthor(context, organization.id),
    attributes: { message: `Run ${applied.id} of workspace ${source.name} was applied.` },
    autoApply: workspace.autoApplyRunTrigger === true,
    trigger: 'run-trigger',
    queuedInCommit,
  })
  return queued.ok ? ok(queued.value.changes) : err(refusalMessage(queued.error))
}
