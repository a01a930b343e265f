import { errorAt, type Meter, type Span } from '@reeve/hcl'
import { note, type Findings } from '../findings.ts'
import type { Json, JsonRecord } from '../json.ts'
import type { Mark, Places } from '../places.ts'

/** Shared state while a job block is built. */
export interface Building {
  readonly findings: Findings
  readonly places: Places
  readonly meter: Meter
}

/**
 * A record under construction: fields by wire name, and pseudo-fields whose names start with `@`.
 */
export interface Draft {
  readonly values: Map<string, Json>
  readonly marks: Map<string, Mark>
  /** Span of the block's header. */
  readonly span: Span
  readonly building: Building
}

/** Removes a pseudo-field and returns its value; undefined if it was not written. */
export function take(draft: Draft, name: `@${string}`): Json | undefined {
  const value = draft.values.get(name)
  draft.values.delete(name)
  return value
}

/** Sets a field from an argument of another name, with its source position. */
export function put(
  draft: Draft,
  to: string,
  { value, from }: { readonly value: Json; readonly from: string },
): void {
  draft.values.set(to, value)
  const mark = draft.marks.get(from)
  if (mark !== undefined) draft.marks.set(to, mark)
}

export function textOf(draft: Draft, name: string): string | undefined {
  const value = draft.values.get(name)
  return typeof value === 'string' ? value : undefined
}

/** Sets a field that the file does not set. */
export function fallBack(draft: Draft, name: string, value: Json): void {
  if (!draft.values.has(name)) draft.values.set(name, value)
}

/** Reports an error at the position of a field. */
export function refuse(
  draft: Draft,
  name: string,
  { summary, detail }: { readonly summary: string; readonly detail: string },
): void {
  const span = draft.marks.get(name)?.span ?? draft.span
  note(draft.building.findings, () => errorAt(span, summary, detail))
}

/** Copies a record with some fields changed, keeping its source position. */
export function amend(record: JsonRecord, changes: JsonRecord, places: Places): JsonRecord {
  const copy = { ...record, ...changes }
  const marks = places.get(record)
  if (marks !== undefined) places.set(copy, marks)
  return copy
}
