import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  invalid,
  UNSEEN,
  type GovernanceRefusal,
  type RunTriggerRow,
  type WorkspaceRow,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import type { WorkspaceRight } from '../permissions.ts'
import { oldestFirst } from '../by-creation.ts'
import {
  findWorkspace,
  findWorkspaceWith,
  readableWorkspaces,
  type SeenWorkspace,
} from '../workspaces/find-workspace.ts'

/** A run trigger with its source and target workspace. */
export interface SeenRunTrigger {
  readonly trigger: RunTriggerRow
  readonly workspace: WorkspaceRow
  readonly source: WorkspaceRow
}

interface RunTriggerList {
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
  { workspaceId, direction }: RunTriggerList,
): Result<readonly SeenRunTrigger[], GovernanceRefusal> {
  const seen = findWorkspace(context, caller, { workspaceId })
  if (!seen.ok) return seen
  const { tables } = context.store
  const isInbound = direction === 'inbound'
  const rows = oldestFirst(tables.run_triggers, isInbound ? 'workspace' : 'source', workspaceId)
  const readable = isInbound ? undefined : readableWorkspaces(context, seen.value)
  return ok(
    rows
      .filter((row) => readable?.has(row.workspaceId) ?? true)
      .map((trigger) => withEnds(tables, trigger)),
  )
}

function withEnds({ workspaces }: Tables, trigger: RunTriggerRow): SeenRunTrigger {
  const { workspaceId, sourceId } = trigger
  return { trigger, workspace: workspaces.get(workspaceId), source: workspaces.get(sourceId) }
}

interface RunTriggerWish {
  readonly triggerId: string
  readonly right: WorkspaceRight
}

export function findRunTrigger(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { triggerId, right }: RunTriggerWish,
): Result<SeenRunTrigger, GovernanceRefusal> {
  const { tables } = context.store
  const trigger = tables.run_triggers.find(triggerId)
  if (trigger === undefined) return err(UNSEEN)
  const address = { workspaceId: trigger.workspaceId }
  const seen = findWorkspaceWith(context, caller, { address, right })
  return seen.ok ? ok(withEnds(tables, trigger)) : seen
}

export async function createRunTrigger(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, sourceId }: { readonly workspaceId: string; readonly sourceId: string },
): Promise<Result<SeenRunTrigger, GovernanceRefusal>> {
  const seen = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'update' })
  if (!seen.ok) return seen
  const { workspace } = seen.value
  const source = findSource(context, caller, { sourceId, seen: seen.value })
  if (!source.ok) return source
  const { tables } = context.store
  const detail = triggerProblem(tables, { workspaceId, sourceId })
  if (detail !== undefined) return err(invalid(SOURCE_POINTER, detail))
  const trigger: RunTriggerRow = {
    id: newId(context.ids, 'run-triggers'),
    organizationId: workspace.organizationId,
    workspaceId,
    sourceId,
    createdMs: context.clock.nowMs(),
    problem: null,
  }
  await commitWrite(context, {
    action: 'RunTriggerCreated',
    caller,
    organizationId: workspace.organizationId,
    subjects: [trigger.id],
    changes: [put('run_triggers', trigger)],
  })
  return ok({ trigger, workspace, source: source.value })
}

const SOURCE_POINTER = '/data/relationships/sourceable'

/** A source that the caller may not read is reported like an unknown one. */
function findSource(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { sourceId, seen }: { readonly sourceId: string; readonly seen: SeenWorkspace },
): Result<WorkspaceRow, GovernanceRefusal> {
  const source = findWorkspace(context, caller, { workspaceId: sourceId })
  if (source.ok && source.value.organization.id === seen.organization.id)
    return ok(source.value.workspace)
  return err(invalid(SOURCE_POINTER, 'Sourceable must be a workspace of the organization'))
}

function triggerProblem(
  { run_triggers: triggers }: Tables,
  { workspaceId, sourceId }: Pick<RunTriggerRow, 'workspaceId' | 'sourceId'>,
): string | undefined {
  if (workspaceId === sourceId) return 'Sourceable must be another workspace'
  if (triggers.countIn('pair', scopedKey(workspaceId, sourceId)) > 0)
    return 'Sourceable has already been taken'
  const max = v2.RUN_TRIGGERS_MAX
  if (triggers.countIn('workspace', workspaceId) >= max)
    return `Workspace already has ${max} sources, which is the maximum; delete a run trigger first`
  return triggers.countIn('source', sourceId) >= max
    ? `Sourceable already triggers ${max} workspaces, which is the maximum; delete a run trigger first`
    : undefined
}

export async function deleteRunTrigger(
  context: GovernanceContext,
  caller: GovernanceCaller,
  triggerId: string,
): Promise<Result<void, GovernanceRefusal>> {
  const seen = findRunTrigger(context, caller, { triggerId, right: 'update' })
  if (!seen.ok) return seen
  const { id, organizationId } = seen.value.trigger
  await commitWrite(context, {
    action: 'RunTriggerDeleted',
    caller,
    organizationId,
    subjects: [id],
    changes: [remove('run_triggers', id)],
  })
  return ok(undefined)
}
