export { compileRego, type RegoProgram, type PreparedDocument } from './evaluate/program.ts'
export type { CompileOptions, SourceFile, NamedRule } from './compile/compile.ts'
export type { Bindings, EvaluateOptions, PreparedQuery } from './evaluate/query.ts'
export { RuleCoverage, type ModuleCoverage } from './evaluate/coverage.ts'
export { EVALUATION_CODES, type EvaluationError, type TraceEvent } from './evaluate/env.ts'
export { formatRego } from './syntax/format.ts'
export { parseModule } from './syntax/parse.ts'
export type { RegoVersion } from './syntax/cursor.ts'
export { REGO_CODES, Source, type Location, type RegoDiagnostic } from './syntax/source.ts'
export { BUILTINS } from './builtins/registry.ts'
export type { Builtin, CallContext } from './builtins/builtin.ts'
export { fromJson, parseHclJson, toJsonString, toJson, type JsonValue } from './value/json.ts'
export { formatValue } from './value/format.ts'
export { LimitExceeded } from './value/fuel.ts'
export {
  compare,
  equal,
  objectOf,
  ObjectValue,
  setOf,
  SetValue,
  type Value,
} from './value/value.ts'
