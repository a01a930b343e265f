import type { Paint, Tone } from '../../output/style.ts'
import {
  isPlain,
  objectAt,
  objectsIn,
  textAt,
  valueText,
  type PlainObject,
} from '../plain-value.ts'

/** Resources, drift and outputs that a plan changes, with their attributes. */
export function planChangesText(plan: PlainObject, paint: Paint): string {
  const resources = objectsIn(plan['resource_changes']).flatMap((one) => resourceLines(one, paint))
  const drift = objectsIn(plan['resource_drift']).flatMap((one) => resourceLines(one, paint))
  const outputs = Object.entries(objectAt(plan, 'output_changes')).flatMap(([name, change]) =>
    isPlain(change) ? changeLines({ name, change, isOutput: true }, paint) : [],
  )
  return [
    part('Resource changes', resources),
    part('Drift', drift),
    part('Output changes', outputs),
  ]
    .filter((text) => text !== '')
    .join('\n')
}

function part(title: string, lines: readonly string[]): string {
  return lines.length === 0 ? '' : `${title}:\n${lines.map((line) => `  ${line}\n`).join('')}`
}

function resourceLines(resource: PlainObject, paint: Paint): readonly string[] {
  const name = textAt(resource, 'address')
  return changeLines({ name, change: objectAt(resource, 'change'), isOutput: false }, paint)
}

interface NamedChange {
  readonly name: string
  readonly change: PlainObject
  /** An output is one value, without attributes. */
  readonly isOutput: boolean
}

/** Actions of a change, as one symbol; a change without effect has none. */
const SYMBOLS: Readonly<Record<string, readonly [symbol: string, tone: Tone]>> = {
  create: ['+', 'added'],
  update: ['~', 'changed'],
  delete: ['-', 'removed'],
  'delete,create': ['-/+', 'changed'],
  'create,delete': ['+/-', 'changed'],
  forget: ['.', 'changed'],
}

function changeLines(named: NamedChange, paint: Paint): readonly string[] {
  const { name, change, isOutput } = named
  const actions = Array.isArray(change['actions']) ? change['actions'].join(',') : ''
  const [symbol, tone] = SYMBOLS[actions] ?? []
  const isImported = isPlain(change['importing'])
  if ((symbol === undefined || tone === undefined) && !isImported) return []
  const head = `${paint(tone ?? 'added', symbol ?? '=')} ${name}${isImported ? ' (imported)' : ''}`
  if (isOutput) return [`${head}: ${sidesText(sidesOf(change))}`]
  return [head, ...attributeLines(change).map((line) => `    ${line}`)]
}

/** The two sides of a change, or of one attribute in it. */
interface Sides {
  readonly before: unknown
  readonly after: unknown
  readonly isUnknown: boolean
  readonly isSensitive: boolean
}

function sidesOf(change: PlainObject): Sides {
  return {
    before: change['before'],
    after: change['after'],
    isUnknown: change['after_unknown'] === true,
    isSensitive: change['before_sensitive'] === true || change['after_sensitive'] === true,
  }
}

/** The attributes that differ, one in a line. */
function attributeLines(change: PlainObject): readonly string[] {
  const [before, after] = [objectAt(change, 'before'), objectAt(change, 'after')]
  const unknown = objectAt(change, 'after_unknown')
  const names = new Set([before, after, unknown].flatMap((object) => Object.keys(object)))
  const sensitive = [objectAt(change, 'before_sensitive'), objectAt(change, 'after_sensitive')]
  return [...names].toSorted().flatMap((name) => {
    const sides: Sides = {
      before: before[name],
      after: after[name],
      isUnknown: hasMark(unknown[name]),
      isSensitive: sensitive.some((marks) => hasMark(marks[name])),
    }
    const isEqual = JSON.stringify(sides.before) === JSON.stringify(sides.after)
    if (isEqual && !sides.isUnknown && !sides.isSensitive) return []
    return [`${name}: ${sidesText(sides)}`]
  })
}

/** Marks have the form of the value: `true` at any depth counts. */
function hasMark(mark: unknown): boolean {
  if (Array.isArray(mark)) return mark.some(hasMark)
  return mark === true || (isPlain(mark) && Object.values(mark).some(hasMark))
}

function sidesText({ before, after, isUnknown, isSensitive }: Sides): string {
  if (isSensitive) return '(sensitive)'
  const next = isUnknown ? '(known after apply)' : valueText(after)
  if (before === undefined || before === null) return next
  return after === undefined && !isUnknown
    ? `${valueText(before)} -> null`
    : `${valueText(before)} -> ${next}`
}
