import { err, ok, type Result } from '@reeve/kit/result.ts'
import { refusalText, type RunRow, type RunTriggerRow } from '../../model/index.ts'
import { put, type Change } from '../../state/index.ts'
import { organizationAuthor } from '../caller.ts'
import { currentConfiguration } from '../configuration-versions/configuration-versions.ts'
import type { GovernanceHost } from '../context.ts'
import { queuedRun } from '../runs/queued-run.ts'
import { oldestFirst } from '../by-creation.ts'
import { executesHere } from '../workspaces/find-workspace.ts'

type Host = Pick<GovernanceHost, 'store' | 'ids' | 'clock' | 'sealer'>

/**
 * Returns the changes committed with an applied run: a run in each workspace that is triggered by
 * its workspace. An apply must not fail because of a trigger, so a trigger that cannot queue a run
 * records the reason.
 */
export function triggeredRows(host: Host, applied: RunRow): readonly Change[] {
  const { tables } = host.store
  let alsoPending = 0
  return oldestFirst(tables.run_triggers, 'source', applied.workspaceId).flatMap((trigger) => {
    const queued = triggeredRun(host, { trigger, applied, alsoPending })
    if (queued.ok) alsoPending++
    const problem = queued.ok ? null : queued.error
    return [
      ...(queued.ok ? queued.value : []),
      ...(problem === trigger.problem ? [] : [put('run_triggers', { ...trigger, problem })]),
    ]
  })
}

interface TriggerWish {
  readonly trigger: RunTriggerRow
  readonly applied: RunRow
  readonly alsoPending: number
}

function triggeredRun(
  host: Host,
  { trigger, applied, alsoPending }: TriggerWish,
): Result<readonly Change[], string> {
  const { tables } = host.store
  const workspace = tables.workspaces.get(trigger.workspaceId)
  const organization = tables.organizations.get(workspace.organizationId)
  if (!executesHere({ workspace, organization }))
    return err('The workspace does not use remote execution; set its execution mode to remote')
  const configuration = currentConfiguration(tables, workspace.id)
  if (configuration === undefined)
    return err('The workspace has no configuration yet; upload one first')
  const source = tables.workspaces.get(applied.workspaceId)
  const queued = queuedRun(host, {
    workspace,
    configuration,
    author: organizationAuthor(host, organization.id),
    attributes: { message: `Run ${applied.id} of workspace ${source.name} was applied.` },
    autoApply: workspace.autoApplyRunTrigger === true,
    trigger: 'run-trigger',
    alsoPending,
  })
  return queued.ok ? ok(queued.value.changes) : err(refusalText(queued.error))
}
