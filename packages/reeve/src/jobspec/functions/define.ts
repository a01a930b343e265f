import { err, ok, type Result } from '@reeve/kit/result.ts'
import {
  charge,
  type EagerFunction,
  type FunctionError,
  type StepBudget,
  type Value,
} from '@reeve/hcl'
import type { Random } from '@reeve/kit/clock.ts'
import type { CryptoHost } from '@reeve/kit/crypto-host.ts'
import type { Argument } from './argument.ts'

export type FunctionResult = Result<Value, FunctionError>

type Arguments<A extends readonly unknown[]> = { readonly [K in keyof A]: Argument<A[K]> }

/** Defines a function with a fixed number of typed arguments. */
export function define<A extends readonly unknown[]>(
  parameters: Arguments<[...A]>,
  call: (args: A, meter: StepBudget) => FunctionResult,
): EagerFunction {
  return {
    kind: 'eager',
    parameters,
    call(values, meter) {
      const args = readAll(parameters, values)
      // Proof: each parameter has read one value, in the order of A.
      return args.ok ? call(args.value as unknown as A, meter) : args
    },
  }
}

interface RestOptions<A extends readonly unknown[], R> {
  readonly parameters: Arguments<[...A]>
  readonly rest: Argument<R>
  /** Minimum and maximum number of the variadic arguments; unbounded by default. */
  readonly countMin?: number
  readonly countMax?: number
}

/** Defines a function with optional or variadic last arguments. */
export function defineVariadic<A extends readonly unknown[], R>(
  options: RestOptions<A, R>,
  call: (args: A, rest: readonly R[], meter: StepBudget) => FunctionResult,
): EagerFunction {
  const { parameters, rest, countMin = 0, countMax = Infinity } = options
  const fixedCount = parameters.length
  return {
    kind: 'eager',
    parameters,
    rest,
    call(values, meter) {
      const restCount = values.length - fixedCount
      if (restCount < countMin)
        return fail(`it takes at least ${fixedCount + countMin} argument(s)`)
      if (restCount > countMax) return fail(`it takes at most ${fixedCount + countMax} argument(s)`)
      const args = readAll(parameters, values.slice(0, fixedCount))
      if (!args.ok) return args
      const others = readRest(rest, values, fixedCount)
      // Proof: as in `define`.
      return others.ok ? call(args.value as unknown as A, others.value, meter) : others
    },
  }
}

function readAll(
  parameters: readonly Argument<unknown>[],
  values: readonly Value[],
): Result<readonly unknown[], FunctionError> {
  const args: unknown[] = []
  for (const [index, parameter] of parameters.entries()) {
    const read = parameter.read(values[index] ?? null)
    if (!read.ok) return failArgument(index, `${parameter.name} ${read.error}`)
    args.push(read.value)
  }
  return ok(args)
}

function readRest<R>(
  rest: Argument<R>,
  values: readonly Value[],
  from: number,
): Result<readonly R[], FunctionError> {
  const args: R[] = []
  for (let index = from; index < values.length; index++) {
    const read = rest.read(values[index] ?? null)
    if (!read.ok) return failArgument(index, `${rest.name} ${read.error}`)
    args.push(read.value)
  }
  return ok(args)
}

/** Fails with an error about the whole call. */
export function fail(message: string): Result<never, FunctionError> {
  return err({ message })
}

/** Fails with an error about the argument at the 0-based index. */
export function failArgument(argument: number, message: string): Result<never, FunctionError> {
  return err({ message, argument })
}

/** Charges work beyond reading the arguments and creating the result. */
export function chargeSteps(meter: StepBudget, steps: number): Result<undefined, FunctionError> {
  if (charge(meter, Math.ceil(steps))) return ok(undefined)
  return fail(`it needs more than the ${meter.limits.stepsMax} steps of one evaluation`)
}

/** The environment that functions may access. */
export interface FunctionOptions {
  /** Undefined on a server, where job files must not read files. */
  readonly files: FileFunctions | undefined
  readonly random: Random
  /** Required by `rsadecrypt`, which otherwise fails. */
  readonly crypto?: CryptoHost | undefined
  /** Milliseconds since the epoch; required by `timestamp()`. */
  readonly nowMs?: number
}

/**
 * The file system for job files. Relative paths are resolved against the directory of the job file.
 * Errors are messages without a full stop.
 */
export interface FileFunctions {
  /** The bytes of a regular file; the implementation limits the size. */
  read(path: string): Result<Uint8Array, string>
  /** False if the file does not exist; an error if it is not a regular file. */
  exists(path: string): Result<boolean, string>
  /**
   * All regular files in a directory and up to `depthMax` levels below it (0: only its own), as
   * relative paths with `/` separators. The implementation limits the number.
   */
  list(directory: string, depthMax: number): Result<readonly string[], string>
  absolute(path: string): string
  /** The home directory for `~`; undefined if there is none. */
  home(): string | undefined
}
