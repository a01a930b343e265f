export { compilePolicy, type CompiledPolicy, type PolicyOptions } from './evaluate/policy.ts'
export type { EvaluateOptions, Evaluation, EvaluationResult } from './evaluate/execute.ts'
export { createMap } from './value/map.ts'
export { STANDARD_IMPORTS, standardImport, type StandardImportOptions } from './imports/standard.ts'
export type { Failure, RuleResult } from './evaluate/recorder.ts'
export type { SourceFile } from './evaluate/program.ts'
export { BUILTINS, hostFunction } from './evaluate/builtins.ts'
export { formatNative } from './syntax/format.ts'
export { findCoverageTargets, type CoverageTargets } from './syntax/outline.ts'
export type { NativeDiagnostic, Position } from './syntax/source.ts'
export { areEqual } from './value/equal.ts'
export { parseExactJson } from './value/plain-json.ts'
export { StaticImports } from './imports/static.ts'
export { formatValue } from './value/show.ts'
export { toLazyValue, type JsonValue, type FieldMapping } from './value/view.ts'
export {
  isMap as isMapValue,
  ListValue,
  typeOf,
  Undefined,
  type FunctionValue,
  type MapValue,
  type Value,
} from './value/value.ts'
