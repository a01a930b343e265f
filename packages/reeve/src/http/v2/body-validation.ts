import { v2 } from '@reeve/contract'
import type { TSchema } from 'typebox'
import type { JsonBytes } from '@reeve/kit/json.ts'
import { tagKeyProblems } from '../../governance/index.ts'
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

/** A validated body with its known members only, including nulls, or its problems. */
export interface Validated {
  readonly value: unknown
  /** One problem for each broken rule, in the order of the schema. */
  readonly problems: readonly AttributeProblem[]
}

export type Validator = (value: unknown) => Validated

/** Encodes a free-form object of a body as JSON. */
type WriteJson = (value: unknown) => JsonBytes

/**
 * Compiles a body's schema. Unknown members are ignored. Free-form objects are validated and
 * encoded as JSON.
 */
export function compileValidator(schema: TSchema, writeJson: WriteJson = jsonBytes): Validator {
  const check = compileCheck(schema, writeJson)
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

function compileCheck(schema: BodySchema, writeJson: WriteJson): Check {
  if (schema.anyOf !== undefined) return checkAnyOf(schema.anyOf, writeJson)
  if (schema.const !== undefined) return checkOneOf([schema.const])
  // An enum whose values depend on other fields: the handler validates the value.
  if (schema.enum !== undefined)
    return v2.isDependentEnum(schema) ? checkText({}) : checkOneOf(schema.enum)
  switch (schema.type) {
    case 'object':
      return schema.properties === undefined
        ? checkFreeFormObject(writeJson)
        : checkObject(schema, schema.properties, writeJson)
    case 'array':
      return checkArray(schema, writeJson)
    case 'string':
      return checkText(schema)
    case 'integer':
    case 'number':
      return checkNumber(schema)
    case 'boolean':
      return checkPrimitive('boolean', 'must be true or false')
    default:
      return checkFreeForm
  }
}

function checkObject(
  schema: BodySchema,
  properties: Readonly<Record<string, BodySchema>>,
  writeJson: WriteJson,
): Check {
  const required = new Set(schema.required ?? [])
  const members = Object.entries(properties).map(([name, property]) => ({
    name,
    check: compileCheck(property, writeJson),
    isRequired: required.has(name),
    // Report the missing members of a missing object, too: `Name can't be blank`.
    standIn: property.type === 'object' ? {} : undefined,
  }))
  return (value, pointer, problems) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      problems.push(attributeProblem(pointer, 'must be an object'))
      return undefined
    }
    const cleaned: Record<string, unknown> = {}
    for (const { name, check, isRequired, standIn: emptyObject } of members) {
      const memberPointer = `${pointer}/${name}`
      const memberValue: unknown = Object.hasOwn(value, name) ? Reflect.get(value, name) : undefined
      if (memberValue !== undefined) cleaned[name] = check(memberValue, memberPointer, problems)
      else if (isRequired)
        requireMember({ pointer: memberPointer, check, standIn: emptyObject }, problems)
    }
    return cleaned
  }
}

function requireMember(
  { pointer, check, standIn }: { pointer: string; check: Check; standIn: object | undefined },
  problems: AttributeProblem[],
): void {
  const countBefore = problems.length
  if (standIn !== undefined) check(standIn, pointer, problems)
  if (problems.length === countBefore) problems.push(attributeProblem(pointer, "can't be blank"))
}

function checkArray(schema: BodySchema, writeJson: WriteJson): Check {
  const check = compileCheck(schema.items ?? {}, writeJson)
  const { minItems = 0, maxItems = Infinity } = schema
  return (value, pointer, problems) => {
    if (!Array.isArray(value)) {
      problems.push(attributeProblem(pointer, 'must be a list'))
      return []
    }
    if (value.length < minItems) problems.push(attributeProblem(pointer, "can't be blank"))
    if (value.length > maxItems) {
      const message =
        customMessage(schema, 'maxItems') ?? `has too many items (maximum is ${maxItems})`
      problems.push(attributeProblem(pointer, message))
      return []
    }
    return value.map((item, i) => check(item, `${pointer}/${i}`, problems))
  }
}

/** Longer texts are not matched against patterns: they exceed the length limit. */
const PATTERN_CHARS_MAX = 64 * 1024

function checkText(schema: BodySchema): Check {
  const { minLength = 0, maxLength = Infinity, format } = schema
  const pattern = schema.pattern === undefined ? undefined : new RegExp(schema.pattern, 'u')
  return (value, pointer, problems) => {
    if (typeof value !== 'string') {
      problems.push(attributeProblem(pointer, value === null ? "can't be blank" : 'must be text'))
      return undefined
    }
    if (value.trim() === '' && minLength > 0) {
      problems.push(attributeProblem(pointer, "can't be blank"))
      return value
    }
    // A character has at most two code units.
    const length = value.length > 2 * maxLength ? value.length : [...value].length
    if (length < minLength)
      problems.push(attributeProblem(pointer, `is too short (minimum is ${minLength} characters)`))
    if (length > maxLength)
      problems.push(attributeProblem(pointer, `is too long (maximum is ${maxLength} characters)`))
    const isMatchable = value.length <= PATTERN_CHARS_MAX
    if (pattern !== undefined && isMatchable && !pattern.test(value))
      problems.push(attributeProblem(pointer, customMessage(schema, 'pattern') ?? 'is invalid'))
    if (format === 'date-time' && !isTime(value))
      problems.push(attributeProblem(pointer, 'is not a time like 2026-01-31T09:07:05.123Z'))
    return value
  }
}

const TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/i

function isTime(value: string): boolean {
  return TIME.test(value) && !Number.isNaN(Date.parse(value))
}

function checkNumber(schema: BodySchema): Check {
  const { minimum = -Infinity, maximum = Infinity } = schema
  return (value, pointer, problems) => {
    if (typeof value !== 'number' || (schema.type === 'integer' && !Number.isSafeInteger(value)))
      problems.push(attributeProblem(pointer, 'must be a whole number'))
    else if (value < minimum)
      problems.push(attributeProblem(pointer, `must be at least ${minimum}`))
    else if (value > maximum) problems.push(attributeProblem(pointer, `must be at most ${maximum}`))
    return value
  }
}

function checkPrimitive(type: 'boolean', message: string): Check {
  return (value, pointer, problems) => {
    if (typeof value !== type) problems.push(attributeProblem(pointer, message))
    return value
  }
}

function checkOneOf(allowed: readonly unknown[]): Check {
  const message =
    allowed.length === 1 ? `must be ${allowed.join('')}` : `must be one of ${allowed.join(', ')}`
  return (value, pointer, problems) => {
    if (!allowed.includes(value)) problems.push(attributeProblem(pointer, message))
    return value
  }
}

function checkAnyOf(choices: readonly BodySchema[], writeJson: WriteJson): Check {
  const checks = choices
    .filter(({ type }) => type !== 'null')
    .map((choice) => compileCheck(choice, writeJson))
  const allowsNull = choices.some(({ type }) => type === 'null')
  return (value, pointer, problems) => {
    if (allowsNull && value === null) return null
    let first: AttributeProblem[] | undefined
    for (const check of checks) {
      const problemsOfChoice: AttributeProblem[] = []
      const cleaned = check(value, pointer, problemsOfChoice)
      if (problemsOfChoice.length === 0) return cleaned
      first ??= problemsOfChoice
    }
    problems.push(...(first ?? []))
    return value
  }
}

function checkFreeFormObject(writeJson: WriteJson): Check {
  return (value, pointer, problems) => {
    const before = problems.length
    const checked = checkFreeForm(value, pointer, problems)
    return problems.length > before ? checked : writeJson(checked)
  }
}

/** Validates a free-form value: only its depth is limited. */
function checkFreeForm(value: unknown, pointer: string, problems: AttributeProblem[]): unknown {
  let level: unknown[] = [value]
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > LIMITS.jsonDepthMax) {
      problems.push(attributeProblem(pointer, `is more than ${LIMITS.jsonDepthMax} levels deep`))
      return undefined
    }
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    )
  }
  return value
}

function customMessage(schema: BodySchema, keyword: string): string | undefined {
  return v2.validationMessage(schema, keyword)
}

function attributeProblem(pointer: string, message: string): AttributeProblem {
  return { pointer, detail: `${attributeLabel(pointer)} ${message}` }
}

/** Returns the label of an attribute, for details: `Auto destroy activity duration`. */
function attributeLabel(pointer: string): string {
  const names = pointer.split('/').filter((part) => part !== '' && !/^\d+$/.test(part))
  const last = names.at(-1)
  // The list of a relationship has the relationship's name.
  const name = last === 'data' && names.length > 1 ? (names.at(-2) ?? last) : (last ?? 'document')
  const words = name.replaceAll(/[-_]/g, ' ')
  return words.charAt(0).toUpperCase() + words.slice(1)
}

/** A body that violates its schema. Its valid members may break other rules as well. */
interface InvalidBody {
  /** The validator's output: valid members have the types of the schema. */
  readonly body: unknown
  /** Reports whether the schema has no problem at the pointer, within it or above it. */
  readonly isValidAt: (pointer: string) => boolean
}

/** A rule across members, applied to the valid part of a draft. */
export type CrossFieldRule = (draft: InvalidBody) => readonly AttributeProblem[]

/** Returns one error for each broken rule, those of the schema first. */
export function validationErrors(
  body: unknown,
  problems: readonly AttributeProblem[],
  rule: CrossFieldRule | undefined,
): readonly AttributeProblem[] {
  if (rule === undefined) return problems
  const isSound = (pointer: string): boolean =>
    problems.every((one) => !isWithin(one.pointer, pointer) && !isWithin(pointer, one.pointer))
  return [...problems, ...rule({ body, isValidAt: isSound })]
}

function isWithin(pointer: string, outer: string): boolean {
  return pointer === outer || pointer.startsWith(`${outer}/`)
}

/** Returns the member of a draft at a pointer; undefined if there is none. */
export function valueAtPointer(body: unknown, pointer: string): unknown {
  return pointer
    .split('/')
    .slice(1)
    .reduce<unknown>(
      (value, name) =>
        typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined,
      body,
    )
}

/** Returns the rule for the keys of the tag bindings at a pointer, as far as they are valid. */
export function tagBindingRule(pointer: string): CrossFieldRule {
  return ({ body, isValidAt }) => {
    const tags = valueAtPointer(body, pointer)
    if (!Array.isArray(tags)) return []
    const keys = tags.map((tag: unknown, i) => {
      const key = valueAtPointer(tag, '/attributes/key')
      return typeof key === 'string' && isValidAt(`${pointer}/${i}/attributes/key`)
        ? key
        : undefined
    })
    return tagKeyProblems(keys, pointer)
  }
}

/** Rule for the tag bindings of a new or changed project or workspace. */
export const RELATED_TAGS_RULE = tagBindingRule('/data/relationships/tag-bindings/data')
