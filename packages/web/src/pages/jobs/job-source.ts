import type { Job, JobRegisterRequest, ParsedJob } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import { problemsIn, type Problem } from '../../editor/problem.ts'
import type { Api } from '../../session/api.ts'

/** What a person wrote. */
export interface JobSource {
  readonly text: string
  readonly format: 'hcl2' | 'json'
  /** Values of variables, as a variables file. */
  readonly variables: string
}

/** A job that changes while its definition does not, as one that ends, is shown by a new object. */
export function isSameSource(a: JobSource, b: JobSource): boolean {
  return a.text === b.text && a.format === b.format && a.variables === b.variables
}

export type ReadSource =
  | { readonly job: ParsedJob; readonly problems: readonly [] }
  | { readonly job: undefined; readonly problems: readonly Problem[] }

interface ReadOptions {
  readonly namespace: string
  readonly signal?: AbortSignal
}

/** The job that a text describes, or what is wrong with it. */
export async function readSource(
  api: Api,
  { text, format, variables }: JobSource,
  { namespace, signal }: ReadOptions,
): Promise<ReadSource> {
  if (format === 'json') return readJson(text)
  const body = { JobHCL: text, Variables: variables, Canonicalize: true }
  try {
    const { data } = await api.v1.parseJob({ query: { namespace }, body, signal })
    return namedJob(data)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error
    return { job: undefined, problems: problemsIn(error.text) }
  }
}

/** A job, or a request that holds one, as examples for the API do. */
export function readJson(text: string): ReadSource {
  try {
    const value: unknown = JSON.parse(text)
    const inner: unknown =
      typeof value === 'object' && value !== null && 'Job' in value ? value.Job : value
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
      return { job: undefined, problems: problemsIn('A job is an object.') }
    // The server holds it against the schema when it is planned or registered.
    return namedJob(inner)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { job: undefined, problems: [jsonProblem(text, error.message)] }
  }
}

/** Its ID is in the address of each request about it. */
function namedJob(job: ParsedJob): ReadSource {
  const id: unknown = job.ID
  if (typeof id === 'string' && id !== '') return { job, problems: [] }
  return { job: undefined, problems: problemsIn('A job has an ID, a text that is not empty.') }
}

/** Engines name the position of most faults; where they do not, the first line stands for it. */
function jsonProblem(text: string, message: string): Problem {
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? 0)
  const before = text.slice(0, position).split('\n')
  const line = before.length
  const column = (before.at(-1)?.length ?? 0) + 1
  return { line, column, endLine: line, endColumn: column + 1, message }
}

/** The body of a registration that keeps the text beside the job. */
export function registrationOf(source: JobSource, job: ParsedJob): JobRegisterRequest {
  const { text: Source, format: Format, variables: Variables } = source
  return { Job: job, Submission: { Source, Format, Variables } }
}

/** A job without what only the server writes: for one that was submitted without a text. */
export function jobAsJson(job: Job): string {
  const {
    Status: _status,
    StatusDescription: _words,
    Stable: _stable,
    Version: _version,
    ...rest
  } = job
  const { SubmitTime: _time, CreateIndex: _made, ModifyIndex: _changed, ...more } = rest
  const { JobModifyIndex: _index, VersionTag: _tag, ServiceTokenID: _token, ...others } = more
  const { Quarantine: _quarantine, NodeLosses: _losses, ...kept } = others
  return JSON.stringify(kept, null, 2)
}
