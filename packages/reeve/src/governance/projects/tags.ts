import { v2 } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import type { AttributeProblem, TagBindingRow } from '../../model/index.ts'
import { put, remove, scopedKey, type Change, type Tables } from '../../state/index.ts'
import type { GovernanceContext } from '../context.ts'
import { newId } from '../ids.ts'

/** Owner of tags: a project or a workspace. */
export type TagOwner = Pick<TagBindingRow, 'ownerType' | 'ownerId' | 'organizationId'>

export type NewTags = readonly v2.NewTagBinding[]

/** Returns the bindings of a project or workspace itself, by key. */
export function ownTags(tables: Tables, ownerId: string): readonly TagBindingRow[] {
  return tables.tag_bindings.rowsByIndex('owner', ownerId)
}

/** Changes of tags, and the bindings of the request in order. */
export interface TagChange {
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

export interface TagRights {
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
