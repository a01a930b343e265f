import { SCHEMA_DEPTH_MAX, SCHEMA_PROBLEMS_MAX } from '../builtins/limits.ts'
import type { CallContext } from '../builtins/builtin.ts'
import { equal, isArray, isNumber, kindOf, ObjectValue, type Value } from '../value/value.ts'
import { LimitExceeded } from '../value/fuel.ts'
import { toHtmlSafeJsonString } from '../value/json.ts'
import { isInteger } from '../value/number.ts'
import { checkArray, checkNumber, checkObject, checkString } from './keywords.ts'
import {
  isValid,
  type ObjectSchemaTarget,
  report,
  type SchemaProblem,
  type Validation,
} from './validation.ts'

/** JSON Schema, drafts 4 to 7, as far as it can be checked without fetching anything. */
export function validate(
  context: CallContext,
  schema: Value,
  value: Value,
): readonly SchemaProblem[] {
  const validation: Validation = { context, root: schema, problems: [], depth: 0, check }
  check(validation, { schema, value, path: [] })
  return validation.problems
}

function check(
  validation: Validation,
  {
    schema,
    value,
    path,
  }: { readonly schema: Value; readonly value: Value; readonly path: readonly string[] },
): void {
  validation.context.charge(1)
  if (validation.problems.length >= SCHEMA_PROBLEMS_MAX) return
  if (schema === false)
    return report(validation, path, { type: 'false', description: 'False always fails validation' })
  if (!(schema instanceof ObjectValue)) return
  if (++validation.depth > SCHEMA_DEPTH_MAX)
    throw new LimitExceeded('a schema is nested too deeply')
  const reference = schema.get('$ref')
  if (typeof reference === 'string') {
    const found = resolveReference(validation.root, reference)
    if (found !== undefined) check(validation, { schema: found, value, path })
  } else checkAll(validation, { schema, value, path })
  validation.depth--
}

function checkAll(validation: Validation, target: ObjectSchemaTarget): void {
  const { schema, value } = target
  if (!checkType(validation, target)) return
  checkChoice(validation, target)
  checkCombinations(validation, target)
  if (isArray(value)) checkArray(validation, { ...target, value })
  else if (value instanceof ObjectValue) checkObject(validation, { ...target, value })
  else if (typeof value === 'string') checkString(validation, { ...target, value })
  else if (isNumber(value)) checkNumber(validation, { ...target, value })
  checkCondition(validation, { ...target, schema })
}

/** A wrong type is reported alone, because other keywords do not apply to the value. */
function checkType(validation: Validation, { schema, value, path }: ObjectSchemaTarget): boolean {
  const wanted = schema.get('type')
  if (wanted === undefined) return true
  const types = isArray(wanted) ? wanted : [wanted]
  if (types.some((type) => isOfType(value, type))) return true
  report(validation, path, {
    type: 'invalid_type',
    description: `Invalid type. Expected: ${types.map(String).join('/')}, given: ${typeName(value)}`,
  })
  return false
}

function isOfType(value: Value, type: Value): boolean {
  if (type === 'integer') return isNumber(value) && isInteger(value)
  return kindOf(value) === type
}

function typeName(value: Value): string {
  return isNumber(value) && isInteger(value) ? 'integer' : kindOf(value)
}

function checkChoice(validation: Validation, { schema, value, path }: ObjectSchemaTarget): void {
  const choices = schema.get('enum')
  if (isArray(choices) && !choices.some((choice) => equal(choice, value)))
    report(validation, path, {
      type: 'enum',
      description: `%field% must be one of the following: ${choices.map((one) => toHtmlSafeJsonString(one)).join(', ')}`,
    })
  const constant = schema.get('const')
  if (constant !== undefined && !equal(constant, value))
    report(validation, path, {
      type: 'const',
      description: `%field% does not match: ${toHtmlSafeJsonString(constant)}`,
    })
}

function checkCombinations(
  validation: Validation,
  { schema, value, path }: ObjectSchemaTarget,
): void {
  const fitting = (name: string) => {
    const schemas = schema.get(name)
    if (!isArray(schemas)) return undefined
    const count = schemas.filter((one) => isValid(validation, one, { value, path })).length
    return { count, all: schemas.length, schemas }
  }
  const any = fitting('anyOf')
  if (any !== undefined && any.count === 0)
    report(validation, path, {
      type: 'number_any_of',
      description: 'Must validate at least one schema (anyOf)',
    })
  const one = fitting('oneOf')
  if (one !== undefined && one.count !== 1)
    report(validation, path, {
      type: 'number_one_of',
      description: 'Must validate one and only one schema (oneOf)',
    })
  const all = fitting('allOf')
  if (all !== undefined && all.count !== all.all) {
    for (const part of all.schemas) check(validation, { schema: part, value, path })
    report(validation, path, {
      type: 'number_all_of',
      description: 'Must validate all the schemas (allOf)',
    })
  }
  const not = schema.get('not')
  if (not !== undefined && isValid(validation, not, { value, path }))
    report(validation, path, {
      type: 'number_not',
      description: 'Must not validate the schema (not)',
    })
}

function checkCondition(validation: Validation, { schema, value, path }: ObjectSchemaTarget): void {
  const condition = schema.get('if')
  if (condition === undefined) return
  const holds = isValid(validation, condition, { value, path })
  const next = schema.get(holds ? 'then' : 'else')
  if (next === undefined || isValid(validation, next, { value, path })) return
  check(validation, { schema: next, value, path })
  report(validation, path, {
    type: holds ? 'condition_then' : 'condition_else',
    description: holds
      ? 'Must validate "then" as "if" was valid'
      : 'Must validate "else" as "if" was not valid',
  })
}

/**
 * Resolves a reference such as `#/definitions/name`. Only references within the document are
 * supported; nothing is fetched.
 */
export function resolveReference(root: Value, reference: string): Value | undefined {
  if (reference === '#') return root
  if (!reference.startsWith('#/')) return findById(root, reference)
  let value: Value | undefined = root
  for (const raw of reference.slice(2).split('/')) {
    const segment = raw.replaceAll('~1', '/').replaceAll('~0', '~')
    if (isArray(value)) value = /^[0-9]{1,9}$/.test(segment) ? value[Number(segment)] : undefined
    else value = value instanceof ObjectValue ? value.get(segment) : undefined
  }
  return value
}

function findById(root: Value, id: string): Value | undefined {
  if (!(root instanceof ObjectValue)) return undefined
  for (const target of ['definitions', '$defs']) {
    const definitions = root.get(target)
    if (!(definitions instanceof ObjectValue)) continue
    for (const one of definitions.values())
      if (one instanceof ObjectValue && (one.get('$id') === id || one.get('id') === id)) return one
  }
  return undefined
}
