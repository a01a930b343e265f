import { createHash, randomInt } from 'node:crypto'
import { gunzipSync } from 'node:zlib'
import { nodeCrypto } from '@reeve/kit/node'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  inspectPlan,
  Judge,
  planOf,
  readPlan,
  readSetArchive,
  redactPlan,
  sensitiveTexts,
  subjectOfInput,
  withoutSecrets,
  type ArchivedSet,
  type ArchiveHost,
  type ArchiveProblem,
  type AskedPolicy,
  type AskedSubject,
  type Diagnostic,
  type InputProblem,
  type Judgement,
  type PlainObject,
  type PlanFacts,
  type PolicyText,
  type SetArchive,
  type Subject,
} from '../policy/index.ts'
import type { Clock } from '@reeve/kit/clock.ts'
import { movable } from '../threads/index.ts'

/** A policy without its code, which the thread finds by hash. */
export interface SentPolicy extends Omit<PolicyText, 'code'> {
  readonly codeHash: string
}

/** Task of the thread. Data is sent as JSON text, which is copied faster than objects. */
export interface JudgingTask {
  /** Code that the thread does not have yet. */
  readonly codes: readonly (readonly [hash: string, code: string])[]
  /** Hashes of code to evict. */
  readonly forget: readonly string[]
  readonly question: Question
}

export type Question =
  | {
      readonly kind: 'judge'
      readonly subject: string
      /** JSON that the subject lacks: a stored plan, or the input of a trial. */
      readonly json: SubjectJson | undefined
      readonly policies: readonly { readonly policy: SentPolicy; readonly params: string }[]
    }
  | { readonly kind: 'diagnose'; readonly policy: SentPolicy }
  | { readonly kind: 'inspect'; readonly plan: Uint8Array }
  | { readonly kind: 'inspect-input'; readonly json: Uint8Array }
  | { readonly kind: 'redact'; readonly plan: Uint8Array }
  | { readonly kind: 'read-archive'; readonly archive: Uint8Array; readonly set: ArchivedSet }

export interface SubjectJson {
  readonly kind: 'stored-plan' | 'input'
  readonly bytes: Uint8Array
}

export type JudgingOutcome =
  | { readonly kind: 'judged'; readonly judgements: readonly Judgement[] }
  | { readonly kind: 'diagnosed'; readonly diagnostics: readonly Diagnostic[] }
  | {
      readonly kind: 'inspected'
      readonly facts: Result<PlanFacts, string>
      /**
       * The plan, whose buffer was transferred to the thread; undefined if it is not needed any
       * more.
       */
      readonly plan: Uint8Array | undefined
    }
  | { readonly kind: 'input-inspected'; readonly result: Result<null, InputProblem> }
  | { readonly kind: 'redacted'; readonly plan: Result<Uint8Array, string> }
  | { readonly kind: 'archive-read'; readonly read: Result<SetArchive, ArchiveProblem> }

export interface JudgingHost {
  readonly clock: Pick<Clock, 'nowMs'>
  readonly version: string
  readonly offsetAt: (zone: string, ms: number) => number
}

const DRAWS = 2 ** 47
const NS_PER_MS = 1_000_000n

/** Executes tasks in the thread; caches received code and compiled policies. */
export class JudgingDesk {
  readonly #judge = new Judge()
  readonly #codes = new Map<string, string>()
  readonly #host: JudgingHost

  constructor(host: JudgingHost) {
    this.#host = host
  }

  run({ codes, forget, question }: JudgingTask): JudgingOutcome {
    for (const hash of forget) this.#codes.delete(hash)
    for (const [hash, code] of codes) this.#codes.set(hash, code)
    switch (question.kind) {
      case 'inspect': {
        const { plan } = question
        const facts = inspectPlan(plan, decode)
        return { kind: 'inspected', facts, plan: facts.ok ? plan : undefined }
      }
      case 'inspect-input': {
        const subject = subjectOfInput(parseInput(question.json))
        return { kind: 'input-inspected', result: subject.ok ? ok(null) : subject }
      }
      case 'redact':
        return { kind: 'redacted', plan: redacted(question.plan) }
      case 'read-archive':
        return {
          kind: 'archive-read',
          read: readSetArchive(question.archive, question.set, ARCHIVE_HOST),
        }
      case 'diagnose':
        return {
          kind: 'diagnosed',
          diagnostics: this.#judge.diagnose(this.#withCode(question.policy)),
        }
      case 'judge':
        return this.#answer(question)
    }
  }

  #answer(question: Extract<Question, { readonly kind: 'judge' }>): JudgingOutcome {
    const asked = question.policies.map(({ policy, params }): AskedPolicy => ({
      policy: this.#withCode(policy),
      params: JSON.parse(params),
    }))
    const subject = readSubject(question.subject, question.json)
    const judgements = this.#judge.judge(subject, asked, this.#options())
    if (question.json?.kind !== 'stored-plan' || subject.kind !== 'plan')
      return { kind: 'judged', judgements }
    const secrets = sensitiveTexts(subject.plan)
    return { kind: 'judged', judgements: judgements.map((said) => withoutSecrets(said, secrets)) }
  }

  #withCode({ codeHash, ...policy }: SentPolicy): PolicyText {
    return { ...policy, code: this.#codes.get(codeHash) ?? '' }
  }

  #options() {
    const { clock, version, offsetAt } = this.#host
    const nowMs = clock.nowMs()
    return {
      version,
      time: { nowNs: BigInt(nowMs) * NS_PER_MS, zone: 'UTC', offsetSeconds: () => 0 },
      // The queue terminates the thread when a task exceeds its time limit.
      isCancelled: () => false,
      random: () => randomInt(DRAWS) / DRAWS,
      offsetAt,
      crypto: nodeCrypto,
    }
  }
}

/** JSON cannot represent maps, so they are sent as lists of entries. */
export function writeSubject(subject: AskedSubject): string {
  if (subject.kind === 'input') return '{}'
  if (subject.kind === 'plan') return JSON.stringify(subject)
  if (subject.kind === 'stored-plan') return JSON.stringify({ kind: 'plan', run: subject.run })
  return JSON.stringify({ ...subject, variables: [...subject.variables] })
}

function readSubject(text: string, json: SubjectJson | undefined): Subject {
  if (json?.kind === 'input') return inputSubject(json.bytes)
  const read = JSON.parse(text)
  if (json !== undefined) return { ...read, plan: storedPlan(json.bytes) }
  return read.kind === 'plan' ? read : { ...read, variables: new Map(read.variables) }
}

function inputSubject(json: Uint8Array): Subject {
  const subject = subjectOfInput(parseInput(json))
  if (!subject.ok) throw new Error('an input is inspected before policies are asked about it')
  return subject.value
}

function parseInput(json: Uint8Array): unknown {
  return JSON.parse(decode(json))
}

/** Stored plans were validated on upload. */
function storedPlan(bytes: Uint8Array): PlainObject {
  const plan = readPlan(bytes, decode)
  return plan.ok ? plan.value : {}
}

/** Returns the text of a stored plan without its secrets. */
function redacted(bytes: Uint8Array): Result<Uint8Array, string> {
  const plan = planOf(JSON.parse(decode(bytes)))
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
export function movedBuffers(outcome: JudgingOutcome): readonly ArrayBuffer[] {
  switch (outcome.kind) {
    case 'inspected':
      return outcome.plan === undefined ? [] : movable(outcome.plan)
    case 'redacted':
      return outcome.plan.ok ? movable(outcome.plan.value) : []
    case 'archive-read':
      return outcome.read.ok ? outcome.read.value.policies.flatMap(({ code }) => movable(code)) : []
    default:
      return []
  }
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
}
