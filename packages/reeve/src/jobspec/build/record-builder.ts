import { errorAt, type StepBudget, type Span } from '@reeve/hcl'
import { report, type DiagnosticList } from '../diagnostics.ts'
import type { Json, JsonRecord } from '../source.ts'
import type { FieldSpan, SpanIndex } from '../source-map.ts'

/** Shared state while a job block is built. */
export interface BuildContext {
  readonly findings: DiagnosticList
  readonly places: SpanIndex
  readonly meter: StepBudget
}

/**
 * A record under construction: fields by wire name, and pseudo-fields whose names start with `@`.
 */
export interface RecordBuilder {
  readonly values: Map<string, Json>
  readonly marks: Map<string, FieldSpan>
  /** Span of the block's header. */
  readonly span: Span
  readonly building: BuildContext
}

/** Removes a pseudo-field and returns its value; undefined if it was not written. */
export function takePseudoField(draft: RecordBuilder, name: `@${string}`): Json | undefined {
  const value = draft.values.get(name)
  draft.values.delete(name)
  return value
}

/** Sets a field from an argument of another name, with its source position. */
export function setFrom(
  draft: RecordBuilder,
  to: string,
  { value, from }: { readonly value: Json; readonly from: string },
): void {
  draft.values.set(to, value)
  const mark = draft.marks.get(from)
  if (mark !== undefined) draft.marks.set(to, mark)
}

export function stringField(draft: RecordBuilder, name: string): string | undefined {
  const value = draft.values.get(name)
  return typeof value === 'string' ? value : undefined
}

/** Sets a field that the file does not set. */
export function setDefault(draft: RecordBuilder, name: string, value: Json): void {
  if (!draft.values.has(name)) draft.values.set(name, value)
}

/** Reports an error at the position of a field. */
export function reportAt(
  draft: RecordBuilder,
  name: string,
  { summary, detail }: { readonly summary: string; readonly detail: string },
): void {
  const span = draft.marks.get(name)?.span ?? draft.span
  report(draft.building.findings, () => errorAt(span, summary, detail))
}

/** Copies a record with some fields changed, keeping its source position. */
export function copyWith(record: JsonRecord, changes: JsonRecord, places: SpanIndex): JsonRecord {
  const copy = { ...record, ...changes }
  const marks = places.get(record)
  if (marks !== undefined) places.set(copy, marks)
  return copy
}
