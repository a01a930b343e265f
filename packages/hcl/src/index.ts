export { parseHcl, parseExpression, parseTemplate } from './syntax/parse.ts'
export { formatSource } from './syntax/format-source.ts'
export { parseHclJson, type JsonOptions } from './syntax/json.ts'
export { parseHcl1 } from './syntax/hcl1.ts'
export type {
  AccessExpression,
  Attribute,
  BinaryExpression,
  BinaryOperator,
  Block,
  Body,
  CallExpression,
  ConditionalExpression,
  Expression,
  ForBinding,
  ForExpression,
  Label,
  LiteralExpression,
  ObjectExpression,
  ObjectItem,
  ParenthesesExpression,
  Step,
  TemplateExpression,
  TemplatePart,
  TupleExpression,
  UnaryExpression,
  VariableExpression,
} from './syntax/ast.ts'
export { asKeyword, asTraversal, findReferences, type Reference } from './syntax/references.ts'

export { evaluate } from './evaluate/evaluate.ts'
export {
  childScope,
  createScope,
  type RootDescription,
  type EagerFunction,
  type FunctionDefinition,
  type FunctionError,
  type LazyArgument,
  type LazyFunction,
  type LazyError,
  type Parameter,
  type Scope,
  type ScopeOptions,
} from './evaluate/scope.ts'
export { charge, type EvaluationLimits, type StepBudget } from './evaluate/budget.ts'
export { CHARACTERS_PER_STEP, NESTING_DEPTH_MAX } from './limits.ts'
export { parseType } from './evaluate/type-expression.ts'

export { readPartialContent, readContent, type Content } from './decode/content.ts'
export { bodyToValue, decodeBody, decodedToValue } from './decode/decode.ts'
export {
  OPEN_BODY,
  type AttributeSchema,
  type BlockExpander,
  type BlockSchema,
  type BodySchema,
  type DecodedAttribute,
  type DecodedBlock,
  type DecodedBody,
  type DecodeOptions,
  type ScopedBlock,
} from './decode/schema.ts'

export {
  describeValue,
  entriesOf,
  getAttribute,
  isList,
  isNumber,
  isObject,
  isSet,
  makeObject,
  sameValue,
  sortedEntries,
  toJson,
  type ObjectValue,
  type Value,
} from './value/value.ts'
export {
  fromBigInt,
  fromFloat,
  numberToText,
  parseNumber,
  type NumberValue,
} from '@reeve/kit/number.ts'
export {
  calculate,
  compare,
  fromRational,
  toRational,
  type ArithmeticOperator,
  type Rational,
} from './value/rational.ts'
export {
  convert,
  formatConversionError,
  toBool,
  toNumber,
  toText,
  type ConversionError,
  type ConversionRules,
} from './value/convert.ts'
export {
  ANY,
  BOOL,
  describeType,
  listOf,
  mapOf,
  NUMBER,
  objectOf,
  setOf,
  STRING,
  tupleOf,
  typeOf,
  unify,
  unifyAll,
  type Type,
} from './value/type.ts'

export { errorAt, TOO_EXPENSIVE, warningAt, type Diagnostic } from './text/diagnostic.ts'
export { formatDiagnostic, formatDiagnostics, formatRange } from './text/format.ts'
export {
  makeSource,
  rangeOf,
  textOf,
  type Position,
  type Range,
  type Source,
  type Span,
} from './text/source.ts'
export { didYouMean, findNearestName, quoteText } from './text/suggest.ts'
