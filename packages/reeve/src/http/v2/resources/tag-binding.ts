import type { v2 } from '@reeve/contract'
import { idSuffixOf, type EffectiveTag } from '../../../governance/index.ts'
import type { TagBindingRow } from '../../../model/index.ts'
import { resourcePath, formatTime, toOne } from './links.ts'

export function tagBindingResource({ id, key, value, createdMs }: TagBindingRow): v2.TagBinding {
  return {
    id,
    type: 'tag-bindings',
    attributes: { key, value, 'created-at': formatTime(createdMs) },
  }
}

/** Returns a tag binding in the response of a PATCH, which has its ID but no time. */
export function changedTagBindingResource({ id, key, value }: TagBindingRow): v2.ChangedTagBinding {
  return { id, type: 'tag-bindings', attributes: { key, value } }
}

/** Returns an effective tag binding; an inherited one names its project. */
export function effectiveTagBindingResource(tag: EffectiveTag): v2.EffectiveTagBinding {
  const { binding, inheritedFrom } = tag
  const { key, value, createdMs } = binding
  const attributes = { key, value, 'created-at': formatTime(createdMs) }
  const resource = {
    id: idSuffixOf(binding.id),
    type: 'effective-tag-bindings',
    attributes,
  } as const
  if (inheritedFrom === undefined) return resource
  return {
    ...resource,
    links: { 'inherited-from': resourcePath('projects', inheritedFrom) },
    relationships: { 'inherited-from': toOne('projects', inheritedFrom) },
  }
}

/** Returns a binding without its value, for clients that know only names. */
export function flatTagResource({ id, key }: TagBindingRow): v2.WorkspaceTag {
  return { id, type: 'tags', attributes: { name: key } }
}
