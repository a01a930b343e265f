import { IMPLICIT_KEY_LENGTH_MAX } from './limits.ts'
import { numberToText } from '../number.ts'
import type { YamlValue } from './read-node.ts'

/**
 * Writes block YAML with sorted keys. Strings are always quoted, or literal blocks if they have
 * several lines, so that no parser version reads another type.
 */
export function writeYaml(value: YamlValue): string {
  const lines: string[] = []
  write(value, { lines, indent: '', lead: '' })
  return `${lines.join('\n')}\n`
}

interface Place {
  readonly lines: string[]
  /** Indentation of the lines after the first. */
  readonly indent: string
  /** Text that is already on the first line: `- `, `"name":` or the indentation. */
  readonly lead: string
}

function write(value: YamlValue, place: Place): void {
  if (Array.isArray(value) && value.length > 0) writeSequence(value, place)
  else if (isMapping(value) && Object.keys(value).length > 0) writeMapping(value, place)
  else writeScalar(value, place)
}

function isMapping(value: YamlValue): value is { readonly [name: string]: YamlValue } {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The first element continues the line after `- ` or starts below a key. */
function writeSequence(elements: readonly YamlValue[], { lines, indent, lead }: Place): void {
  let start = lead
  if (lead.endsWith(':')) {
    lines.push(lead)
    start = indent
  }
  for (const element of elements) {
    write(element, { lines, indent: `${indent}  `, lead: `${start}- ` })
    start = indent
  }
}

function writeMapping(
  object: { readonly [name: string]: YamlValue },
  { lines, indent, lead }: Place,
): void {
  const isBelowName = lead.endsWith(':')
  if (isBelowName) lines.push(lead)
  const inner = isBelowName ? `${indent}  ` : indent
  let start = isBelowName ? inner : lead
  const entries = Object.entries(object).toSorted(([a], [b]) => (a < b ? -1 : 1))
  for (const [name, member] of entries) {
    write(member, { lines, indent: inner, lead: nameLead(lines, start, name) ?? `${inner}:` })
    start = inner
  }
}

/**
 * Writes a key that is too long for an implicit key on a line of its own with `?`; otherwise
 * returns undefined.
 */
function nameLead(lines: string[], start: string, name: string): string | undefined {
  const quoted = quote(name)
  if (quoted.length < IMPLICIT_KEY_LENGTH_MAX) return `${start}${quoted}:`
  lines.push(`${start}? ${quoted}`)
  return undefined
}

function writeScalar(value: YamlValue, { lines, indent, lead }: Place): void {
  const gap = lead.endsWith(':') ? ' ' : ''
  const header = typeof value === 'string' ? literalHeader(value) : undefined
  if (typeof value !== 'string' || header === undefined) {
    lines.push(`${lead}${gap}${scalarText(value)}`)
    return
  }
  lines.push(`${lead}${gap}${header}`)
  const inner = lead.endsWith('- ') ? indent : `${indent}  `
  // The final line break belongs to the last line; further ones are empty lines.
  const body = value.endsWith('\n') ? value.slice(0, -1) : value
  for (const line of body.split('\n')) lines.push(line === '' ? '' : inner + line)
}

/** Characters that a literal block cannot hold, or that some parsers treat as line breaks. */
// oxlint-disable-next-line no-control-regex
const NOT_LITERAL = /[\0-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff]/

/** The block header (`|` with indicators); undefined if the text must be quoted. */
function literalHeader(text: string): string | undefined {
  const firstLine = /[^\n]/.exec(text)
  if (!text.includes('\n') || firstLine === null || hasSpecial(text)) return undefined
  // Some parsers treat a last line of spaces as empty.
  if (/^[ \t]+$/m.test(text)) return undefined
  const indentation = firstLine[0] === ' ' ? '2' : ''
  const chomping = text.endsWith('\n\n') ? '+' : text.endsWith('\n') ? '' : '-'
  return `|${indentation}${chomping}`
}

/** Surrogate pairs are ordinary characters. */
function hasSpecial(text: string): boolean {
  return NOT_LITERAL.test(text.replace(/[\ud800-\udbff][\udc00-\udfff]/g, ''))
}

function scalarText(value: YamlValue): string {
  if (typeof value === 'string') return quote(value)
  if (typeof value === 'number' || typeof value === 'bigint') return numberToText(value)
  if (Array.isArray(value)) return '[]'
  return typeof value === 'object' && value !== null ? '{}' : String(value)
}

// oxlint-disable-next-line no-control-regex
const UNQUOTABLE = /[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]/g

/** JSON strings are YAML strings, except for a few characters that need escapes. */
function quote(text: string): string {
  return JSON.stringify(text).replace(
    UNQUOTABLE,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
