import type { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import type {
  AttributeProblem,
  GovernanceRefusal,
  TagBindingRow,
  WorkspaceRow,
} from '../../model/index.ts'
import { scopedKey, type Tables } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { computeTagChanges, tagProblems, ownTags, type NewTags } from '../projects/tags.ts'
import { findWorkspaceWith, type VisibleWorkspace } from './find-workspace.ts'

/** Returns the owner of a workspace's tags. */
export function workspaceTagOwner({ id, organizationId }: WorkspaceRow) {
  return { ownerType: 'workspace', ownerId: id, organizationId } as const
}

/** Returns the workspace if the caller may change its tags in this way. */
export function findTaggableWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, isWholeSet }: { readonly workspaceId: string; readonly isWholeSet: boolean },
): Result<VisibleWorkspace, GovernanceRefusal> {
  // Permission to add tags does not include permission to remove them.
  const right = isWholeSet ? 'replaceTags' : 'manageTags'
  return findWorkspaceWith(context, caller, { address: { workspaceId }, right })
}

/** Adds bindings and changes values; returns the bindings of the request. */
export async function changeWorkspaceTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  request: { readonly workspaceId: string; readonly tags: NewTags; readonly isWholeSet: boolean },
): Promise<Result<readonly TagBindingRow[], GovernanceRefusal>> {
  const found = findTaggableWorkspace(context, caller, request)
  if (!found.ok) return found
  const { workspace } = found.value
  const { tables } = context.store
  const problems = workspaceTagProblems(tables, workspace, { ...request, pointer: '/data' })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const { requested, changes } = computeTagChanges(context, workspaceTagOwner(workspace), request)
  await commitWrite(context, {
    action: 'WorkspaceTagsChanged',
    caller,
    organizationId: workspace.organizationId,
    affectedIds: [workspace.id],
    changes,
  })
  return ok(requested)
}

/** Returns a flat tag as a binding. */
export function toFlatBinding(key: string): v2.NewTagBinding {
  return { type: 'tag-bindings', attributes: { key } }
}

/** Returns the workspace's own bindings without a value. */
export function listFlatTags(tables: Tables, workspaceId: string): readonly TagBindingRow[] {
  return ownTags(tables, workspaceId).filter(({ value }) => value === '')
}

/** Adds flat tags; an existing binding keeps its value. */
export async function addFlatTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, names }: { readonly workspaceId: string; readonly names: readonly string[] },
): Promise<Result<unknown, GovernanceRefusal>> {
  const existingKeys = new Set(ownTags(context.store.tables, workspaceId).map(({ key }) => key))
  const tags = [...new Set(names)].filter((name) => !existingKeys.has(name)).map(toFlatBinding)
  return await changeWorkspaceTags(context, caller, { workspaceId, tags, isWholeSet: false })
}

/** Removes flat tags; bindings with a value and unknown keys are ignored. */
export async function removeFlatTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, names }: { readonly workspaceId: string; readonly names: readonly string[] },
): Promise<Result<unknown, GovernanceRefusal>> {
  const removed = new Set(names)
  const tags = ownTags(context.store.tables, workspaceId)
    .filter(({ key, value }) => value !== '' || !removed.has(key))
    .map(({ key, value }) => ({ ...toFlatBinding(key), attributes: { key, value } }))
  return await changeWorkspaceTags(context, caller, { workspaceId, tags, isWholeSet: true })
}

/** Returns problems with the rules of tags, and with keys that the project locks. */
export function workspaceTagProblems(
  tables: Tables,
  workspace: WorkspaceRow,
  request: { readonly tags: NewTags; readonly isWholeSet: boolean; readonly pointer: string },
): readonly AttributeProblem[] {
  const { id, projectId, organizationId } = workspace
  const inherited = new Set(ownTags(tables, projectId).map(({ key }) => key))
  // Not retroactive: an existing override may remain unchanged.
  const existing = new Map(ownTags(tables, id).map(({ key, value }) => [key, value]))
  const locked = request.tags.flatMap(({ attributes: { key, value } }, i) => {
    if (!inherited.has(key) || existing.get(key) === (value ?? '')) return []
    const [reserved] = tables.reserved_tag_keys.rowsByIndex('key', scopedKey(organizationId, key))
    if (reserved?.disableOverrides !== true) return []
    const pointer = `${request.pointer}/${i}/attributes/key`
    return [{ pointer, detail: 'Key is reserved and cannot override the one of the project' }]
  })
  return [...tagProblems(tables, { ownerId: id }, request), ...locked]
}
