import { v2 } from '@reeve/contract'
import type { TSchema } from 'typebox'
import type { JsonBytes } from '@reeve/kit/json.ts'
import { LIMITS, type AttributeProblem } from '../../model/index.ts'
import type { JsonSchema } from '../decode.ts'

/** The part of JSON Schema that the bodies of this API use. */
interface BodySchema extends JsonSchema {
  readonly properties?: Readonly<Record<string, BodySchema>>
  readonly required?: readonly string[]
  readonly items?: BodySchema
  readonly anyOf?: readonly BodySchema[]
  readonly minLength?: number
  readonly maxLength?: number
  readonly pattern?: string
  readonly format?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly minItems?: number
  readonly maxItems?: number
}

/** A validated body: known members only, nulls kept; or its problems. */
export interface Validated {
  readonly value: unknown
  /** One problem for each broken rule, in the order of the schema. */
  readonly problems: readonly AttributeProblem[]
}

export type Validator = (value: unknown) => Validated

/** Encodes a free-form object of a body as JSON. */
export type WriteJson = (value: unknown) => JsonBytes

/**
 * Compiles a body's schema. Unknown members are ignored. Free-form objects are validated and
 * encoded as JSON.
 */
export function compileValidator(schema: TSchema, writeJson: WriteJson = jsonBytes): Validator {
  const check = compile(schema, writeJson)
  return (value) => {
    const problems: AttributeProblem[] = []
    const cleaned = check(value, '', problems)
    return { value: cleaned, problems: problems.slice(0, v2.ERRORS_MAX) }
  }
}

type Check = (value: unknown, pointer: string, problems: AttributeProblem[]) => unknown

function jsonBytes(value: unknown): JsonBytes {
  return { json: Buffer.from(JSON.stringify(value)) }
}

function compile(schema: BodySchema, writeJson: WriteJson): Check {
  if (schema.anyOf !== undefined) return anyOf(schema.anyOf, writeJson)
  if (schema.const !== undefined) return oneOf([schema.const])
  // An enum whose values depend on other fields: the handler validates the value.
  if (schema.enum !== undefined) return v2.isRuledTogether(schema) ? text({}) : oneOf(schema.enum)
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined
        ? freeFormObject(writeJson)
        : object(schema, schema.properties, writeJson)
    case 'array':
      return array(schema, writeJson)
    case 'string':
      return text(schema)
    case 'integer':
    case 'number':
      return number(schema)
    case 'boolean':
      return plain('boolean', 'must be true or false')
    default:
      return freeForm
  }
}

function object(
  schema: BodySchema,
  properties: Readonly<Record<string, BodySchema>>,
  writeJson: WriteJson,
): Check {
  const required = new Set(schema.required ?? [])
  const members = Object.entries(properties).map(([name, property]) => ({
    name,
    check: compile(property, writeJson),
    isRequired: required.has(name),
    // Report the missing members of a missing object, too: `Name can't be blank`.
    standIn: property.type === 'object' ? {} : undefined,
  }))
  return (value, pointer, problems) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      problems.push(problem(pointer, 'must be an object'))
      return undefined
    }
    const cleaned: Record<string, unknown> = {}
    for (const { name, check, isRequired, standIn } of members) {
      const at = `${pointer}/${name}`
      const given: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
      if (given !== undefined) cleaned[name] = check(given, at, problems)
      else if (isRequired) requireMember({ at, check, standIn }, problems)
    }
    return cleaned
  }
}

function requireMember(
  { at, check, standIn }: { at: string; check: Check; standIn: object | undefined },
  problems: AttributeProblem[],
): void {
  const before = problems.length
  if (standIn !== undefined) check(standIn, at, problems)
  if (problems.length === before) problems.push(problem(at, "can't be blank"))
}

function array(schema: BodySchema, writeJson: WriteJson): Check {
  const check = compile(schema.items ?? {}, writeJson)
  const { minItems = 0, maxItems = Infinity } = schema
  return (value, pointer, problems) => {
    if (!Array.isArray(value)) {
      problems.push(problem(pointer, 'must be a list'))
      return []
    }
    if (value.length < minItems) problems.push(problem(pointer, "can't be blank"))
    if (value.length > maxItems) {
      const words = refusalOf(schema, 'maxItems') ?? `has too many items (maximum is ${maxItems})`
      problems.push(problem(pointer, words))
      return []
    }
    return value.map((item, i) => check(item, `${pointer}/${i}`, problems))
  }
}

/** Longer texts are not matched against patterns: they exceed the length limit. */
const PATTERN_CHARS_MAX = 64 * 1024

function text(schema: BodySchema): Check {
  const { minLength = 0, maxLength = Infinity, format } = schema
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u')
  return (value, pointer, problems) => {
    if (typeof value !== 'string') {
      problems.push(problem(pointer, value === null ? "can't be blank" : 'must be text'))
      return undefined
    }
    if (value.trim() === '' && minLength > 0) {
      problems.push(problem(pointer, "can't be blank"))
      return value
    }
    // A character has at most two code units.
    const length = value.length > 2 * maxLength ? value.length : [...value].length
    if (length < minLength)
      problems.push(problem(pointer, `is too short (minimum is ${minLength} characters)`))
    if (length > maxLength)
      problems.push(problem(pointer, `is too long (maximum is ${maxLength} characters)`))
    const isRead = value.length <= PATTERN_CHARS_MAX
    if (pattern !== undefined && isRead && !pattern.test(value))
      problems.push(problem(pointer, refusalOf(schema, 'pattern') ?? 'is invalid'))
    if (format === 'date-time' && !isTime(value))
      problems.push(problem(pointer, 'is not a time like 2026-01-31T09:07:05.123Z'))
    return value
  }
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

function isTime(value: string): boolean {
  return TIME.test(value) && !Number.isNaN(Date.parse(value))
}

function number(schema: BodySchema): Check {
  const { minimum = -Infinity, maximum = Infinity } = schema
  return (value, pointer, problems) => {
    if (typeof value !== 'number' || (schema.type === 'integer' && !Number.isSafeInteger(value)))
      problems.push(problem(pointer, 'must be a whole number'))
    else if (value < minimum) problems.push(problem(pointer, `must be at least ${minimum}`))
    else if (value > maximum) problems.push(problem(pointer, `must be at most ${maximum}`))
    return value
  }
}

function plain(type: 'boolean', words: string): Check {
  return (value, pointer, problems) => {
    if (typeof value !== type) problems.push(problem(pointer, words))
    return value
  }
}

function oneOf(wanted: readonly unknown[]): Check {
  const words =
    wanted.length === 1 ? `must be ${wanted.join('')}` : `must be one of ${wanted.join(', ')}`
  return (value, pointer, problems) => {
    if (!wanted.includes(value)) problems.push(problem(pointer, words))
    return value
  }
}

function anyOf(choices: readonly BodySchema[], writeJson: WriteJson): Check {
  const checks = choices
    .filter(({ type }) => type !== 'null')
    .map((choice) => compile(choice, writeJson))
  const takesNull = choices.some(({ type }) => type === 'null')
  return (value, pointer, problems) => {
    if (takesNull && value === null) return null
    let first: AttributeProblem[] | undefined
    for (const check of checks) {
      const found: AttributeProblem[] = []
      const cleaned = check(value, pointer, found)
      if (found.length === 0) return cleaned
      first ??= found
    }
    problems.push(...(first ?? []))
    return value
  }
}

function freeFormObject(writeJson: WriteJson): Check {
  return (value, pointer, problems) => {
    const before = problems.length
    const checked = freeForm(value, pointer, problems)
    return problems.length > before ? checked : writeJson(checked)
  }
}

/** Validates a free-form value: only its depth is limited. */
function freeForm(value: unknown, pointer: string, problems: AttributeProblem[]): unknown {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.jsonDepthMax) {
      problems.push(problem(pointer, `is more than ${LIMITS.jsonDepthMax} levels deep`))
      return undefined
    }
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    )
  }
  return value
}

function refusalOf(schema: BodySchema, keyword: string): string | undefined {
  return v2.refusalText(schema, keyword)
}

function problem(pointer: string, words: string): AttributeProblem {
  return { pointer, detail: `${inWords(pointer)} ${words}` }
}

/** Returns the attribute as words, which details begin with: `Auto destroy activity duration`. */
function inWords(pointer: string): string {
  const names = pointer.split('/').filter((part) => part !== '' && !/^\d+$/.test(part))
  const last = names.at(-1)
  // The list of a relationship has the relationship's name.
  const name = last === 'data' && names.length > 1 ? (names.at(-2) ?? last) : (last ?? 'document')
  const words = name.replaceAll(/[-_]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}
