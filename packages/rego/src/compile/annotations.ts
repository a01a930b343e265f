import { parseYaml } from '@reeve/kit/yaml/index.ts'
import type { Rule } from '../syntax/ast.ts'
import { fromJson, type JsonValue } from '../value/json.ts'
import {
  EMPTY_OBJECT,
  isArray,
  ObjectBuilder,
  objectOf,
  ObjectValue,
  type Value,
} from '../value/value.ts'
import { groundPrefix } from './rule-tree.ts'
import { packageKey, throwCompileError, type Metadata, type Unit } from './unit.ts'

export type MetadataScope = 'rule' | 'document' | 'package' | 'subpackages'

/** A block of comments that starts with `METADATA`. */
export interface Annotation {
  readonly scope: MetadataScope
  readonly value: ObjectValue
  /** Rows of the first and the last comment. */
  readonly firstRow: number
  readonly lastRow: number
}

/** Creates the lookup of the annotations of all modules by rule. */
export function createAnnotationReader(
  units: readonly Unit[],
): (unit: Unit, rule: Rule | undefined) => Metadata {
  const annotations = new Map(units.map((unit) => [unit, readAnnotations(unit)]))
  const packages = new Map<string, { unit: Unit; annotation: Annotation }[]>()
  for (const [unit, found] of annotations)
    for (const annotation of found)
      if (isOfPackage(unit, annotation)) {
        const key = packageKey(unit.package)
        packages.set(key, [...(packages.get(key) ?? []), { unit, annotation }])
      }
  return (unit, rule) => {
    const own = rule === undefined ? [] : annotationsOf(unit, rule, annotations.get(unit) ?? [])
    const ruleScope = own.find(({ scope }) => scope === 'rule')
    const document = findDocument(units, annotations, { unit, rule })
    const chain: Value[] = []
    const path = [...unit.package, ...(rule === undefined ? [] : groundPrefix(rule.path))]
    if (rule !== undefined) chain.push(link(path, ruleScope))
    if (document !== undefined) chain.push(link(path, document))
    const inPackage = packages.get(packageKey(unit.package)) ?? []
    for (const { annotation } of inPackage)
      if (annotation.scope === 'package') chain.push(link(unit.package, annotation))
    for (let length = unit.package.length; length > 0; length--) {
      const above = unit.package.slice(0, length)
      for (const { annotation } of packages.get(packageKey(above)) ?? [])
        if (annotation.scope === 'subpackages') chain.push(link(above, annotation))
    }
    return { rule: ruleScope?.value ?? EMPTY_OBJECT, chain }
  }
}

function link(path: readonly string[], annotation: Annotation | undefined): Value {
  const entries: [string, Value][] = [['path', path]]
  if (annotation !== undefined) entries.push(['annotations', annotation.value])
  return objectOf(entries)
}

function isOfPackage(unit: Unit, { scope, lastRow }: Annotation): boolean {
  const row = unit.module?.packageRow ?? 0
  return (scope === 'package' || scope === 'subpackages') && lastRow < row
}

/** Returns the annotations between the preceding code and the rule. */
function annotationsOf(unit: Unit, rule: Rule, all: readonly Annotation[]): readonly Annotation[] {
  const row = unit.source.locate(rule.at).row
  let before = unit.module?.packageRow ?? 0
  for (const other of unit.module?.rules ?? [])
    if (other.at < rule.at && other.row < row) before = Math.max(before, other.row)
  return all.filter(({ firstRow, lastRow }) => firstRow > before && lastRow < row)
}

function findDocument(
  units: readonly Unit[],
  annotations: ReadonlyMap<Unit, readonly Annotation[]>,
  of: { readonly unit: Unit; readonly rule: Rule | undefined },
): Annotation | undefined {
  if (of.rule === undefined) return undefined
  const wanted = packageKey([...of.unit.package, ...groundPrefix(of.rule.path)])
  for (const unit of units)
    for (const rule of unit.module?.rules ?? []) {
      if (packageKey([...unit.package, ...groundPrefix(rule.path)]) !== wanted) continue
      const found = annotationsOf(unit, rule, annotations.get(unit) ?? []).find(
        ({ scope }) => scope === 'document',
      )
      if (found !== undefined) return found
    }
  return undefined
}

const HEADING = /^\s*METADATA\s*$/

function readAnnotations(unit: Unit): readonly Annotation[] {
  const comments = unit.module?.comments ?? []
  const found: Annotation[] = []
  for (let at = 0; at < comments.length; at++) {
    const first = comments[at]
    if (first === undefined || !HEADING.test(first.text)) continue
    const lines: string[] = []
    let last = first
    for (let next = at + 1; next < comments.length; next++) {
      const comment = comments[next]
      if (comment?.row !== last.row + 1 || comment.column !== first.column) break
      lines.push(comment.text.replace(/^ /, ''))
      last = comment
    }
    found.push({ ...readBlock(unit, lines, first.row), firstRow: first.row, lastRow: last.row })
  }
  return found
}

function readBlock(
  unit: Unit,
  lines: readonly string[],
  row: number,
): Pick<Annotation, 'scope' | 'value'> {
  const yaml = parseYaml(lines.join('\n'))
  const at = rowStart(unit, row)
  const trouble = { source: unit.source, at, code: 'rego_parse_error' } as const
  if (!yaml.ok) throwCompileError(trouble, `invalid metadata: ${yaml.error}`)
  const plain: JsonValue = yaml.value
  const value = fromJson(plain)
  if (!(value instanceof ObjectValue)) throwCompileError(trouble, 'metadata must be a map')
  const isPackage = (unit.module?.packageRow ?? 0) > row
  const scope = readScope(value, isPackage)
  if (scope === undefined) {
    const fitting = SCOPES[isPackage ? 'package' : 'rule'].join(' or ')
    throwCompileError(trouble, `invalid metadata: its scope must be ${fitting} here`)
  }
  return { scope, value: canonical(value, scope) }
}

function rowStart(unit: Unit, row: number): number {
  let at = 0
  for (let line = 1; line < row; line++) at = unit.source.text.indexOf('\n', at) + 1
  return at
}

/** Allowed scopes by the kind of the annotated node. */
const SCOPES = { rule: ['rule', 'document'], package: ['package', 'subpackages'] } as const

/**
 * Undefined for an unknown scope. An entrypoint applies to the document, whichever of its rules is
 * first.
 */
function readScope(value: ObjectValue, isPackage: boolean): MetadataScope | undefined {
  const given = value.get('scope') ?? null
  if (given !== null && given !== '')
    return SCOPES[isPackage ? 'package' : 'rule'].find((scope) => scope === given)
  if (isPackage) return 'package'
  return value.get('entrypoint') === true ? 'document' : 'rule'
}

/** Expands the short forms of authors and links. */
function canonical(value: ObjectValue, scope: MetadataScope): ObjectValue {
  const builder = new ObjectBuilder().setAll(value).set('scope', scope)
  const authors = value.get('authors')
  if (isArray(authors)) builder.set('authors', authors.map(canonicalAuthor))
  const related = value.get('related_resources')
  if (isArray(related))
    builder.set(
      'related_resources',
      related.map((item) => (typeof item === 'string' ? objectOf([['ref', item]]) : item)),
    )
  return builder.build()
}

function canonicalAuthor(author: Value): Value {
  if (typeof author !== 'string') return author
  const match = /^(.*?)\s*<([^<>]*)>\s*$/.exec(author)
  if (match === null) return objectOf([['name', author.trim()]])
  const [, name = '', email = ''] = match
  return objectOf([...(name === '' ? [] : [['name', name] as const]), ['email', email]])
}
