import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalidAttribute,
  NOT_FOUND,
  type GovernanceRefusal,
  type RunTriggerRow,
  type WorkspaceRow,
  refusalMessage,
  type RunRow,
} from '../model/index.ts'
import { type Change, put, remove, scopedKey, type Tables } from '../state/index.ts'
import { type GovernanceCaller, organizationAuthor } from './caller.ts'
import { commitWrite } from './commit.ts'
import { currentConfiguration } from './configuration-versions/configuration-versions.ts'
import type { GovernanceContext, GovernanceOptions } from './context.ts'
import { newId } from './ids.ts'
import type { WorkspaceRight } from './permissions.ts'
import { rowsByCreation } from './list-index.ts'
import { queueRun } from './runs/create-run.ts'
import {
  findWorkspace,
  findWorkspaceWith,
  readableWorkspaceIds,
  usesRemoteExecution,
  type VisibleWorkspace,
} from './workspaces/find-workspace.ts'

/** A run trigger with its source and target workspace. */
export interface VisibleRunTrigger {
  readonly trigger: RunTriggerRow
  readonly workspace: WorkspaceRow
  readonly source: WorkspaceRow
}

interface RunTriggerListRequest {
  readonly workspaceId: string
  readonly direction: (typeof v2.RUN_TRIGGER_DIRECTIONS)[number]
}

/**
 * Lists the run triggers of a workspace, oldest first. Inbound triggers show their source to
 * everyone who may read the workspace; outbound triggers are listed only if the caller may read
 * their target.
 */
export function listRunTriggers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, direction }: RunTriggerListRequest,
): Result<readonly VisibleRunTrigger[], GovernanceRefusal> {
  const found = findWorkspace(context, caller, { workspaceId })
  if (!found.ok) return found
  const { tables } = context.store
  const isInbound = direction === 'inbound'
  const rows = rowsByCreation(tables.run_triggers, isInbound ? 'workspace' : 'source', workspaceId)
  const readable = isInbound ? undefined : readableWorkspaceIds(context, found.value)
  return ok(
    rows
      .filter((row) => readable?.has(row.workspaceId) ?? true)
      .map((trigger) => withWorkspaces(tables, trigger)),
  )
}

function withWorkspaces({ workspaces }: Tables, trigger: RunTriggerRow): VisibleRunTrigger {
  const { workspaceId, sourceId } = trigger
  return { trigger, workspace: workspaces.get(workspaceId), source: workspaces.get(sourceId) }
}

interface RunTriggerLookup {
  readonly triggerId: string
  readonly right: WorkspaceRight
}

export function findRunTrigger(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { triggerId, right }: RunTriggerLookup,
): Result<VisibleRunTrigger, GovernanceRefusal> {
  const { tables } = context.store
  const trigger = tables.run_triggers.find(triggerId)
  if (trigger === undefined) return err(NOT_FOUND)
  const address = { workspaceId: trigger.workspaceId }
  const found = findWorkspaceWith(context, caller, { address, right })
  return found.ok ? ok(withWorkspaces(tables, trigger)) : found
}

export async function createRunTrigger(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, sourceId }: { readonly workspaceId: string; readonly sourceId: string },
): Promise<Result<VisibleRunTrigger, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'update' })
  if (!found.ok) return found
  const { workspace } = found.value
  const source = findSource(context, caller, { sourceId, visible: found.value })
  if (!source.ok) return source
  const { tables } = context.store
  const detail = triggerProblem(tables, { workspaceId, sourceId })
  if (detail !== undefined) return err(invalidAttribute(SOURCE_POINTER, detail))
  const trigger: RunTriggerRow = {
    id: newId(context.ids, 'run-triggers'),
    organizationId: workspace.organizationId,
    workspaceId,
    sourceId,
    createdMs: context.clock.nowMs(),
    problem: null,
  }
  await commitWrite(context, {
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [trigger.id],
    changes: [put('run_triggers', trigger)],
  })
  return ok({ trigger, workspace, source: source.value })
}

const SOURCE_POINTER = '/data/relationships/sourceable'

/** A source that the caller may not read is reported like an unknown one. */
function findSource(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { sourceId, visible }: { readonly sourceId: string; readonly visible: VisibleWorkspace },
): Result<WorkspaceRow, GovernanceRefusal> {
  const source = findWorkspace(context, caller, { workspaceId: sourceId })
  if (source.ok && source.value.organization.id === visible.organization.id)
    return ok(source.value.workspace)
  return err(invalidAttribute(SOURCE_POINTER, 'Sourceable must be a workspace of the organization'))
}

function triggerProblem(
  { run_triggers: triggers }: Tables,
  { workspaceId, sourceId }: Pick<RunTriggerRow, 'workspaceId' | 'sourceId'>,
): string | undefined {
  if (workspaceId === sourceId) return 'Sourceable must be another workspace'
  if (triggers.countByIndex('pair', scopedKey(workspaceId, sourceId)) > 0)
    return 'Sourceable has already been taken'
  const max = v2.RUN_TRIGGERS_MAX
  if (triggers.countByIndex('workspace', workspaceId) >= max)
    return `Workspace already has ${max} sources, which is the maximum; delete a run trigger first`
  return triggers.countByIndex('source', sourceId) >= max
    ? `Sourceable already triggers ${max} workspaces, which is the maximum; delete a run trigger first`
    : undefined
}

export async function deleteRunTrigger(
  context: GovernanceContext,
  caller: GovernanceCaller,
  triggerId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findRunTrigger(context, caller, { triggerId, right: 'update' })
  if (!found.ok) return found
  const { id, organizationId } = found.value.trigger
  await commitWrite(context, {
    caller,
    organizationId,
    affectedIds: [id],
    changes: [remove('run_triggers', id)],
  })
  return ok(undefined)
}

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
