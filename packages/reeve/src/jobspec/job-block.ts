import type { ParsedJob } from '@reeve/contract'
import {
  errorAt,
  formatRange,
  rangeOf,
  type Block,
  type Body,
  type Content,
  type DecodedBody,
  type StepBudget,
  type Span,
} from '@reeve/hcl'
import { buildRecord } from './build/build.ts'
import { report, type DiagnosticList } from './findings.ts'
import { createSourceMap, type SpanIndex, type SourceMap } from './places.ts'
import type { BlockMapping } from './schema/table.ts'

/**
 * The only job block of a file. Reports an error and returns undefined if there is none or more
 * than one.
 */
export function findJobBlock(
  body: Body,
  content: Content,
  findings: DiagnosticList,
): Block | undefined {
  const [first, second] = content.blocks.filter(({ type }) => type === 'job')
  if (second !== undefined) {
    const at = first === undefined ? '' : formatRange(rangeOf(first.headerSpan))
    const detail = `A job file has exactly one job block, and there is one at ${at}.`
    report(findings, () => errorAt(second.headerSpan, 'Duplicate job block', detail))
  }
  // A job block that could not be read is already reported.
  const isWritten = [...body.blocks.map(({ type }) => type), ...body.attributes.map(nameOf)]
  if (first === undefined && !isWritten.includes('job')) {
    const detail = 'A job file has exactly one block: job "name" { … }.'
    report(findings, () => errorAt(body.anchor, 'Missing job block', detail))
  }
  return first
}

function nameOf({ name }: { readonly name: string }): string {
  return name
}

export interface JobBuildOptions {
  readonly table: BlockMapping
  readonly findings: DiagnosticList
  readonly meter: StepBudget
  /** Position for parts of the job that are not written. */
  readonly fallbackSpan: Span
}

export interface BuiltJob {
  readonly job: ParsedJob
  readonly positions: SourceMap
}

/** Builds the job from a block that was decoded with the schema of its mapping. */
export function buildJob(block: Block, body: DecodedBody, building: JobBuildOptions): BuiltJob {
  const { table, findings, meter, fallbackSpan } = building
  const places: SpanIndex = new WeakMap()
  const labels = block.labels.map((label) => label.text)
  const source = { labels, body, headerSpan: block.headerSpan }
  const record = buildRecord(source, table, { findings, places, meter })
  // Proof: mappings name only fields of the contract and read each as its declared kind; a test
  // validates results against the contract's schema.
  const job = record as unknown as ParsedJob
  return { job, positions: createSourceMap(record, places, fallbackSpan) }
}
