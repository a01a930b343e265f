import { rangeOf, type Expression, type Range, type Span } from '@reeve/hcl'
import { isRecord, type Json, type JsonRecord } from './source.ts'

/** Maps fields of a job to source positions. */
export interface SourceMap {
  /**
   * The position of a field by its wire path, as in validation problems:
   * `TaskGroups[0].Tasks[1].Driver`. For an unset field, the position of its closest written
   * ancestor.
   */
  find(path: string): Range
}

/** Position of a field, with the expression of its value. */
export interface FieldSpan {
  readonly span: Span
  readonly expression?: Expression
}

/** Positions of an object and its fields by name. */
interface RecordSpans {
  readonly span: Span
  readonly fields: ReadonlyMap<string, FieldSpan>
}

/** Keyed by object identity, because objects move until the job is complete. */
export type SpanIndex = WeakMap<JsonRecord, RecordSpans>

export function createSourceMap(job: JsonRecord, places: SpanIndex, whole: Span): SourceMap {
  return {
    find(path) {
      let current: ResolvedValue = { value: job, mark: { span: places.get(job)?.span ?? whole } }
      for (let rest = path; rest !== '';) {
        const next = resolveSegment(current, rest, places)
        if (next === undefined) break
        current = next.step
        rest = next.rest
      }
      return rangeOf(current.mark.span)
    },
  }
}

interface ResolvedValue {
  readonly value: Json | undefined
  readonly mark: FieldSpan
}

const INDEX = /^\[(\d+)\]/

function resolveSegment(
  current: ResolvedValue,
  path: string,
  places: SpanIndex,
): { readonly step: ResolvedValue; readonly rest: string } | undefined {
  if (!isRecord(current.value)) {
    const [text, index] = INDEX.exec(path) ?? []
    if (text === undefined) return undefined
    return { step: resolveElement(current, Number(index), places), rest: path.slice(text.length) }
  }
  const key = findKey(current.value, path)
  if (key === undefined) return undefined
  const step = resolveField(current, current.value, { name: key.name, places })
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
  const candidates = Object.keys(record).flatMap((name) => {
    if (path.startsWith(`[${name}]`)) return [{ name, length: name.length + 2 }]
    const isWhole = rest === name || rest.startsWith(`${name}.`) || rest.startsWith(`${name}[`)
    return isWhole ? [{ name, length: start + name.length }] : []
  })
  return candidates.toSorted((one, other) => other.length - one.length)[0]
}

function resolveField(
  current: ResolvedValue,
  record: JsonRecord,
  { name, places }: { readonly name: string; readonly places: SpanIndex },
): ResolvedValue {
  const mark = places.get(record)?.fields.get(name)
  const value = Object.hasOwn(record, name) ? record[name] : undefined
  // The position of a block is preferred to that of an attribute, because it has positions of its
  // fields.
  return { value, mark: recordSpan(value, places) ?? mark ?? { span: current.mark.span } }
}

function resolveElement(current: ResolvedValue, index: number, places: SpanIndex): ResolvedValue {
  const value = Array.isArray(current.value) ? current.value[index] : undefined
  const { expression } = current.mark
  const element = expression?.kind === 'tuple' ? expression.elements[index] : undefined
  const written = element === undefined ? current.mark : { span: element.span, expression: element }
  return { value, mark: recordSpan(value, places) ?? written }
}

function recordSpan(value: Json | undefined, places: SpanIndex): FieldSpan | undefined {
  if (!isRecord(value)) return undefined
  const marks = places.get(value)
  return marks === undefined ? undefined : { span: marks.span }
}
