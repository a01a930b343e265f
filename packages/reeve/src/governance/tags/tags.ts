import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type {
  AttributeProblem,
  GovernanceRefusal,
  TagBindingRow,
  WorkspaceRow,
} from '../../model/index.ts'
import { put, remove, scopedKey, type Change, type Tables, tagKey } from '../../state/index.ts'
import type { GovernanceCaller } from '../caller.ts'
import { commitWrite } from '../commit.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'
import { intersect } from '../list-index.ts'
import { findWorkspaceWith, type VisibleWorkspace } from '../workspaces/find-workspace.ts'

/** Owner of tags: a project or a workspace. */
type TagOwner = Pick<TagBindingRow, 'ownerType' | 'ownerId' | 'organizationId'>

export type NewTags = readonly v2.NewTagBinding[]

/** Returns the bindings of a project or workspace itself, by key. */
export function ownTags(tables: Tables, ownerId: string): readonly TagBindingRow[] {
  return tables.tag_bindings.rowsByIndex('owner', ownerId)
}

/** Changes of tags, and the bindings of the request in order. */
interface TagChange {
  readonly changes: readonly Change[]
  readonly requested: readonly TagBindingRow[]
}

/**
 * Adds bindings and changes values; an existing key keeps its ID and time. With `isWholeSet` all
 * other bindings are deleted.
 */
export function computeTagChanges(
  context: GovernanceContext,
  owner: TagOwner,
  { tags, isWholeSet }: { readonly tags: NewTags; readonly isWholeSet: boolean },
): TagChange {
  const { ids, clock, store } = context
  const before = new Map(ownTags(store.tables, owner.ownerId).map((row) => [row.key, row]))
  const requested = tags.map(({ attributes: { key, value } }): TagBindingRow => {
    const existing = before.get(key)
    if (existing !== undefined) return { ...existing, value: value ?? '' }
    const createdMs = clock.nowMs()
    const { ownerType, ownerId, organizationId } = owner
    const id = newId(ids, 'tag-bindings')
    return { id, organizationId, ownerType, ownerId, key, value: value ?? '', createdMs }
  })
  const keys = new Set(requested.map(({ key }) => key))
  const removedKeys = isWholeSet ? [...before.keys()].filter((key) => !keys.has(key)) : []
  return {
    requested,
    changes: [
      ...requested
        .filter((row) => before.get(row.key)?.value !== row.value)
        .map((row) => put('tag_bindings', row)),
      ...removedKeys.map((key) => remove('tag_bindings', scopedKey(owner.ownerId, key))),
    ],
  }
}

/**
 * Reports whether the caller may make the change: permission to add tags does not include
 * permission to remove them.
 */
export function canSetTags(
  tables: Tables,
  ownerId: string,
  { tags, rights }: { readonly tags: NewTags; readonly rights: TagRights },
): boolean {
  const keptKeys = new Set(tags.map(({ attributes }) => attributes.key))
  const removesTags = ownTags(tables, ownerId).some(({ key }) => !keptKeys.has(key))
  return removesTags ? rights.replaceTags : rights.manageTags
}

interface TagRights {
  readonly manageTags: boolean
  readonly replaceTags: boolean
}

/**
 * Returns problems of tags that the schema cannot express: reserved prefixes, duplicate keys, too
 * many tags. `pointer` is the JSON pointer to the list in the request.
 */
export function tagProblems(
  tables: Tables,
  owner: { readonly ownerId: string | undefined },
  request: { readonly tags: NewTags; readonly isWholeSet: boolean; readonly pointer: string },
): readonly AttributeProblem[] {
  const { tags, isWholeSet, pointer } = request
  const requestedKeys = tags.map(({ attributes: { key } }) => key)
  const problems = [...tagKeyProblems(requestedKeys, pointer)]
  const keys = new Set(requestedKeys)
  const existing = isWholeSet || owner.ownerId === undefined ? [] : ownTags(tables, owner.ownerId)
  for (const { key } of existing) keys.add(key)
  if (keys.size > v2.TAG_BINDINGS_MAX)
    problems.push({
      pointer,
      detail: `Tag bindings cannot exceed ${v2.TAG_BINDINGS_MAX} bindings per resource`,
    })
  return problems
}

/** Returns the problems of the keys alone; undefined keys are skipped. */
export function tagKeyProblems(
  keys: readonly (string | undefined)[],
  pointer: string,
): readonly AttributeProblem[] {
  const earlierKeys = new Set<string>()
  return keys.flatMap((key, i) => {
    if (key === undefined) return []
    const keyPointer = `${pointer}/${i}/attributes/key`
    const isDuplicate = earlierKeys.has(key)
    earlierKeys.add(key)
    return [
      ...(hasReservedPrefix(key)
        ? [{ pointer: keyPointer, detail: 'Key uses a reserved prefix' }]
        : []),
      ...(isDuplicate
        ? [{ pointer: keyPointer, detail: 'Key has been given more than once' }]
        : []),
    ]
  })
}

function hasReservedPrefix(key: string): boolean {
  const folded = key.toLowerCase()
  return v2.RESERVED_TAG_PREFIXES.some((prefix) => folded.startsWith(prefix))
}

/** An effective binding, with the project that it is inherited from, if any. */
export interface EffectiveTag {
  readonly binding: TagBindingRow
  readonly inheritedFrom: string | undefined
}

/** Returns the effective bindings of a project, which are its own. */
export function projectEffectiveTags(tables: Tables, projectId: string): readonly EffectiveTag[] {
  return ownTags(tables, projectId).map((binding) => ({ binding, inheritedFrom: undefined }))
}

/**
 * Returns the effective bindings of a workspace; its own override inherited ones with the same key.
 */
export function workspaceEffectiveTags(
  tables: Tables,
  workspace: { readonly id: string; readonly projectId: string },
): readonly EffectiveTag[] {
  const ownBindings = ownTags(tables, workspace.id)
  const overriddenKeys = new Set(ownBindings.map(({ key }) => key))
  const inherited = ownTags(tables, workspace.projectId).filter(
    ({ key }) => !overriddenKeys.has(key),
  )
  return [
    ...ownBindings.map((binding) => ({ binding, inheritedFrom: undefined })),
    ...inherited.map((binding) => ({ binding, inheritedFrom: workspace.projectId })),
  ].toSorted((a, b) => compareText(a.binding.key, b.binding.key))
}

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

/** One `filter[tagged][i]`; an empty value matches any value. */
export interface TagFilter {
  readonly key: string
  readonly value: string
}

/** Returns the owners of a type that have all these tags themselves; undefined without filters. */
export function ownerIdsWithTags(
  tables: Tables,
  owner: Pick<TagBindingRow, 'organizationId' | 'ownerType'>,
  filters: readonly TagFilter[],
): ReadonlySet<string> | undefined {
  let matching: ReadonlySet<string> | undefined
  for (const { key, value } of filters) {
    const { tag_bindings: bindings } = tables
    const keys =
      value === ''
        ? bindings.keysByIndex('tag', tagKey(owner, key))
        : bindings.keysByIndex('pair', tagKey(owner, key, value))
    // The key begins with the ID of the owner and `!`, which IDs do not contain.
    const owners = new Set([...keys].map((one) => one.slice(0, one.indexOf('!'))))
    matching = intersect([matching, owners])
  }
  return matching
}
