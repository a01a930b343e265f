import type { ParsedJob } from '@reeve/contract'
import {
  errorAt,
  formatRange,
  rangeOf,
  type Block,
  type Body,
  type Content,
  type DecodedBody,
  type Meter,
  type Span,
} from '@reeve/hcl'
import { buildRecord } from './build/build.ts'
import { note, type Findings } from './findings.ts'
import { makePositions, type Places, type Positions } from './places.ts'
import type { BlockTable } from './schema/table.ts'

/**
 * The only job block of a file. Reports an error and returns undefined if there is none or more
 * than one.
 */
export function findJobBlock(body: Body, content: Content, findings: Findings): Block | undefined {
  const [first, second] = content.blocks.filter(({ type }) => type === 'job')
  if (second !== undefined) {
    const at = first === undefined ? '' : formatRange(rangeOf(first.headerSpan))
    const detail = `A job file has exactly one job block, and there is one at ${at}.`
    note(findings, () => errorAt(second.headerSpan, 'Duplicate job block', detail))
  }
  // A job block that could not be read is already reported.
  const isWritten = [...body.blocks.map(({ type }) => type), ...body.attributes.map(nameOf)]
  if (first === undefined && !isWritten.includes('job')) {
    const detail = 'A job file has exactly one block: job "name" { … }.'
    note(findings, () => errorAt(body.anchor, 'Missing job block', detail))
  }
  return first
}

function nameOf({ name }: { readonly name: string }): string {
  return name
}

export interface JobBuilding {
  readonly table: BlockTable
  readonly findings: Findings
  readonly meter: Meter
  /** Position for parts of the job that are not written. */
  readonly whole: Span
}

export interface BuiltJob {
  readonly job: ParsedJob
  readonly positions: Positions
}

/** Builds the job from a block that was decoded with the schema of its mapping. */
export function buildJob(block: Block, body: DecodedBody, building: JobBuilding): BuiltJob {
  const { table, findings, meter, whole } = building
  const places: Places = new WeakMap()
  const labels = block.labels.map((label) => label.text)
  const source = { labels, body, headerSpan: block.headerSpan }
  const record = buildRecord(source, table, { findings, places, meter })
  // Proof: mappings name only fields of the contract and read each as its declared kind; a test
  // validates results against the contract's schema.
  const job = record as unknown as ParsedJob
  return { job, positions: makePositions(record, places, whole) }
}
