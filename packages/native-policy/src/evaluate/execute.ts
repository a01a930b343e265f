import { STEPS_MAX } from '../limits.ts'
import type { NativeDiagnostic, Position } from '../syntax/source.ts'
import { deepCopy } from '../value/copy.ts'
import {
  Float,
  type FunctionValue,
  isFunction,
  isMap,
  isRule,
  type Key,
  ListValue,
  type MapValue,
  typeOf,
  Undefined,
  type Value,
} from '../value/value.ts'
import { compareKeys } from '../value/map.ts'
import { predeclared, type Program, type ProgramImport } from './program.ts'
import { FailureRecorder, type RuleResult } from './recorder.ts'
import { EvaluationState, EvaluationAborted } from './state.ts'
import type { Frame } from './scope.ts'

export interface EvaluateOptions {
  /** Returns the value of an import; called once per imported path. */
  readonly importValue: (path: string) => Value | undefined
  readonly globals?: ReadonlyMap<string, Value>
  readonly params?: ReadonlyMap<string, Value>
  readonly stepsMax?: number
  readonly isCancelled?: () => boolean
  /** Whether to record why rules are false; about doubles the cost. */
  readonly explain?: boolean
}

export type EvaluationResult = 'pass' | 'fail' | 'undefined' | 'error'

export interface Evaluation {
  readonly result: EvaluationResult
  /** The value of `main`; undefined if it has none. */
  readonly value: Value | undefined
  /** Position at which an undefined `main` originated. */
  readonly undefinedAt: Position | undefined
  readonly error: NativeDiagnostic | undefined
  /** Whether the error is an exceeded limit. */
  readonly isOverLimit: boolean
  readonly rules: readonly RuleResult[]
  readonly printed: string
  readonly steps: number
  /** Start offsets of executed statements by file; only with `explain`. */
  readonly reached: ReadonlyMap<string, ReadonlySet<number>>
}

export interface LinkedProgram {
  readonly main: Program
  readonly modules: ReadonlyMap<string, Program>
  readonly globals: readonly string[]
}

/** Runs a policy from top to bottom and then reads `main`. Never throws. */
export function execute(linked: LinkedProgram, options: EvaluateOptions): Evaluation {
  const run = new EvaluationState({
    stepsMax: options.stepsMax ?? STEPS_MAX,
    isCancelled: options.isCancelled ?? (() => false),
    recorder: options.explain === true ? new FailureRecorder() : undefined,
  })
  try {
    return toEvaluation(new Execution(linked, options, run).mainValue(), run)
  } catch (thrown) {
    const stop = thrown instanceof EvaluationAborted ? thrown : stackStop(thrown, linked)
    return evaluationWith(run, {
      result: 'error',
      error: placed(stop.problem, linked),
      isOverLimit: stop.kind === 'limit',
    })
  }
}

/** A limit that is exceeded before the first call is reported at the start of the policy. */
function placed(problem: NativeDiagnostic, { main }: LinkedProgram): NativeDiagnostic {
  return problem.position.line === 0 ? main.source.problemAt(0, problem.message) : problem
}

/** A stack overflow counts as an exceeded limit; any other exception is a bug of the engine. */
function stackStop(thrown: unknown, { main }: LinkedProgram): EvaluationAborted {
  if (!(thrown instanceof RangeError)) throw thrown
  return new EvaluationAborted(
    'limit',
    main.source.problemAt(0, 'the policy is nested too deep to be run'),
  )
}

type Ended = Pick<Evaluation, 'result'> & Partial<Evaluation>

function evaluationWith(run: EvaluationState, rest: Ended): Evaluation {
  return {
    value: undefined,
    undefinedAt: undefined,
    error: undefined,
    isOverLimit: false,
    rules: run.reports,
    printed: run.printed,
    steps: run.steps,
    reached: new Map([...run.covered].map(([{ file }, starts]) => [file, starts])),
    ...rest,
  }
}

function toEvaluation(value: Value | NativeDiagnostic, run: EvaluationState): Evaluation {
  if (isProblem(value)) return evaluationWith(run, { result: 'error', error: value })
  if (value instanceof Undefined)
    return evaluationWith(run, { result: 'undefined', value, undefinedAt: value.position })
  const result = resultOf(value)
  return evaluationWith(run, { result, value })
}

function isProblem(value: Value | NativeDiagnostic): value is NativeDiagnostic {
  return typeof value === 'object' && value !== null && 'sourceLine' in value
}

function resultOf(value: Exclude<Value, Undefined>): EvaluationResult {
  if (typeof value === 'boolean') return value ? 'pass' : 'fail'
  return isEmptyValue(value) ? 'pass' : 'fail'
}

function isEmptyValue(value: Value): boolean {
  if (typeof value === 'string') return value === ''
  if (value instanceof ListValue) return value.items.length === 0
  if (isMap(value)) return value.size === 0
  return value === 0 || (value instanceof Float && value.value === 0)
}

class Execution {
  readonly #linked: LinkedProgram
  readonly #options: EvaluateOptions
  readonly #run: EvaluationState
  readonly #moduleValues = new Map<string, Value>()

  constructor(linked: LinkedProgram, options: EvaluateOptions, run: EvaluationState) {
    this.#linked = linked
    this.#options = options
    this.#run = run
  }

  mainValue(): Value | NativeDiagnostic {
    const { main, globals } = this.#linked
    const frame = this.#frameOf(main)
    for (const name of globals) {
      const value = this.#options.globals?.get(name)
      if (value !== undefined) frame.slots[main.file.declare(name)] = value
    }
    this.#fillParams(main, frame)
    const mainSlot = main.file.slotOf('main')
    main.body(this.#run.recorder !== undefined)(frame, this.#run)
    const found = mainSlot === undefined ? undefined : frame.slots[mainSlot]
    if (found === undefined)
      return main.source.problemAt(0, 'the policy has no "main": its value is the verdict')
    return this.#checkMain(found)
  }

  #checkMain(found: Value): Value | NativeDiagnostic {
    const value = isRule(found) ? found.force() : found
    const kind = typeOf(value)
    if (kind !== 'null' && kind !== 'func' && kind !== 'rule') return value
    const { source } = this.#linked.main
    return source.problemAt(
      0,
      `"main" cannot be ${kind}: a verdict is a bool, a number or what was found`,
    )
  }

  #frameOf(program: Program): Frame {
    const universe = program.universe.frame(undefined)
    for (const { slot, value } of predeclared(program.universe)) universe.slots[slot] = value
    for (const wanted of program.imports)
      universe.slots[wanted.slot] = this.#import(program, wanted)
    return program.file.frame(universe)
  }

  #import(program: Program, { path, at }: ProgramImport): Value {
    const module = this.#linked.modules.get(path)
    if (module !== undefined) return this.#module(path, module)
    const value = this.#options.importValue(path)
    if (value !== undefined) return value
    return this.#run.fail(
      { source: program.source, at },
      `the import "${path}" is not there in this evaluation`,
    )
  }

  /** A module runs once per evaluation, even if imported several times. */
  #module(path: string, program: Program): Value {
    const known = this.#moduleValues.get(path)
    if (known !== undefined) return known
    const frame = this.#frameOf(program)
    program.body(this.#run.recorder !== undefined)(frame, this.#run)
    const value = new ModuleValue(program, frame, this.#run)
    this.#moduleValues.set(path, value)
    return value
  }

  #fillParams(program: Program, frame: Frame): void {
    for (const { name, slot, at, fallback } of program.params) {
      const given = this.#options.params?.get(name) ?? fallback?.(frame, this.#run)
      if (given === undefined)
        this.#run.fail(
          { source: program.source, at },
          `the param "${name}" has neither a value nor a default`,
        )
      frame.slots[slot] = given
    }
  }
}

/** The exported names of a module. Lists and maps are returned as copies. */
class ModuleValue implements MapValue {
  readonly isMap = true
  readonly #program: Program
  readonly #frame: Frame
  readonly #run: EvaluationState
  readonly #functions = new Map<FunctionValue, FunctionValue>()

  constructor(program: Program, frame: Frame, run: EvaluationState) {
    this.#program = program
    this.#frame = frame
    this.#run = run
  }

  get size(): number {
    return this.keys().length
  }

  get(key: Key): Value | undefined {
    const slot = typeof key === 'string' ? this.#program.file.slotOf(key) : undefined
    const value = slot === undefined ? undefined : this.#frame.slots[slot]
    if (value === undefined) return undefined
    const read = isRule(value) ? value.force() : value
    if (isFunction(read)) return this.#guarded(read)
    return deepCopy(read, (cells) => this.#run.allocate(cells))
  }

  /**
   * A function may return the module's own list, so results are copied. Wrappers are cached so that
   * a function stays equal to itself.
   */
  #guarded(inner: FunctionValue): FunctionValue {
    const known = this.#functions.get(inner)
    if (known !== undefined) return known
    const { name, arity } = inner
    const outer: FunctionValue = {
      isFunction: true,
      name,
      arity,
      call: (args, context) =>
        deepCopy(inner.call(args, context), (cells) => this.#run.allocate(cells)),
    }
    this.#functions.set(inner, outer)
    return outer
  }

  has(key: Key): boolean {
    return typeof key === 'string' && this.keys().includes(key)
  }

  set(): never {
    return this.#refuse()
  }

  delete(): never {
    return this.#refuse()
  }

  keys(): readonly Key[] {
    const { file } = this.#program
    return file.names
      .filter((name) => this.#frame.slots[file.declare(name)] !== undefined)
      .toSorted(compareKeys)
  }

  #refuse(): never {
    const { source } = this.#program
    return this.#run.fail({ source, at: 0 }, 'nothing in a module can be changed from outside')
  }
}
