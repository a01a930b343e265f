export { compilePolicy, type CompiledPolicy, type PolicyOptions } from './evaluate/policy.ts'
export type { EvaluateOptions, Evaluation, EvaluationResult } from './evaluate/execute.ts'
export { mapOf } from './value/map.ts'
export { STANDARD_IMPORTS, standardImport, type StandardSettings } from './imports/standard.ts'
export type { Failure, RuleReport } from './evaluate/recorder.ts'
export type { ProgramText } from './evaluate/program.ts'
export { hostFunction } from './evaluate/builtins.ts'
export { formatNative } from './syntax/format.ts'
export { outlineOf, type Outline } from './syntax/outline.ts'
export type { NativeProblem, Position } from './syntax/source.ts'
export { areEqual } from './value/equal.ts'
export { plainJson } from './value/plain-json.ts'
export { StaticData } from './imports/static.ts'
export { show } from './value/show.ts'
export { viewOf, type PlainValue, type ViewShape } from './value/view.ts'
export {
  isMap as isMapValue,
  ListValue,
  typeOf,
  Undefined,
  type FunctionValue,
  type MapValue,
  type Value,
} from './value/value.ts'
