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
import { planTags, tagProblems, tagsOf, type NewTags } from '../projects/tags.ts'
import { findWorkspaceWith, type SeenWorkspace } from './find-workspace.ts'

/** Returns the owner of a workspace's tags. */
export function workspaceTagOwner({ id, organizationId }: WorkspaceRow) {
  return { ownerType: 'workspace', ownerId: id, organizationId } as const
}

/** Returns the workspace if the caller may change its tags in this way. */
export function findTaggableWorkspace(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, isWholeSet }: { readonly workspaceId: string; readonly isWholeSet: boolean },
): Result<SeenWorkspace, GovernanceRefusal> {
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
  const seen = findTaggableWorkspace(context, caller, request)
  if (!seen.ok) return seen
  const { workspace } = seen.value
  const { tables } = context.store
  const problems = workspaceTagProblems(tables, workspace, { ...request, pointer: '/data' })
  if (problems.length > 0) return err({ code: 'invalid', problems })
  const { named, changes } = planTags(context, workspaceTagOwner(workspace), request)
  await commitWrite(context, {
    action: 'WorkspaceTagsChanged',
    caller,
    organizationId: workspace.organizationId,
    subjects: [workspace.id],
    changes,
  })
  return ok(named)
}

/** Returns a flat tag as a binding. */
export function flatBinding(key: string): v2.NewTagBinding {
  return { type: 'tag-bindings', attributes: { key } }
}

/** Returns the workspace's own bindings without a value. */
export function flatTagsOf(tables: Tables, workspaceId: string): readonly TagBindingRow[] {
  return tagsOf(tables, workspaceId).filter(({ value }) => value === '')
}

/** Adds flat tags; an existing binding keeps its value. */
export async function addFlatTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, names }: { readonly workspaceId: string; readonly names: readonly string[] },
): Promise<Result<unknown, GovernanceRefusal>> {
  const bound = new Set(tagsOf(context.store.tables, workspaceId).map(({ key }) => key))
  const tags = [...new Set(names)].filter((name) => !bound.has(name)).map(flatBinding)
  return await changeWorkspaceTags(context, caller, { workspaceId, tags, isWholeSet: false })
}

/** Removes flat tags; bindings with a value and unknown keys are ignored. */
export async function removeFlatTags(
  context: GovernanceContext,
  caller: GovernanceCaller,
  { workspaceId, names }: { readonly workspaceId: string; readonly names: readonly string[] },
): Promise<Result<unknown, GovernanceRefusal>> {
  const removed = new Set(names)
  const tags = tagsOf(context.store.tables, workspaceId)
    .filter(({ key, value }) => value !== '' || !removed.has(key))
    .map(({ key, value }) => ({ ...flatBinding(key), attributes: { key, value } }))
  return await changeWorkspaceTags(context, caller, { workspaceId, tags, isWholeSet: true })
}

/** Returns problems with the rules of tags, and with keys that the project locks. */
export function workspaceTagProblems(
  tables: Tables,
  workspace: WorkspaceRow,
  request: { readonly tags: NewTags; readonly isWholeSet: boolean; readonly pointer: string },
): readonly AttributeProblem[] {
  const { id, projectId, organizationId } = workspace
  const inherited = new Set(tagsOf(tables, projectId).map(({ key }) => key))
  // Not retroactive: an existing override may remain unchanged.
  const kept = new Map(tagsOf(tables, id).map(({ key, value }) => [key, value]))
  const locked = request.tags.flatMap(({ attributes: { key, value } }, i) => {
    if (!inherited.has(key) || kept.get(key) === (value ?? '')) return []
    const [reserved] = tables.reserved_tag_keys.rowsIn('key', scopedKey(organizationId, key))
    if (reserved?.disableOverrides !== true) return []
    const pointer = `${request.pointer}/${i}/attributes/key`
    return [{ pointer, detail: 'Key is reserved and cannot override the one of the project' }]
  })
  return [...tagProblems(tables, { ownerId: id }, request), ...locked]
}
