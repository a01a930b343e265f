export { compilePolicies, type CompiledPolicies, type DocumentQuery } from './evaluate/policies.ts'
export type { CompileOptions, ModuleText } from './compile/compile.ts'
export type { Bindings, EvaluateOptions, Query } from './evaluate/query.ts'
export type { TraceEvent } from './evaluate/env.ts'
export { EVALUATION_CODES, type EvaluationProblem } from './evaluate/problem.ts'
export { formatRego } from './syntax/format.ts'
export { parseModule } from './syntax/parse.ts'
export type { RegoVersion } from './syntax/cursor.ts'
export { REGO_CODES, Source, type Location, type RegoProblem } from './syntax/problem.ts'
export { BUILTINS } from './builtins/registry.ts'
export type { Builtin, CallContext } from './builtins/builtin.ts'
export { fromPlain, parseJson, toJsonText, toPlain, type PlainValue } from './value/json.ts'
export { formatValue } from './value/format.ts'
export { LimitReached } from './value/limit-reached.ts'
export {
  compare,
  equal,
  objectOf,
  ObjectValue,
  setOf,
  SetValue,
  type Value,
} from './value/value.ts'
