import type { v2 } from '@reeve/contract'
import { suffixPart, type EffectiveTag } from '../../../governance/index.ts'
import type { TagBindingRow } from '../../../model/index.ts'
import { pathOf, timeText, toOne } from './links.ts'

export function tagBindingResource({ id, key, value, createdMs }: TagBindingRow): v2.TagBinding {
  return {
    id,
    type: 'tag-bindings',
    attributes: { key, value, 'created-at': timeText(createdMs) },
  }
}

/** The answer to the PATCH has the id and no time. */
export function changedTagBindingResource({ id, key, value }: TagBindingRow): v2.ChangedTagBinding {
  return { id, type: 'tag-bindings', attributes: { key, value } }
}

/** Only what is inherited says from where. */
export function effectiveTagBindingResource(tag: EffectiveTag): v2.EffectiveTagBinding {
  const { binding, inheritedFrom } = tag
  const { key, value, createdMs } = binding
  const attributes = { key, value, 'created-at': timeText(createdMs) }
  const own = { id: suffixPart(binding.id), type: 'effective-tag-bindings', attributes } as const
  if (inheritedFrom === undefined) return own
  return {
    ...own,
    links: { 'inherited-from': pathOf('projects', inheritedFrom) },
    relationships: { 'inherited-from': toOne('projects', inheritedFrom) },
  }
}

/** A binding without a value, for clients that know only names. */
export function flatTagResource({ id, key }: TagBindingRow): v2.WorkspaceTag {
  return { id, type: 'tags', attributes: { name: key } }
}
