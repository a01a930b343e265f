import { rangeOf, type Expression, type Range, type Span } from '@reeve/hcl'
import { isRecord, type Json, type JsonRecord } from './json.ts'

/** Maps fields of a job to source positions. */
export interface Positions {
  /**
   * The position of a field by its wire path, as in validation problems:
   * `TaskGroups[0].Tasks[1].Driver`. For an unset field, the position of its closest written
   * ancestor.
   */
  find(path: string): Range
}

/** Position of a field, with the expression of its value. */
export interface Mark {
  readonly span: Span
  readonly expression?: Expression
}

/** Positions of an object and its fields by name. */
export interface Marks {
  readonly span: Span
  readonly fields: ReadonlyMap<string, Mark>
}

/** Keyed by object identity, because objects move until the job is complete. */
export type Places = WeakMap<JsonRecord, Marks>

export function makePositions(job: JsonRecord, places: Places, whole: Span): Positions {
  return {
    find(path) {
      let at: Step = { value: job, mark: { span: places.get(job)?.span ?? whole } }
      for (let rest = path; rest !== '';) {
        const next = follow(at, rest, places)
        if (next === undefined) break
        at = next.step
        rest = next.rest
      }
      return rangeOf(at.mark.span)
    },
  }
}

interface Step {
  readonly value: Json | undefined
  readonly mark: Mark
}

const INDEX = /^\[(\d+)\]/

function follow(
  at: Step,
  path: string,
  places: Places,
): { readonly step: Step; readonly rest: string } | undefined {
  if (!isRecord(at.value)) {
    const [text, index] = INDEX.exec(path) ?? []
    if (text === undefined) return undefined
    return { step: elementOf(at, Number(index), places), rest: path.slice(text.length) }
  }
  const key = findKey(at.value, path)
  if (key === undefined) return undefined
  const step = fieldOf(at, at.value, { name: key.name, places })
  return { step, rest: path.slice(key.length) }
}

/**
 * Finds the first name of the path, as `.Name` or `[name]`. A map key may contain dots, as in
 * `Meta.team.name`: the longest match wins.
 */
function findKey(
  record: JsonRecord,
  path: string,
): { readonly name: string; readonly length: number } | undefined {
  const start = path.startsWith('.') ? 1 : 0
  const rest = path.slice(start)
  const fitting = Object.keys(record).flatMap((name) => {
    if (path.startsWith(`[${name}]`)) return [{ name, length: name.length + 2 }]
    const isWhole = rest === name || rest.startsWith(`${name}.`) || rest.startsWith(`${name}[`)
    return isWhole ? [{ name, length: start + name.length }] : []
  })
  return fitting.toSorted((one, other) => other.length - one.length)[0]
}

function fieldOf(
  at: Step,
  record: JsonRecord,
  { name, places }: { readonly name: string; readonly places: Places },
): Step {
  const mark = places.get(record)?.fields.get(name)
  const value = Object.hasOwn(record, name) ? record[name] : undefined
  // The position of a block is preferred to that of an attribute, because it has positions of its
  // fields.
  return { value, mark: ownMark(value, places) ?? mark ?? { span: at.mark.span } }
}

function elementOf(at: Step, index: number, places: Places): Step {
  const value = Array.isArray(at.value) ? at.value[index] : undefined
  const { expression } = at.mark
  const element = expression?.kind === 'tuple' ? expression.elements[index] : undefined
  const written = element === undefined ? at.mark : { span: element.span, expression: element }
  return { value, mark: ownMark(value, places) ?? written }
}

function ownMark(value: Json | undefined, places: Places): Mark | undefined {
  if (!isRecord(value)) return undefined
  const marks = places.get(value)
  return marks === undefined ? undefined : { span: marks.span }
}
