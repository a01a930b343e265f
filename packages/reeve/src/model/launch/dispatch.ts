import type { Job, ParameterizedJobConfig } from '@reeve/contract'
import { compareText } from '@reeve/kit/sorted-list.ts'
import { isParameterized } from '../job/job.ts'
import { LIMITS } from '../limits.ts'
import { refusal, type Refusal } from '../refusal.ts'
import { childJob } from './periodic.ts'

/** Content of a dispatch. */
export interface DispatchInput {
  /** Base64, as it is stored; empty if there is none. */
  readonly payload: string
  /** Decoded length. */
  readonly payloadBytes: number
  readonly meta: Readonly<Record<string, string>>
  /** 0 for that of the parent. */
  readonly priority: number
}

/**
 * Returns the reason why a job cannot be dispatched in this way; undefined if it can. The texts are
 * part of the contract.
 */
export function dispatchRefusal(parent: Job, input: DispatchInput): Refusal | undefined {
  const config = parent.ParameterizedJob
  const name = `Specified job ${JSON.stringify(parent.ID)}`
  if (config === null || !isParameterized(parent))
    return refusal('invalid-input', `${name} is not a parameterized job`)
  if (parent.Stop) return refusal('invalid-input', `${name} is stopped`)
  const payload = payloadProblem(config, input)
  if (payload !== undefined) return refusal('invalid-input', payload)
  const meta = metaProblem(config, input)
  if (meta !== undefined) return refusal('dispatch-meta-invalid', meta)
  const priority = priorityProblem(input)
  return priority === undefined ? undefined : refusal('invalid-input', priority)
}

function payloadProblem(
  { Payload: rule }: ParameterizedJobConfig,
  { payloadBytes }: DispatchInput,
): string | undefined {
  if (rule === 'required' && payloadBytes === 0)
    return 'Payload is not provided but required by parameterized job'
  if (rule === 'forbidden' && payloadBytes > 0)
    return 'Payload provided but forbidden by parameterized job'
  const maxBytes = LIMITS.dispatchPayloadBytesMax
  return payloadBytes > maxBytes
    ? `Payload exceeds maximum size; ${payloadBytes} > ${maxBytes}`
    : undefined
}

function metaProblem(config: ParameterizedJobConfig, { meta }: DispatchInput): string | undefined {
  const required = [...new Set(config.MetaRequired)]
  const permitted = new Set([...required, ...(config.MetaOptional ?? [])])
  const extra = Object.keys(meta).filter((key) => !permitted.has(key))
  if (extra.length > 0)
    return `Dispatch request included unpermitted metadata keys: ${formatKeys(extra)}`
  const missing = required.filter((key) => !Object.hasOwn(meta, key))
  if (missing.length > 0)
    return `Dispatch did not provide required meta keys: ${formatKeys(missing)}`
  return undefined
}

function formatKeys(keys: readonly string[]): string {
  return `[${keys.toSorted(compareText).join(' ')}]`
}

const PRIORITY_MAX = 100

function priorityProblem({ priority }: DispatchInput): string | undefined {
  return priority < 0 || priority > PRIORITY_MAX
    ? `dispatch job priority must be between [1, ${PRIORITY_MAX}]`
    : undefined
}

interface ChildNameInput {
  readonly parentId: string
  /** Empty if not given. */
  readonly prefix: string
  readonly timeMs: number
  /** Eight hexadecimal digits. */
  readonly suffix: string
}

export function dispatchedChildId({ parentId, prefix, timeMs, suffix }: ChildNameInput): string {
  const middle = prefix === '' ? '' : `${prefix}-`
  return `${parentId}/dispatch-${middle}${Math.floor(timeMs / 1_000)}-${suffix}`
}

/**
 * Returns the child job of a dispatch, as it would be submitted. Its own metadata takes precedence.
 */
export function dispatchedChild(
  parent: Job,
  parts: DispatchInput,
  name: { readonly id: string; readonly idempotencyToken: string },
): Job {
  const meta = { ...parent.Meta, ...parts.meta }
  return {
    ...childJob(parent, name.id),
    Dispatched: true,
    DispatchIdempotencyToken: name.idempotencyToken,
    Payload: parts.payload === '' ? null : parts.payload,
    Meta: Object.keys(meta).length === 0 ? null : meta,
    Priority: parts.priority || parent.Priority,
  }
}
