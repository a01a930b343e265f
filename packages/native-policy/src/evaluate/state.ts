import {
  CALL_DEPTH_MAX,
  ALLOCATIONS_MAX,
  PATTERN_CACHE_MAX,
  PATTERN_LENGTH_MAX,
  PATTERN_SIZE_MAX,
  PRINT_LENGTH_MAX,
  SEARCH_WORK_PER_STEP,
} from '../limits.ts'
import { truncateText } from '@reeve/kit/truncate-text.ts'
import { LruCache } from '@reeve/kit/lru-cache.ts'
import { estimateRegexSize } from '@reeve/kit/regex-size.ts'
import { compileRegex, type RE2JS } from '@reeve/kit/regex.ts'
import type { NativeDiagnostic, Position, Source } from '../syntax/source.ts'
import type { CallContext, FunctionValue, Undefined, Value } from '../value/value.ts'
import type { FailureRecorder, RuleResult } from './recorder.ts'

/** Why an evaluation was aborted. `limit`: it exceeded a limit. */
export type StopKind = 'error' | 'limit'

/** Aborts an evaluation; caught in execute.ts. */
export class EvaluationAborted extends Error {
  readonly kind: StopKind
  readonly problem: NativeDiagnostic

  constructor(kind: StopKind, problem: NativeDiagnostic) {
    super(problem.message)
    this.kind = kind
    this.problem = problem
  }
}

/** A position in the source at which evaluation may fail. */
export interface CodeLocation {
  readonly source: Source
  readonly at: number
}

export interface RunOptions {
  readonly stepsMax: number
  /** Checked periodically; true aborts the evaluation. */
  readonly isCancelled: () => boolean
  readonly recorder: FailureRecorder | undefined
}

const STEPS_BETWEEN_ASKING = 4096
const NOWHERE: Position = { file: '', offset: 0, line: 0, column: 0 }

/** State of one evaluation: consumed resources and output. */
export class EvaluationState {
  readonly recorder: FailureRecorder | undefined
  /** Set by `return`, read by the calling function. */
  returned: Value = null
  /** Evaluated rules in the order of completion. */
  readonly reports: RuleResult[] = []
  /** Start offsets of executed statements, if the evaluation explains. */
  readonly covered = new Map<Source, Set<number>>()
  /** The most recent position, for reporting an exceeded limit. */
  site: CodeLocation | undefined
  readonly #options: RunOptions
  readonly #patterns = new LruCache<string, Pattern>({ weightMax: PATTERN_CACHE_MAX })
  #steps = 0
  #askAt = STEPS_BETWEEN_ASKING
  #cells = 0
  #depth = 0
  #printed = ''

  constructor(options: RunOptions) {
    this.#options = options
    this.recorder = options.recorder
  }

  get printed(): string {
    return this.#printed
  }

  get steps(): number {
    return this.#steps
  }

  charge(steps: number): void {
    this.#steps += steps
    if (this.#steps < this.#askAt) return
    this.#askAt = this.#steps + STEPS_BETWEEN_ASKING
    if (this.#steps > this.#options.stepsMax)
      this.#limit(`the policy takes more than ${this.#options.stepsMax} steps`)
    if (this.#options.isCancelled()) this.#limit('the policy takes longer than it may')
  }

  /** Charges memory for values that may stay alive. Nothing is ever credited back. */
  allocate(cells: number): void {
    this.#cells += cells
    if (this.#cells > ALLOCATIONS_MAX) this.#limit('the policy makes more values than it may')
    this.charge(cells)
  }

  enter(site: CodeLocation): void {
    this.site = site
    if (++this.#depth > CALL_DEPTH_MAX)
      this.#limit(`functions call each other more than ${CALL_DEPTH_MAX} deep`)
    this.charge(1)
  }

  leave(): void {
    this.#depth--
  }

  call(
    target: FunctionValue,
    args: readonly Value[],
    place: { readonly site: CodeLocation; readonly undefinedHere: () => Undefined },
  ): Value {
    this.site = place.site
    this.charge(1)
    return target.call(args, new Call(this, place))
  }

  markCovered(source: Source, at: number): void {
    const known = this.covered.get(source)
    if (known === undefined) this.covered.set(source, new Set([at]))
    else known.add(at)
  }

  print(text: string): void {
    // Longer output was truncated and already ends with an ellipsis.
    if (this.#printed.length > PRINT_LENGTH_MAX) return
    this.#printed = truncateText(`${this.#printed}${text}\n`, PRINT_LENGTH_MAX)
  }

  matches(text: string, pattern: string, site: CodeLocation): boolean {
    const { regex, size } = this.#pattern(pattern, site)
    this.charge(1 + text.length + Math.floor((text.length * size) / SEARCH_WORK_PER_STEP))
    return regex.matcher(text).find()
  }

  #pattern(pattern: string, site: CodeLocation): Pattern {
    const cached = this.#patterns.get(pattern)
    if (cached !== undefined) return cached
    const limits = { lengthMax: PATTERN_LENGTH_MAX, sizeMax: PATTERN_SIZE_MAX }
    // Charged before compilation, which takes microseconds per instruction.
    const size = Math.min(estimateRegexSize(pattern), PATTERN_SIZE_MAX)
    this.charge((Math.min(pattern.length, PATTERN_LENGTH_MAX) + size) * PATTERN_COST)
    const compiled = compileRegex(pattern, limits)
    if (!compiled.ok) {
      const { kind, message } = compiled.error
      return this.fail(
        site,
        kind === 'invalid'
          ? `${JSON.stringify(pattern)} is no regular expression: ${message}`
          : `the pattern is ${message}`,
      )
    }
    const known = { regex: compiled.value.regex, size }
    this.#patterns.set(pattern, known)
    return known
  }

  fail(site: CodeLocation, message: string): never {
    throw new EvaluationAborted('error', site.source.problemAt(site.at, message))
  }

  #limit(message: string): never {
    const { site } = this
    const problem =
      site === undefined
        ? { message, position: NOWHERE, sourceLine: '' }
        : site.source.problemAt(site.at, message)
    throw new EvaluationAborted('limit', problem)
  }
}

interface Pattern {
  readonly regex: RE2JS
  /** Estimated number of instructions. */
  readonly size: number
}

/** Steps per instruction for compiling a pattern. */
const PATTERN_COST = 20

/** The context of a call that a host function receives. */
class Call implements CallContext {
  readonly #run: EvaluationState
  readonly #site: CodeLocation
  readonly #undefinedHere: () => Undefined

  constructor(
    run: EvaluationState,
    place: { readonly site: CodeLocation; readonly undefinedHere: () => Undefined },
  ) {
    this.#run = run
    this.#site = place.site
    this.#undefinedHere = place.undefinedHere
  }

  get position(): Position {
    return this.#site.source.positionAt(this.#site.at)
  }

  get undefinedHere(): Undefined {
    return this.#undefinedHere()
  }

  charge(steps: number): void {
    this.#run.charge(steps)
  }

  allocate(cells: number): void {
    this.#run.allocate(cells)
  }

  fail(message: string): never {
    return this.#run.fail(this.#site, message)
  }

  matches(text: string, pattern: string): boolean {
    return this.#run.matches(text, pattern, this.#site)
  }

  print(text: string): void {
    this.#run.print(text)
  }

  apply(callee: FunctionValue, args: readonly Value[]): Value {
    const [fewest, most] = callee.arity
    if (args.length < fewest || args.length > most)
      return this.fail(`${callee.name} cannot be called with ${args.length} arguments`)
    const place = { site: this.#site, undefinedHere: this.#undefinedHere }
    return this.#run.call(callee, args, place)
  }
}
