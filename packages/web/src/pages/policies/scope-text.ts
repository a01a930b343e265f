import type { v2 } from '@reeve/contract'

/** Formats the scope of a policy set on one line. */
export function scopeText({ attributes, relationships }: v2.PolicySet): string {
  if (attributes.global) return 'everything in the organization'
  const tags = attributes['tag-selectors'].map(selectorText)
  const parts = [
    countText(attributes['project-count'], 'project'),
    countText(attributes['workspace-count'], 'workspace'),
    countText(relationships.namespaces?.data.length ?? 0, 'namespace'),
    ...(tags.length === 0 ? [] : [`tags ${tags.join(', ')}`]),
  ]
  return parts.filter((part) => part !== '').join(', ') || 'nothing yet'
}

/** Formats a tag selector: `env: prod`, `not audited`. */
export function selectorText(selector: v2.TagSelector): string {
  const { 'tag-key': key, 'tag-value': value, 'is-exclude': isExcluded } = selector
  const tag = value === null || value === '' ? key : `${key}: ${value}`
  return isExcluded ? `not ${tag}` : tag
}

function countText(count: number, what: string): string {
  return count === 0 ? '' : `${count} ${what}${count === 1 ? '' : 's'}`
}
