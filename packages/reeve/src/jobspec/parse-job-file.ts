import type { HostVolumeInput, ParsedJob } from '@reeve/contract'
import type { JobFileAliases } from '../compat/index.ts'
import type { Random } from '@reeve/kit/clock.ts'
import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  childScope,
  decodeBody,
  errorAt,
  readPartialContent,
  type Attribute,
  type Block,
  type Body,
  type BodySchema,
  type Content,
  type Diagnostic,
  type FunctionDefinition,
  type ObjectValue,
  type Scope,
  formatRange,
  rangeOf,
  type DecodedBody,
  type StepBudget,
  type Span,
  createScope,
} from '@reeve/hcl'
import { buildRecord } from './build/build.ts'
import { DYNAMIC } from './dynamic.ts'
import {
  sortBySource,
  createDiagnosticList,
  reportAll,
  type DiagnosticList,
  report,
} from './diagnostics.ts'
import { jobFunctions, type FileFunctions } from './functions/functions.ts'
import { JOB_FILE_STEPS_MAX } from './limits.ts'
import { evaluateLocals } from './locals.ts'
import { createSourceMap, type SourceMap, type SpanIndex } from './source-map.ts'
import { parseSource, type SourceFile } from './source.ts'
import { JOB } from './schema/job.ts'
import { OWN_NAMES, withAliases } from './schema/other-names.ts'
import type { BlockMapping } from './schema/block-mapping.ts'
import { VOLUME } from './schema/volume.ts'
import { createJobScope } from './scope.ts'
import { readDeclarations } from './variables/declarations.ts'
import { resolveVariables } from './variables/sources.ts'

export interface JobFileRequest extends SourceFile {
  /** Variable files in order; the text of a request comes last. */
  readonly variableTexts?: readonly SourceFile[]
  /** Values of individual variables by name. */
  readonly flags?: Readonly<Record<string, string>>
  /** Environment variables, of which `REEVE_VAR_<name>` are used. Servers pass none. */
  readonly environment?: Readonly<Record<string, string | undefined>>
  /** Whether a value for an undeclared variable is an error instead of a warning. */
  readonly strict: boolean
  /** Undefined on a server, where job files must not read files. */
  readonly files: FileFunctions | undefined
  readonly random: Random
  /** Alternative names of blocks and arguments. Default: none. */
  readonly aliases?: JobFileAliases
  /** Required by `rsadecrypt`, which otherwise fails. */
  readonly crypto?: CryptoHost | undefined
  readonly nowMs?: number
}

export interface JobFile {
  /** All fields are present; unset ones are null. */
  readonly job: ParsedJob
  readonly warnings: readonly Diagnostic[]
  readonly positions: SourceMap
  /** The variable values used, by name. */
  readonly variables: ObjectValue
}

export type JobFileResult = Result<JobFile, readonly Diagnostic[]>

/**
 * Parses and evaluates a job file. Returns the job or all errors; never throws. Work is bounded by
 * the size of the text and the limits of the language.
 */
export function parseJobFile(request: JobFileRequest): JobFileResult {
  const { files, random, crypto, nowMs } = request
  const functions = jobFunctions({
    files,
    random,
    crypto,
    ...(nowMs === undefined ? {} : { nowMs }),
  })
  return readJobFile(request, functions)
}

function readJobFile(
  request: JobFileRequest,
  functions: ReadonlyMap<string, FunctionDefinition>,
): JobFileResult {
  const findings = createDiagnosticList()
  const body = parseOrReport(request, findings)
  const bodies = (request.variableTexts ?? []).flatMap(
    (text) => parseOrReport(text, findings) ?? [],
  )
  if (body === undefined || findings.errors.length > 0) return err(sortBySource(findings.errors))
  if (isApiJob(body)) return err([errorAt(body.anchor, 'Missing job block', API_JOB)])
  const { content: top, diagnostics } = readPartialContent(body, FILE_SCHEMA)
  reportAll(findings, diagnostics)
  const block = findJobBlock(body, top, findings)
  const scope = createJobScope(functions)
  const names = evaluateNames({ top, bodies, request }, scope, findings)
  if (names === undefined || block === undefined) return err(sortBySource(findings.errors))
  const table = withAliases(JOB, request.aliases ?? OWN_NAMES)
  const decoded = decodeBody(block.body, table.schema, { scope: names.scope, expander: DYNAMIC })
  if (!decoded.ok) reportAll(findings, decoded.error)
  const building = { table, findings, meter: scope.meter, fallbackSpan: body.anchor }
  const built = decoded.ok ? buildJob(block, decoded.value, building) : undefined
  if (built === undefined || findings.errors.length > 0) return err(sortBySource(findings.errors))
  return ok({ ...built, warnings: findings.warnings, variables: names.variables })
}

const API_JOB = 'This is a job as the API takes it: register it as it is, without parsing.'

/** The JSON syntax of HCL differs from the JSON of the API. */
function isApiJob({ syntax, attributes }: Body): boolean {
  return syntax === 'json' && attributes.some(({ name }) => name === 'Job' || name === 'TaskGroups')
}

function parseOrReport(text: SourceFile, findings: DiagnosticList): Body | undefined {
  const read = parseSource(text)
  if (read.ok) return read.value
  reportAll(findings, read.error)
  return undefined
}

const FILE_SCHEMA: BodySchema = {
  blocks: {
    variable: { labels: ['name'] },
    variables: {},
    locals: {},
    job: { labels: ['name'] },
  },
}

function blocksOf({ blocks }: Content, ...types: readonly string[]): readonly Block[] {
  return blocks.filter((block) => types.includes(block.type))
}

interface EvaluationInput {
  readonly top: Content
  readonly bodies: readonly Body[]
  readonly request: JobFileRequest
}

interface EvaluatedNames {
  readonly scope: Scope
  readonly variables: ObjectValue
}

/**
 * Evaluates variables, then locals. Undefined if a variable has no value, because everything that
 * uses it would fail too.
 */
function evaluateNames(
  inputs: EvaluationInput,
  scope: Scope,
  findings: DiagnosticList,
): EvaluatedNames | undefined {
  const { top, bodies, request } = inputs
  const { strict, flags = {}, environment = {}, aliases = OWN_NAMES } = request
  // A separate list, because diagnostics of the rest of the file are irrelevant here.
  const ownFindings = createDiagnosticList()
  const declarations = readDeclarations(blocksOf(top, 'variable', 'variables'), {
    scope,
    findings: ownFindings,
  })
  const { variablePrefixes } = aliases
  const sources = { environment, variablePrefixes, bodies, flags }
  const variables = resolveVariables(sources, {
    declarations,
    scope,
    findings: ownFindings,
    strict,
  })
  reportAll(findings, [...ownFindings.errors, ...ownFindings.warnings])
  if (!variables.isComplete) return undefined
  const withVariables = childScope(scope, { var: variables.values })
  const errorCount = findings.errors.length
  const local = evaluateLocals(readLocals(top, findings), withVariables, findings)
  if (findings.errors.length > errorCount) return undefined
  return { scope: childScope(withVariables, { local }), variables: variables.values }
}

function readLocals(top: Content, findings: DiagnosticList): readonly Attribute[] {
  return blocksOf(top, 'locals').flatMap((block) => {
    const { content, diagnostics } = readPartialContent(block.body, { otherAttributes: {} })
    reportAll(findings, diagnostics)
    return [...content.attributes.values()]
  })
}

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

interface JobBuildOptions {
  readonly table: BlockMapping
  readonly findings: DiagnosticList
  readonly meter: StepBudget
  /** Position for parts of the job that are not written. */
  readonly fallbackSpan: Span
}

interface BuiltJob {
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

/** Roots of node properties. */
const NODE_ROOTS: ReadonlySet<string> = new Set(['attr', 'meta', 'node'])

const isDeferred = (root: string): boolean => NODE_ROOTS.has(root)

/**
 * Parses the file that describes one dynamic host volume. References such as `${attr.kernel.name}`
 * in constraints are compared on the servers, and stay text.
 */
export function parseVolumeFile(file: SourceFile): Result<HostVolumeInput, readonly Diagnostic[]> {
  const body = parseSource(file)
  if (!body.ok) return body
  const scope = createScope({ isDeferred, limits: { stepsMax: JOB_FILE_STEPS_MAX } })
  const decoded = decodeBody(body.value, VOLUME.schema, { scope })
  if (!decoded.ok) return err(decoded.error)
  const findings = createDiagnosticList()
  const source = { labels: [], body: decoded.value, headerSpan: body.value.anchor }
  const building = { findings, places: new WeakMap(), meter: scope.meter }
  const record = buildRecord(source, VOLUME, building)
  if (findings.errors.length > 0) return err(sortBySource(findings.errors))
  const written = Object.entries(record).filter(([, value]) => value !== null)
  // Proof: the table names only fields of the contract and reads each as its declared kind; the
  // server validates the request against the contract's schema.
  return ok(Object.fromEntries(written) as HostVolumeInput)
}
