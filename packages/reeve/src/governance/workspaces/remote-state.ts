// tidy-allow vendor: the state file has this name for the version of the tool
import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import {
  isEqual,
  type AttributeProblem,
  type GovernanceRefusal,
  type RemoteStateSharing,
  type WorkspaceRow,
} from '../../model/index.ts'
import { normalizeName, put, scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { findPhase, type PhaseCall } from '../runs/execution/phase-access.ts'
import { currentState, readDigest } from '../state-versions/state-versions.ts'
import { findWorkspace, findWorkspaceWith, type VisibleWorkspace } from './find-workspace.ts'

const NOT_SHARED: RemoteStateSharing = { global: false, project: false, consumerIds: [] }

export function remoteStateSharing({
  remoteState = NOT_SHARED,
}: Pick<WorkspaceRow, 'remoteState'>): RemoteStateSharing {
  return remoteState
}

/** Reports whether runs of the reader may read the outputs of the workspace. */
function sharesOutputs(workspace: WorkspaceRow, reader: WorkspaceRow): boolean {
  if (workspace.id === reader.id) return true
  if (workspace.organizationId !== reader.organizationId) return false
  const { global, project, consumerIds } = remoteStateSharing(workspace)
  return (
    global ||
    (project && workspace.projectId === reader.projectId) ||
    consumerIds.includes(reader.id)
  )
}

/** Lists the consumers of a workspace that the caller may read, by name. */
export function listRemoteStateConsumers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  workspaceId: string,
): Result<readonly VisibleWorkspace[], GovernanceRefusal> {
  const found = findWorkspace(context, caller, { workspaceId })
  if (!found.ok) return found
  const { consumerIds } = remoteStateSharing(found.value.workspace)
  const consumers = consumerIds.flatMap((id) => {
    const visible = findWorkspace(context, caller, { workspaceId: id })
    return visible.ok ? [visible.value] : []
  })
  return ok(consumers.toSorted((a, b) => compareText(a.workspace.name, b.workspace.name)))
}

export interface RemoteStateConsumersChange {
  readonly workspaceId: string
  readonly ids: readonly string[]
  readonly mode: 'add' | 'remove' | 'replace'
}

/** Changes the consumers; adding a present one or removing an absent one is valid. */
export async function changeRemoteStateConsumers(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, ids, mode }: RemoteStateConsumersChange,
): Promise<Result<void, GovernanceRefusal>> {
  const found = findWorkspaceWith(context, caller, { address: { workspaceId }, right: 'update' })
  if (!found.ok) return found
  const { workspace } = found.value
  const { workspaces } = context.store.tables
  const sharing = remoteStateSharing(workspace)
  // Consumers that were deleted make room for others.
  const present = sharing.consumerIds.filter((id) => workspaces.has(id))
  const remaining = { add: present, replace: [], remove: present.filter((id) => !ids.includes(id)) }
  const added = mode === 'remove' ? [] : ids
  const consumerIds = [...new Set([...remaining[mode], ...added])].toSorted()
  const problems = consumerProblems(context, caller, { visible: found.value, added, consumerIds })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  if (isEqual(consumerIds, sharing.consumerIds)) return ok(undefined)
  const remoteState = { ...sharing, consumerIds }
  const updated = { ...workspace, remoteState, updatedMs: context.clock.nowMs() }
  await commitWrite(context, {
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [workspace.id],
    changes: [put('workspaces', updated)],
  })
  return ok(undefined)
}

interface ConsumerInput {
  readonly visible: VisibleWorkspace
  readonly added: readonly string[]
  readonly consumerIds: readonly string[]
}

/** A workspace that the caller may not read is reported like an unknown one. */
function consumerProblems(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { visible, added, consumerIds }: ConsumerInput,
): readonly AttributeProblem[] {
  const max = v2.REMOTE_STATE_CONSUMERS_MAX
  if (consumerIds.length > max)
    return [{ pointer: '/data', detail: `A workspace has at most ${max} remote state consumers` }]
  return added.flatMap((id, i) => {
    const consumer = findWorkspace(context, caller, { workspaceId: id })
    const exists = consumer.ok && consumer.value.organization.id === visible.organization.id
    return exists ? [] : [{ pointer: `/data/${i}`, detail: `Workspace ${id} does not exist` }]
  })
}

/**
 * Returns the outputs of a workspace to the runner of a phase, as a state without resources;
 * undefined if there is no state. Whether a workspace that does not share exists is not revealed.
 */
export async function readRemoteState(
  context: GovernanceContext,
  { workspaceName, ...call }: PhaseCall & { readonly workspaceName: string },
): Promise<Result<Uint8Array | undefined, GovernanceRefusal>> {
  const found = findPhase(context, call)
  if (!found.ok) return found
  const { tables } = context.store
  const reader = tables.workspaces.get(found.value.run.workspaceId)
  const workspace = findByName(tables, reader.organizationId, workspaceName)
  if (workspace === undefined || !sharesOutputs(workspace, reader))
    return err({
      code: 'forbidden',
      detail:
        `Workspace ${workspaceName} does not exist or does not share its outputs with workspace ` +
        `${reader.name}: add ${reader.name} to its remote state consumers`,
    })
  const current = currentState(tables, workspace.id)
  if (current === undefined) return ok(undefined)
  const { outputs } = await readDigest(context, current)
  const state = {
    version: current.format,
    terraform_version: current.toolVersion ?? '',
    serial: current.serial,
    lineage: current.lineage ?? '',
    outputs: Object.fromEntries(
      outputs.map(({ name, value, detailedType, sensitive }) => [
        name,
        { value, type: detailedType, ...(sensitive && { sensitive }) },
      ]),
    ),
    resources: [],
    check_results: null,
  }
  return ok(new TextEncoder().encode(JSON.stringify(state)))
}

function findByName(
  { workspaces }: Tables,
  organizationId: string,
  name: string,
): WorkspaceRow | undefined {
  const [id] = workspaces.keysByIndex('name', scopedKey(organizationId, normalizeName(name)))
  return id === undefined ? undefined : workspaces.get(id)
}
