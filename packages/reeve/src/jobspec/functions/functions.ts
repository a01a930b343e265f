import {
  ANY,
  BOOL,
  convert,
  formatConversionError,
  type FunctionDefinition,
  type FunctionError,
  type LazyArgument,
  type LazyError,
  listOf,
  mapOf,
  NUMBER,
  parseType,
  setOf,
  STRING,
  type Type,
  type Value,
} from '@reeve/hcl'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { any } from './argument.ts'
import { cryptoFunctions, uuidFunctions } from './crypto.ts'
import { encodingFunctions } from './encoding.ts'
import { fileFunctions } from './files.ts'
import { formatFunctions } from './format.ts'
import { listFunctions, mapFunctions, setFunctions } from './collections.ts'
import { networkFunctions } from './network.ts'
import { numericFunctions } from './numeric.ts'
import { define, type FunctionOptions } from './define.ts'
import { regexFunctions } from './regex.ts'
import { textFunctions } from './text/text.ts'
import { timeFunctions } from './time/time.ts'

export type { FileFunctions, FunctionOptions } from './define.ts'

/** All functions of job files by name. */
export function jobFunctions(options: FunctionOptions): ReadonlyMap<string, FunctionDefinition> {
  const { files, random, nowMs } = options
  return new Map(
    Object.entries({
      ...controlFunctions,
      ...cryptoFunctions(options),
      ...encodingFunctions,
      ...fileFunctions(files),
      ...formatFunctions,
      ...listFunctions,
      ...mapFunctions,
      ...networkFunctions,
      ...numericFunctions,
      ...regexFunctions,
      ...setFunctions,
      ...textFunctions,
      ...timeFunctions(nowMs),
      ...uuidFunctions(random),
    }),
  )
}

const controlFunctions: Readonly<Record<string, FunctionDefinition>> = {
  can: {
    kind: 'lazy',
    parameterCountMin: 1,
    parameterCountMax: 1,
    call: ([argument]) => ok(argument?.evaluate() !== undefined),
  },
  convert: {
    kind: 'lazy',
    parameterCountMin: 2,
    parameterCountMax: 2,
    call: convertToTypeExpression,
  },
  try: { kind: 'lazy', parameterCountMin: 1, parameterCountMax: Infinity, call: firstSuccessful },
  tobool: conversionFunction(BOOL),
  tolist: conversionFunction(listOf(ANY)),
  tomap: conversionFunction(mapOf(ANY)),
  tonumber: conversionFunction(NUMBER),
  toset: conversionFunction(setOf(ANY)),
  tostring: conversionFunction(STRING),
}

type LazyFunctionResult = Result<Value, FunctionError | readonly LazyError[]>

function firstSuccessful(args: readonly LazyArgument[]): LazyFunctionResult {
  for (const argument of args) {
    const value = argument.evaluate()
    if (value !== undefined) return ok(value)
  }
  return err(args.flatMap((argument) => argument.problems()))
}

/** The second argument is a type expression as in a variable: `convert(x, list(string))`. */
function convertToTypeExpression([
  argument,
  typeArgument,
]: readonly LazyArgument[]): LazyFunctionResult {
  if (argument === undefined || typeArgument === undefined)
    return err({ message: 'it takes a value and a type' })
  const type = parseType(typeArgument.expression)
  if (!type.ok) return type
  const value = argument.evaluate()
  return value === undefined ? err(argument.problems()) : convertValue(value, type.value)
}

function conversionFunction(type: Type): FunctionDefinition {
  return define([any('v')], ([value]) => convertValue(value, type))
}

function convertValue(value: Value, type: Type): Result<Value, FunctionError> {
  const converted = convert(value, type)
  return converted.ok
    ? converted
    : err({ message: formatConversionError(converted.error), argument: 0 })
}
