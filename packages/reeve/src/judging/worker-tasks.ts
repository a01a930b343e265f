import { createHash, randomInt } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { nodeCrypto } from '@reeve/kit/node'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  summarizePlan,
  InProcessEngine,
  validatePlan,
  parsePlan,
  readSetArchive,
  redactPlan,
  sensitiveValues,
  toPolicyInput,
  withoutSecrets,
  type ArchiveTarget,
  type ArchiveHost,
  type ArchiveProblem,
  type PolicyInvocation,
  type EngineInput,
  type Diagnostic,
  type InputProblem,
  type PolicyResult,
  type JsonObject,
  type PlanSummary,
  type PolicyDefinition,
  type SetArchive,
  type PolicyInput,
} from '../policy/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { transferableBuffers } from '../threads/index.ts'

/** A policy without its code, which the thread finds by hash. */
export interface PolicyRef extends Omit<PolicyDefinition, 'code'> {
  readonly codeHash: string
}

/** Task of the thread. Data is sent as JSON text, which is copied faster than objects. */
export interface WorkerRequest {
  /** Code that the thread does not have yet. */
  readonly codes: readonly (readonly [hash: string, code: string])[]
  /** Hashes of code to evict. */
  readonly forget: readonly string[]
  readonly question: WorkerCommand
}

export type WorkerCommand =
  | {
      readonly kind: 'judge'
      readonly subject: string
      /** JSON that the subject lacks: a stored plan, or the input of a trial. */
      readonly json: InputJson | undefined
      readonly policies: readonly { readonly policy: PolicyRef; readonly params: string }[]
    }
  | { readonly kind: 'diagnose'; readonly policy: PolicyRef }
  | { readonly kind: 'inspect'; readonly plan: Uint8Array }
  | { readonly kind: 'inspect-input'; readonly json: Uint8Array }
  | { readonly kind: 'redact'; readonly plan: Uint8Array }
  | { readonly kind: 'read-archive'; readonly archive: Uint8Array; readonly set: ArchiveTarget }

export interface InputJson {
  readonly kind: 'stored-plan' | 'input'
  readonly bytes: Uint8Array
}

export type WorkerResponse =
  | { readonly kind: 'judged'; readonly judgements: readonly PolicyResult[] }
  | { readonly kind: 'diagnosed'; readonly diagnostics: readonly Diagnostic[] }
  | {
      readonly kind: 'inspected'
      readonly facts: Result<PlanSummary, string>
      /**
       * The plan, whose buffer was transferred to the thread; undefined if it is not needed any
       * more.
       */
      readonly plan: Uint8Array | undefined
    }
  | { readonly kind: 'input-inspected'; readonly result: Result<null, InputProblem> }
  | { readonly kind: 'redacted'; readonly plan: Result<Uint8Array, string> }
  | { readonly kind: 'archive-read'; readonly read: Result<SetArchive, ArchiveProblem> }

interface WorkerRuntime {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly version: string
  readonly offsetAt: (zone: string, ms: number) => number
}

const RANDOM_STEPS = 2 ** 47
const NS_PER_MS = 1_000_000n

/** Executes tasks in the thread; caches received code and compiled policies. */
export class WorkerTaskHandler {
  readonly #engine = new InProcessEngine()
  readonly #codes = new Map<string, string>()
  readonly #runtime: WorkerRuntime

  constructor(host: WorkerRuntime) {
    this.#runtime = host
  }

  run({ codes, forget, question }: WorkerRequest): WorkerResponse {
    for (const hash of forget) this.#codes.delete(hash)
    for (const [hash, code] of codes) this.#codes.set(hash, code)
    switch (question.kind) {
      case 'inspect': {
        const { plan } = question
        const facts = summarizePlan(plan, decode)
        return { kind: 'inspected', facts, plan: facts.ok ? plan : undefined }
      }
      case 'inspect-input': {
        const input = toPolicyInput(parseInput(question.json))
        return { kind: 'input-inspected', result: input.ok ? ok(null) : input }
      }
      case 'redact':
        return { kind: 'redacted', plan: redactStoredPlan(question.plan) }
      case 'read-archive':
        return {
          kind: 'archive-read',
          read: readSetArchive(question.archive, question.set, ARCHIVE_HOST),
        }
      case 'diagnose':
        return {
          kind: 'diagnosed',
          diagnostics: this.#engine.diagnose(this.#withCode(question.policy)),
        }
      case 'judge':
        return this.#evaluate(question)
    }
  }

  #evaluate(question: Extract<WorkerCommand, { readonly kind: 'judge' }>): WorkerResponse {
    const invocations = question.policies.map(({ policy, params }): PolicyInvocation => ({
      policy: this.#withCode(policy),
      params: JSON.parse(params),
    }))
    const input = deserializeInput(question.subject, question.json)
    const results = this.#engine.evaluate(input, invocations, this.#engineOptions())
    if (question.json?.kind !== 'stored-plan' || input.kind !== 'plan')
      return { kind: 'judged', judgements: results }
    const secrets = sensitiveValues(input.plan)
    return { kind: 'judged', judgements: results.map((result) => withoutSecrets(result, secrets)) }
  }

  #withCode({ codeHash, ...policy }: PolicyRef): PolicyDefinition {
    return { ...policy, code: this.#codes.get(codeHash) ?? '' }
  }

  #engineOptions() {
    const { clock, version, offsetAt } = this.#runtime
    const nowMs = clock.nowMs()
    return {
      version,
      time: { nowNs: BigInt(nowMs) * NS_PER_MS, zone: 'UTC', offsetSeconds: () => 0 },
      // The queue terminates the thread when a task exceeds its time limit.
      isCancelled: () => false,
      random: () => randomInt(RANDOM_STEPS) / RANDOM_STEPS,
      offsetAt,
      crypto: nodeCrypto,
    }
  }
}

/** JSON cannot represent maps, so they are sent as lists of entries. */
export function serializeInput(input: EngineInput): string {
  if (input.kind === 'input') return '{}'
  if (input.kind === 'plan') return JSON.stringify(input)
  if (input.kind === 'stored-plan') return JSON.stringify({ kind: 'plan', run: input.run })
  return JSON.stringify({ ...input, variables: [...input.variables] })
}

function deserializeInput(text: string, json: InputJson | undefined): PolicyInput {
  if (json?.kind === 'input') return parseTrialInput(json.bytes)
  const read = JSON.parse(text)
  if (json !== undefined) return { ...read, plan: parseStoredPlan(json.bytes) }
  return read.kind === 'plan' ? read : { ...read, variables: new Map(read.variables) }
}

function parseTrialInput(json: Uint8Array): PolicyInput {
  const input = toPolicyInput(parseInput(json))
  if (!input.ok) throw new Error('an input is inspected before policies are asked about it')
  return input.value
}

function parseInput(json: Uint8Array): unknown {
  return JSON.parse(decode(json))
}

/** Stored plans were validated on upload. */
function parseStoredPlan(bytes: Uint8Array): JsonObject {
  const plan = parsePlan(bytes, decode)
  return plan.ok ? plan.value : {}
}

/** Returns the text of a stored plan without its secrets. */
function redactStoredPlan(bytes: Uint8Array): Result<Uint8Array, string> {
  const plan = validatePlan(JSON.parse(decode(bytes)))
  return plan.ok ? ok(encode(JSON.stringify(redactPlan(plan.value)))) : plan
}

const ARCHIVE_HOST: ArchiveHost = {
  unzip,
  decode,
  encode,
  sha256: (bytes) => createHash('sha256').update(bytes).digest('hex'),
}

function unzip(bytes: Uint8Array, bytesMax: number): Result<Uint8Array, string> {
  try {
    return ok(gunzipSync(bytes, { maxOutputLength: bytesMax }))
  } catch (thrown) {
    const code: unknown = thrown instanceof Error ? Reflect.get(thrown, 'code') : undefined
    if (code === 'ERR_BUFFER_TOO_LARGE')
      return err(`The archive unpacks to more than ${bytesMax} bytes`)
    if (typeof code === 'string' && code.startsWith('Z_')) return err('The archive is not gzipped')
    throw thrown
  }
}

function encode(text: string): Uint8Array {
  return new TextEncoder().encode(text)
}

/** Returns the buffers of an outcome that are transferred out of the thread: plans and code. */
export function transferredBuffers(outcome: WorkerResponse): readonly ArrayBuffer[] {
  switch (outcome.kind) {
    case 'inspected':
      return outcome.plan === undefined ? [] : transferableBuffers(outcome.plan)
    case 'redacted':
      return outcome.plan.ok ? transferableBuffers(outcome.plan.value) : []
    case 'archive-read':
      return outcome.read.ok
        ? outcome.read.value.policies.flatMap(({ code }) => transferableBuffers(code))
        : []
    default:
      return []
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
