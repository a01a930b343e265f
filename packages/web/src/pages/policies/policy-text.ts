import type { v2 } from '@reeve/contract'

/** A line of a text with its number, counted from 1. */
interface NumberedLine {
  readonly number: number
  readonly text: string
}

const CONTEXT_LINES = 2

/** Returns a line with its context; empty if the text has no such line. */
export function excerptOf(code: string, line: number): readonly NumberedLine[] {
  const lines = code.split('\n')
  if (line < 1 || line > lines.length) return []
  const first = Math.max(1, line - CONTEXT_LINES)
  return lines
    .slice(first - 1, line + CONTEXT_LINES)
    .map((text, index) => ({ number: first + index, text }))
}

/** A parsed JSON object, or why the text is invalid. */
type ParsedObject =
  | { readonly ok: true; readonly value: Record<string, unknown> }
  | { readonly ok: false; readonly reason: string }

export function parseObject(text: string): ParsedObject {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return { ok: true, value: { ...value } }
    return { ok: false, reason: 'The input must be an object with a job or a plan.' }
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { ok: false, reason: `The input is not JSON: ${error.message}` }
  }
}

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
