import { useState } from 'react'
import type { Job, JobRegisterRequest, ParsedJob } from '@reeve/contract'
import { ApiError } from '@reeve/sdk'
import { parseProblems, type Problem } from '../../editor/problem.ts'
import type { Api } from '../../session/api.ts'

/** The text of a job, as the user wrote it. */
export interface JobSource {
  readonly text: string
  readonly format: 'hcl2' | 'json'
  /** Values of variables, as a variables file. */
  readonly variables: string
}

/** Compares texts: the object changes with the status of the job, for example when it ends. */
export function isSameSource(a: JobSource, b: JobSource): boolean {
  return a.text === b.text && a.format === b.format && a.variables === b.variables
}

type ParsedSource =
  | { readonly job: ParsedJob; readonly problems: readonly [] }
  | { readonly job: undefined; readonly problems: readonly Problem[] }

interface ParseOptions {
  readonly namespace: string
  readonly signal?: AbortSignal
}

/** Parses a text to a job, or returns its errors. */
export async function parseSource(
  api: Api,
  { text, format, variables }: JobSource,
  { namespace, signal }: ParseOptions,
): Promise<ParsedSource> {
  if (format === 'json') return parseJsonJob(text)
  const body = { JobHCL: text, Variables: variables, Canonicalize: true }
  try {
    const { data } = await api.v1.parseJob({ query: { namespace }, body, signal })
    return requireJobId(data)
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 400) throw error
    return { job: undefined, problems: parseProblems(error.text) }
  }
}

/** Parses a job, or a request that contains one, as API examples do. */
export function parseJsonJob(text: string): ParsedSource {
  try {
    const value: unknown = JSON.parse(text)
    const inner: unknown =
      typeof value === 'object' && value !== null && 'Job' in value ? value.Job : value
    if (typeof inner !== 'object' || inner === null || Array.isArray(inner))
      return { job: undefined, problems: parseProblems('A job is an object.') }
    // The server validates it against the schema when it is planned or registered.
    return requireJobId(inner)
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
    return { job: undefined, problems: [jsonProblem(text, error.message)] }
  }
}

/** Requires an ID, which is part of the URL of every request. */
function requireJobId(job: ParsedJob): ParsedSource {
  const id: unknown = job.ID
  if (typeof id === 'string' && id !== '') return { job, problems: [] }
  return { job: undefined, problems: parseProblems('A job has an ID, a text that is not empty.') }
}

/** Takes the position from the message of the engine; without one, the first line. */
function jsonProblem(text: string, message: string): Problem {
  const position = Number(/position (\d+)/.exec(message)?.[1] ?? 0)
  const before = text.slice(0, position).split('\n')
  const line = before.length
  const column = (before.at(-1)?.length ?? 0) + 1
  return { line, column, endLine: line, endColumn: column + 1, message }
}

/** Returns the body of a registration that stores the text beside the job. */
export function toRegisterRequest(source: JobSource, job: ParsedJob): JobRegisterRequest {
  const { text: Source, format: Format, variables: Variables } = source
  return { Job: job, Submission: { Source, Format, Variables } }
}

/** Returns a job without server-side fields, for jobs that were submitted without a text. */
export function jobToJson(job: Job): string {
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

/**
 * Keeps an edited job in the session storage of the tab, so that it survives navigation, until it
 * is submitted or discarded.
 */
export function useJobDraft(name: string, initial: JobSource) {
  const key = `reeve.draft.${name}`
  const [draft, setDraft] = useState(() => readJobDraft(key))
  return {
    source: draft ?? initial,
    isChanged: draft !== undefined && draft.text !== initial.text,
    change: (source: JobSource) => {
      sessionStorage.setItem(key, JSON.stringify(source))
      setDraft(source)
    },
    discard: () => {
      sessionStorage.removeItem(key)
      setDraft(undefined)
    },
  }
}

function readJobDraft(key: string): JobSource | undefined {
  const text = sessionStorage.getItem(key)
  // Only `useDraft` writes under this name, and it writes sources.
  return text === null ? undefined : (JSON.parse(text) as JobSource)
}
