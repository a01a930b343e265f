import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import type { CallContext } from '../builtins/builtin.ts'
import type { Callee, VirtualDocument, SourceLocation, RuleIR, Variable } from '../compile/ir.ts'
import { CHARACTERS_PER_STEP, STRING_LENGTH_MAX } from '../limits.ts'
import type { Location } from '../syntax/source.ts'
import type { Key, ObjectValue, Value } from '../value/value.ts'
import type { Collector } from './collector.ts'

/** A goal without a solution, or a rule with one; explains a verdict. */
export type TraceEvent =
  | { readonly type: 'enter' | 'undefined'; readonly rule: RuleIR }
  | { readonly type: 'value'; readonly rule: RuleIR; readonly value: Value }
  | {
      readonly type: 'failed-goal'
      readonly place: SourceLocation
      readonly locals: ReadonlyMap<string, Value>
    }
  | { readonly type: 'note'; readonly text: string }
  /** One entry of a test's object is tried, identified by the keys that it would have. */
  | { readonly type: 'test-case'; readonly path: readonly Value[] }

export interface EvaluationOptions {
  readonly stepsMax: number
  readonly isStrict: boolean
  readonly nowNs: bigint
  readonly random: () => number
  readonly offsetAt?: CallContext['offsetAt']
  readonly crypto?: CryptoHost | undefined
  readonly runtime?: CallContext['runtime']
  readonly print: ((text: string) => void) | undefined
  readonly trace: ((event: TraceEvent) => void) | undefined
  /** Polled during the evaluation; true aborts it. */
  readonly isCancelled: (() => boolean) | undefined
}

const NO_CRYPTO = 'keys and signatures need the option `crypto` of the evaluation'

const STEPS_PER_CANCEL_CHECK = 4096

interface BuiltinFailure extends Pick<EvaluationError, 'code' | 'message'> {
  /** Aborts the evaluation even if builtins are not strict. */
  readonly isRefusal: boolean
}

/** State shared by all scopes of one evaluation: meter, caller's context, failures of builtins. */
export class EvaluationState implements CallContext {
  readonly options: EvaluationOptions
  readonly memory = new Map<string, unknown>()
  depth = 0
  failure: BuiltinFailure | undefined
  #steps = 0
  #stepsNext: number

  constructor(options: EvaluationOptions) {
    this.options = options
    this.#stepsNext = Math.min(options.stepsMax, STEPS_PER_CANCEL_CHECK)
  }

  get nowNs(): bigint {
    return this.options.nowNs
  }

  get offsetAt(): CallContext['offsetAt'] {
    return this.options.offsetAt
  }

  get crypto(): CryptoHost {
    return this.options.crypto ?? stop('eval_builtin_error', NO_CRYPTO)
  }

  get runtime(): CallContext['runtime'] {
    return this.options.runtime
  }

  get random(): () => number {
    return this.options.random
  }

  step(): void {
    if (++this.#steps > this.#stepsNext) this.#check()
  }

  charge(steps: number): void {
    this.#steps += steps
    if (this.#steps > this.#stepsNext) this.#check()
  }

  #check(): void {
    if (this.#steps > this.options.stepsMax)
      stop('eval_limit_error', `the evaluation takes more than ${this.options.stepsMax} steps`)
    if (this.options.isCancelled?.() === true)
      stop('eval_cancel_error', 'the evaluation was cancelled')
    this.#stepsNext = Math.min(this.options.stepsMax, this.#steps + STEPS_PER_CANCEL_CHECK)
  }

  note(text: string): void {
    this.options.trace?.({ type: 'note', text })
  }

  testCase(path: readonly Value[]): void {
    this.options.trace?.({ type: 'test-case', path })
  }

  fail(message: string): undefined {
    this.failure = { code: 'eval_builtin_error', message, isRefusal: false }
    return undefined
  }

  failType(message: string): undefined {
    this.failure = { code: 'eval_type_error', message, isRefusal: false }
    return undefined
  }

  refuse(message: string): undefined {
    this.failure = { code: 'eval_builtin_error', message, isRefusal: true }
    return undefined
  }

  /** Charges for a string that was created. */
  chargeText(text: string): void {
    if (text.length > STRING_LENGTH_MAX)
      stop('eval_limit_error', `a text is longer than ${STRING_LENGTH_MAX} characters`)
    this.charge(Math.ceil(text.length / CHARACTERS_PER_STEP))
  }
}

function stop(code: EvaluationError['code'], message: string): never {
  throw new EvaluationAborted({ code, message, location: undefined })
}

/** Cached in place of a value: the document was evaluated and is undefined. */
export const NO_VALUE = Symbol('no value')

export type Mock = { readonly callee: Callee } | { readonly value: Value }

/** Cache of a comprehension in one scope: number of runs, and values by its shared variables. */
export interface ComprehensionCache {
  runCount: number
  index: ReadonlyMap<Key, Value> | undefined
}

/** Scope of an evaluation: one for the evaluation, and another for every `with`. */
export class Env {
  readonly shared: EvaluationState
  readonly input: Value | undefined
  readonly data: ObjectValue
  /** Rules hidden by a replacement of `data`. */
  readonly hidden: ReadonlySet<VirtualDocument> | undefined
  readonly mocks: ReadonlyMap<string, Mock> | undefined
  readonly parent: Env | undefined
  /** Values of documents in this scope, by the number of their group. */
  readonly memo: (Value | typeof NO_VALUE | undefined)[] = []
  comprehensions: Map<object, ComprehensionCache> | undefined

  constructor(fields: Pick<Env, 'shared' | 'input' | 'data' | 'hidden' | 'mocks' | 'parent'>) {
    this.shared = fields.shared
    this.input = fields.input
    this.data = fields.data
    this.hidden = fields.hidden
    this.mocks = fields.mocks
    this.parent = fields.parent
  }
}

/** One run of a body: the values of its variables. */
export class Frame {
  env: Env
  readonly slots: (Value | undefined)[]
  /** The value of a complete rule or function, once it is known. */
  result: Value | undefined = undefined
  /** Collector of the members of a partial rule. */
  output: Collector | undefined = undefined
  collectors: (Collector | undefined)[] | undefined = undefined
  /** Solutions of a comprehension by its shared variables, while its index is built. */
  groups: Map<Key, Collector> | undefined = undefined

  constructor(env: Env, slotCount: number) {
    this.env = env
    // Allocated at full size: growing it would copy it several times.
    // oxlint-disable-next-line unicorn/no-new-array
    this.slots = new Array<Value | undefined>(slotCount)
  }
}

/** Returns the value of an expression; undefined if it has none. */
export type ValueThunk = (frame: Frame) => Value | undefined
/** Continuation: runs a goal and the rest of the body for each solution; true stops the search. */
export type Step = (frame: Frame) => boolean
export type MatchStep = (frame: Frame, value: Value) => boolean

export function localsOf(frame: Frame, variables: Iterable<Variable>): ReadonlyMap<string, Value> {
  const locals = new Map<string, Value>()
  for (const { name, slot } of variables) {
    const value = frame.slots[slot]
    if (!name.includes('$') && value !== undefined) locals.set(name, value)
  }
  return locals
}

export const EVALUATION_CODES = [
  'eval_conflict_error',
  'eval_type_error',
  'eval_builtin_error',
  'eval_cancel_error',
  'eval_limit_error',
] as const

/** Why an evaluation has no answer. */
export interface EvaluationError {
  readonly code: (typeof EVALUATION_CODES)[number]
  readonly message: string
  readonly location: Location | undefined
}

/**
 * Ends an evaluation from wherever it is. Thrown inside the folder only: it crosses the closures of
 * all rules on the way, and `evaluate` turns it into a Result.
 */
export class EvaluationAborted extends Error {
  override readonly name = 'Halt'
  readonly problem: EvaluationError
  constructor(problem: EvaluationError) {
    super(problem.message)
    this.problem = problem
  }
}
