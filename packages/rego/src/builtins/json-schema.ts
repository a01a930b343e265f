import { findSchemaProblem } from '../json-schema/check-schema.ts'
import { validate } from '../json-schema/validate.ts'
import { parseHclJson, toHtmlSafeJsonString } from '../value/json.ts'
import { objectOf, type Value } from '../value/value.ts'
import { define, type Builtin, type CallContext } from './builtin.ts'
import { chargeForString } from './operands.ts'

const SCHEMA = ['string', 'object'] as const

export const JSON_SCHEMA_BUILTINS: readonly Builtin[] = [
  define({ name: 'json.verify_schema', operands: [SCHEMA], result: 'array' }, (context, given) => {
    const schema = documentOf(context, given)
    const problem = 'error' in schema ? schema.error : findSchemaProblem(context, schema.value)
    return problem === undefined ? [true, null] : [false, `jsonschema: ${problem}`]
  }),
  define(
    { name: 'json.match_schema', operands: [SCHEMA, SCHEMA], result: 'array' },
    (context, given, givenSchema) => {
      const schema = documentOf(context, givenSchema)
      if ('error' in schema) return context.fail(schema.error)
      const wrong = findSchemaProblem(context, schema.value)
      if (wrong !== undefined) return context.fail(wrong)
      const document = documentOf(context, given)
      if ('error' in document) return context.fail(document.error)
      const problems = validate(context, schema.value, document.value)
      return [problems.length === 0, problems.map(problemValue)]
    },
  ),
]

function problemValue({ field, type, description }: ReturnType<typeof validate>[number]): Value {
  return objectOf([
    ['desc', description],
    ['error', `${field}: ${description}`],
    ['field', field],
    ['type', type],
  ])
}

/** A text is JSON; a value is what it would be in JSON, where sets are arrays. */
function documentOf(
  context: CallContext,
  given: Value,
): { readonly value: Value } | { readonly error: string } {
  const text = typeof given === 'string' ? given : toHtmlSafeJsonString(given)
  chargeForString(context, text.length)
  const parsed = parseHclJson(text)
  return parsed.ok ? { value: parsed.value } : { error: parsed.error }
}
