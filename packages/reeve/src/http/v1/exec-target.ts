import { v1Routes } from '@reeve/contract'
import type { Caller } from '../../acl/index.ts'
import { errorMessage } from '@reeve/kit/fault.ts'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  prepareAction,
  prepareExec,
  type PreparedExec,
  type WorkloadContext,
} from '../../workload/index.ts'
import type { Refusal } from '../../model/index.ts'
import { parseFirstJson } from '../json-text.ts'
import { closingOf, type Closing } from './exec-closing.ts'

/** The target of a channel, from its URL. */
export interface ExecTarget {
  readonly path: string
  readonly query: URLSearchParams
  readonly of:
    | { readonly kind: 'allocation'; readonly allocId: string }
    | { readonly kind: 'action'; readonly jobId: string }
}

const [ALLOCATION_START = '', ALLOCATION_END = ''] = v1Routes.execAllocation.path.split(':alloc_id')
const [JOB_START = '', JOB_END = ''] = v1Routes.runJobAction.path.split(':job_id')

/** Parses the URL; undefined if it belongs to another route. */
export function readTarget(url: string): ExecTarget | undefined {
  const [path = '', search = ''] = splitOnce(url, '?')
  const query = new URLSearchParams(search)
  const allocId = between(path, ALLOCATION_START, ALLOCATION_END)
  if (allocId !== undefined && !allocId.includes('/'))
    return { path, query, of: { kind: 'allocation', allocId } }
  // A job ID may contain slashes.
  const jobId = between(path, JOB_START, JOB_END)
  return jobId === undefined ? undefined : { path, query, of: { kind: 'action', jobId } }
}

function between(path: string, start: string, end: string): string | undefined {
  if (!path.startsWith(start) || !path.endsWith(end)) return undefined
  const inner = path.slice(start.length, path.length - end.length)
  if (inner === '' || path.length < start.length + end.length) return undefined
  try {
    return decodeURIComponent(inner)
  } catch {
    // Invalid percent-encoding matches no target.
    return undefined
  }
}

function splitOnce(text: string, at: string): readonly string[] {
  const index = text.indexOf(at)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + 1)]
}

/** Parses the parameters and prepares the session with the use case. */
export function prepareTarget(
  context: WorkloadContext,
  caller: Caller,
  { of, query }: ExecTarget,
): Result<PreparedExec, Closing> {
  const text = (name: string): string => query.get(name) ?? ''
  const tty = parseFlag(text('tty'))
  if (of.kind === 'action') {
    if (!tty.ok) return failed(`tty value is not a boolean: ${tty.error}`)
    const namespace = text('namespace') || 'default'
    const names = { task: text('task'), action: text('action'), allocId: text('allocID') }
    return closing(
      prepareAction(context, caller, { ...names, namespace, jobId: of.jobId, tty: tty.value }),
    )
  }
  const command = parseCommand(text('command'))
  if (!command.ok) return failed(`failed to marshal command into json: ${command.error}`)
  if (!tty.ok) return failed(`tty value is not a boolean: ${tty.error}`)
  const { allocId } = of
  const question = { allocId, task: text('task'), command: command.value, tty: tty.value }
  return closing(prepareExec(context, caller, question))
}

function failed(reason: string): Result<never, Closing> {
  return err({ code: 1011, reason })
}

function closing<T>(result: Result<T, Refusal>): Result<T, Closing> {
  return result.ok ? result : err(closingOf(result.error))
}

/** Parses the command. A missing one is empty, which the use case rejects. */
function parseCommand(text: string): Result<readonly string[], string> {
  if (text === '') return ok([])
  try {
    const value = parseFirstJson(text)
    if (Array.isArray(value) && value.every((part) => typeof part === 'string')) return ok(value)
    return err('json: cannot unmarshal the value into a list of strings')
  } catch (thrown) {
    return err(errorMessage(thrown))
  }
}

const FLAGS: ReadonlyMap<string, boolean> = new Map([
  ...['1', 't', 'T', 'TRUE', 'true', 'True'].map((text) => [text, true] as const),
  ...['', '0', 'f', 'F', 'FALSE', 'false', 'False'].map((text) => [text, false] as const),
])

export function parseFlag(text: string): Result<boolean, string> {
  const value = FLAGS.get(text)
  if (value !== undefined) return ok(value)
  return err(`strconv.ParseBool: parsing ${JSON.stringify(text)}: invalid syntax`)
}
