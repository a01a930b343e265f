export { compilePolicy, type CompiledPolicy, type PolicyOptions } from './evaluate/policy.ts'
export type { EvaluateOptions, Evaluation, EvaluationResult } from './evaluate/execute.ts'
export { createMap } from './value/map.ts'
export { STANDARD_IMPORTS, standardImport, type StandardImportOptions } from './imports/standard.ts'
export type { Failure, RuleResult } from './evaluate/recorder.ts'
export type { SourceFile } from './evaluate/program.ts'
export { BUILTINS, hostFunction } from './evaluate/builtins.ts'
export { formatNative } from './syntax/format.ts'
export { findCoverageTargets, type CoverageTargets } from './syntax/walk.ts'
export type { NativeDiagnostic, Position } from './syntax/source.ts'
export {
  areEqual,
  formatValue,
  type FunctionValue,
  isMap as isMapValue,
  ListValue,
  type MapValue,
  typeOf,
  Undefined,
  type Value,
} from './value/value.ts'
export { type FieldMapping, type JsonValue, parseExactJson, toLazyValue } from './value/lazy-map.ts'
export { StaticImports } from './imports/static.ts'
